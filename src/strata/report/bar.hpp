// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata {

/// Of an iteration: what takes less than half a percent has no row of its own.
inline constexpr double least_shown_share = 0.005;

/// A bar of up to eight characters, in eighths of one; `length` is between 0 and 1.
std::string bar(double length);

}  // namespace strata
