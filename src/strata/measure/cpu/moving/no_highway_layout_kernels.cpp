// SPDX-License-Identifier: Apache-2.0
// Stands for highway_layout_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/moving/layout_loops.hpp"

namespace strata::cpu_training {

const LayoutLoops* layout_loops() { return nullptr; }

}  // namespace strata::cpu_training
