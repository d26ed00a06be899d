// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace strata {

/// Text that may stand in an XML document, between tags or in quotes. Names come from files of
/// strangers: what XML forbids (control characters) and what is not UTF-8 becomes '?'.
std::string xml_text(std::string_view text);

}  // namespace strata
