// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace strata {

/// The manual page strata(1), from the table of commands.
std::string man_page();

}  // namespace strata
