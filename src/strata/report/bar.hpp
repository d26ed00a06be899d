// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata {

/// A bar of up to eight characters, in eighths of one; `length` is between 0 and 1.
std::string bar(double length);

}  // namespace strata
