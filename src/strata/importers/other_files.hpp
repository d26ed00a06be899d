// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace strata {

/// Errors (input) when a file begins like one that is no network, and says what it is: a result or
/// another input of Strata, or a text in UTF-16. `head`: its first bytes.
void refuse_other_file(std::string_view head);

}  // namespace strata
