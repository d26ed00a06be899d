// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace strata {

/// Which test shows that an operator's kernels compute what they should.
struct OperatorCheck {
  std::string_view name;  ///< as operator_names() has it
  /// The test ("suite.name") that compares the CPU's results with plain loops, and its gradients
  /// with finite differences in fp64, and fp32 with fp64.
  std::string_view cpu_test;
  bool has_gradient = true;  ///< false: the function is flat or jumps; there is no backward pass
};

/// Every operator that can run; a test fails when one is missing, or the test that it names.
std::span<const OperatorCheck> operator_checks();

}  // namespace strata
