// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace strata {

/// RFC 4180: quotes around what holds a separator, quotes inside doubled.
std::string csv_cell(std::string_view text);

}  // namespace strata
