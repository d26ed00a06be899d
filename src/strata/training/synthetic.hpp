// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstddef>

namespace strata {

/// A training iteration that no network stands behind, of about `steps` steps: a chain of layers
/// with weights, each read again in backward. For benchmarks of what works on programs; `bound` is
/// null.
Program chain_program(std::size_t steps);

}  // namespace strata
