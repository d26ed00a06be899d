// SPDX-License-Identifier: Apache-2.0
// In fp64, which is for checking gradients, the functions are calls into the standard library:
// nothing is gained by compiling for wider vectors.
#include "strata/measure/cpu/loops/plain_vector_loops.hpp"
#include "strata/measure/cpu/pooling/pool_loops.hpp"

namespace strata::cpu_training {

template <>
const VectorLoops<double>& vector_loops<double>() {
  static const VectorLoops<double> loops =
      PlainLoops<double>::table(std::make_index_sequence<unary_kinds>{});
  return loops;
}

template <>
const PoolLoops<double>& pool_loops<double>() {
  static const PoolLoops<double> loops = PlainPoolLoops<double>::table();
  return loops;
}

}  // namespace strata::cpu_training
