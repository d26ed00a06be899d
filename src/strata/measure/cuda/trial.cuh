// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/node.cuh"

#include <string>

namespace strata::cuda::train {

/// Runs a node's kernels once on zeros, forward and backward. Says why they do not run; empty: they
/// do, or there is no memory to try them. Some libraries say only then whether they take a shape
/// and a type.
std::string problem_on_zeros(NodeKernels& kernels, const NodeFacts& facts);

}  // namespace strata::cuda::train
