// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"

namespace strata {

/// A calibration from a file that anybody may have written: every class is known, and has as many
/// dimensions and coefficients as its form. Errors (input) name the place, what was expected and
/// what came.
void check_calibration(const Calibration& calibration);

}  // namespace strata
