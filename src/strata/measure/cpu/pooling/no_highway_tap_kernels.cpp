// SPDX-License-Identifier: Apache-2.0
// Stands for highway_tap_kernels.cpp and highway_compared_tap_kernels.cpp in a build without
// Highway.
#include "strata/measure/cpu/pooling/tap_loops.hpp"

namespace strata::cpu_training {

const TapLoops* tap_loops() { return nullptr; }
const ComparedTapLoops* compared_tap_loops() { return nullptr; }

}  // namespace strata::cpu_training
