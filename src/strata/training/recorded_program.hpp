// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

namespace strata {

/// The program of a graph that was recorded: a step per operation that computes or moves something,
/// in the order in which they ran; values are blocks of memory. What an optimizer does to lists of
/// tensors, operation by operation, is one step per weight: that is what a perfect kernel would do.
Program recorded_program(const BoundGraph& bound);

}  // namespace strata
