// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

/// Names come from files of strangers and end up on terminals, in tables and in other files. What
/// could take control there is: a control character (C0, DEL, C1), or bytes that are no UTF-8.
bool is_printable(std::string_view text);

/// The text with '?' for each such character or byte.
std::string printable(std::string_view text);

/// Bytes of the well-formed UTF-8 character at the front of a text (RFC 3629); 0: there is none.
std::size_t character_bytes(std::string_view text);

/// The same for text that need not be well-formed: a byte that begins no character counts as one.
std::string_view next_character(std::string_view text);

/// Whether one character, as next_character gives it, may be shown.
bool is_printable_character(std::string_view character);

}  // namespace strata
