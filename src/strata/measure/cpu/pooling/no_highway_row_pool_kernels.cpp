// SPDX-License-Identifier: Apache-2.0
// Stands for highway_row_pool_kernels.cpp in a build without Highway.
#include "strata/measure/cpu/pooling/row_pool_loops.hpp"

namespace strata::cpu_training {

const RowPoolLoops* row_pool_loops() { return nullptr; }

}  // namespace strata::cpu_training
