// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program_builder.hpp"

#include <vector>

namespace strata {

/// The last steps: each parameter that has a gradient is updated. Without an optimizer its gradient
/// is a result. Returns Program::gradients.
std::vector<ValueId> write_updates(ProgramBuilder& builder);

}  // namespace strata
