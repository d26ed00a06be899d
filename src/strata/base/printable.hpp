// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Names come from files of strangers and end up on terminals, in tables and in other files. This
/// is the one place that decides which characters may be shown there. These may not:
/// - control characters (C0, DEL, C1): they steer terminals and end lines;
/// - characters that turn the direction of writing: the text behind them reads as something else;
/// - characters without width, and separators of lines and paragraphs: they cannot be seen;
/// - bytes that are no UTF-8.
/// Each form of output has its own way to write them so that a person sees that they are there.
namespace strata {

bool is_printable(std::string_view text);

/// For people: \u{202e} in place of the character, \x{ff} in place of a byte that is no UTF-8.
std::string printable(std::string_view text);

/// Text of many lines that was put together by Strata: line breaks, tabs, and the sequences that
/// make letters bold or dim stay; for the rest the same as printable().
std::string printable_lines(std::string_view text);

/// For files that are read again: as printable(), and a backslash that would look like the
/// beginning of such an escape is \u{5c}. unescaped_text() gives the text back.
std::string escaped_text(std::string_view text);
std::string unescaped_text(std::string_view text);

/// A JSON text with \u202e in place of the characters themselves: the same document. Strings are
/// the only places in a JSON text that can hold them.
std::string printable_json(std::string json);

/// Whether the text is UTF-8 without control characters: what may be a name. What else must not be
/// shown as it is may stand in a name, for example the joiners of Persian.
bool is_text(std::string_view text);

/// Bytes of the well-formed UTF-8 character at the front of a text (RFC 3629); 0: there is none.
std::size_t character_bytes(std::string_view text);

/// The same for text that need not be well-formed: a byte that begins no character counts as one.
std::string_view next_character(std::string_view text);

/// Whether one character, as next_character gives it, may be shown.
bool is_printable_character(std::string_view character);

}  // namespace strata
