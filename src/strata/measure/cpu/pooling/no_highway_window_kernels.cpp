// SPDX-License-Identifier: Apache-2.0
// Stands for highway_window_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/pooling/window_loops.hpp"

namespace strata::cpu_training {

const WindowLoops* window_loops() { return nullptr; }

}  // namespace strata::cpu_training
