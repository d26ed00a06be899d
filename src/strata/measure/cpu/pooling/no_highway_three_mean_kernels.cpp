// SPDX-License-Identifier: Apache-2.0
// Stands for highway_three_mean_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/pooling/three_mean_loops.hpp"

namespace strata::cpu_training {

const ThreeMeanLoops* three_mean_loops() { return nullptr; }

}  // namespace strata::cpu_training
