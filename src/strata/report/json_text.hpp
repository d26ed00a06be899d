// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace strata {

/// An object as text with one line per entry, and one per item of an entry that is a list:
/// readable, friendly to grep and diff, and half the size of full indentation. Strings that are not
/// UTF-8 get U+FFFD in place of the bytes that are wrong.
std::string one_item_per_line(const nlohmann::ordered_json& document);

}  // namespace strata
