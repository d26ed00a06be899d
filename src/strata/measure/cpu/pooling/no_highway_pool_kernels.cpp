// SPDX-License-Identifier: Apache-2.0
// Stands for highway_pool_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/pooling/pool_loops.hpp"

namespace strata::cpu_training {

template <>
const PoolLoops<float>& pool_loops<float>() {
  static const PoolLoops<float> loops = PlainPoolLoops<float>::table();
  return loops;
}

}  // namespace strata::cpu_training
