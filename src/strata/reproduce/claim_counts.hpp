// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"

#include <span>
#include <string>

namespace strata {

/// A line for people: how many sentences of a study have how many rows, and what the rows say:
/// "claims: 29, in 61 rows: 58 yes, 3 no, 0 cannot be judged". Where something was measured beside
/// a prediction, what it says, too.
std::string counted_claims(std::span<const Finding> findings, const std::string& measured_on = {});

}  // namespace strata
