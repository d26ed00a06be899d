// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// One way to compute one pass of an operator, and the test that holds its results against others.
struct CheckedCell {
  std::string_view op;      ///< as operator_names() has it
  std::string_view pass;    ///< "forward" or "backward"
  std::string_view device;  ///< "cpu" or "cuda"
  DType dtype = DType::fp32;
  std::string test;  ///< "suite.name", as the test programs know it
};

/// All of them, by operator, pass and device. An operator without a gradient has no backward.
/// On the CPU results are compared with plain loops and gradients with finite differences in fp64,
/// and fp32 with fp64; on a GPU every type with the CPU's fp64.
std::vector<CheckedCell> checked_cells();

}  // namespace strata
