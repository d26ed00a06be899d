// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_origins.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Operators that a program called ("aten::conv2d"), each with all kernels that were launched in
/// it, and those of its gradient: what PyTorch records where no module has a name.
namespace strata {

struct OperatorCalls {
  /// Per kernel: the outermost operator around its launch, in Recording::ranges; no_index: none.
  std::vector<std::size_t> of_kernel;
  /// Per kernel of the backward pass: the forward operator whose gradient it computes.
  std::vector<std::size_t> forward_of_kernel;
};

/// Backward operators carry the sequence number of the operator that made their node of the graph:
/// the last forward operator with that number, for operators without a gradient have the next
/// one's.
OperatorCalls operator_calls(const Recording& recording, const KernelOrigins& origins);

/// "aten::conv2d" of "aten::conv2d, seq = 5"; empty where the name is of no operator.
std::string_view operator_in_name(std::string_view name);

}  // namespace strata
