// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/node_steps.hpp"

namespace strata {

/// The last steps: each parameter that has a gradient is updated. Without an optimizer its gradient
/// is a result.
void write_updates(Workshop& shop);

}  // namespace strata
