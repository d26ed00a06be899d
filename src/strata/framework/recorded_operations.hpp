// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"

namespace strata {

/// What the framework ran, as it said so itself: no rule is asked. The program is that of a
/// recording. Errors (unsupported): the framework does something else with operations than run them
/// one by one, or is another one.
FrameworkOperations recorded_operations(const Program& program, const Framework& framework);

}  // namespace strata
