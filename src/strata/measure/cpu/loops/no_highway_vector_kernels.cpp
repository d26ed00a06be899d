// SPDX-License-Identifier: Apache-2.0
// Stands for highway_vector_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/loops/plain_vector_loops.hpp"

namespace strata::cpu_training {

template <>
const VectorLoops<float>& vector_loops<float>() {
  static const VectorLoops<float> loops =
      PlainLoops<float>::table(std::make_index_sequence<unary_kinds>{});
  return loops;
}

}  // namespace strata::cpu_training
