// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace strata {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// In the order of their numbers.
constexpr Range controls[] = {{0x00, 0x1F}, {0x7F, 0x9F}};
constexpr Range unseen[] = {
    {0x00AD, 0x00AD},    // soft hyphen
    {0x034F, 0x034F},    // grapheme joiner
    {0x061C, 0x061C},    // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // Khmer vowels that are not shown
    {0x180B, 0x180F},    // Mongolian selectors
    {0x200B, 0x200F},    // zero-width space, joiners, direction marks
    {0x2028, 0x202E},    // separators of lines and paragraphs; embeddings and overrides
    {0x2060, 0x206F},    // word joiner, invisible operators, isolates
    {0x3164, 0x3164},    // Hangul filler
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // Hangul filler
    {0xFFF9, 0xFFFB},    // annotations
    {0xE0000, 0xE0FFF},  // tags
};

template <std::size_t count>
bool is_in(const Range (&ranges)[count], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

/// The number of a well-formed character.
char32_t code_of(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead;
  char32_t code = lead & (0x7FU >> character.size());
  for (const char c : character.substr(1))
    code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

bool is_broken(std::string_view character) {
  return character.size() == 1 && static_cast<unsigned char>(character[0]) >= 0x80U;
}

void append_escape(std::string& text, std::string_view character) {
  const bool is_byte = is_broken(character);
  const unsigned code = is_byte ? static_cast<unsigned char>(character[0])
                                : static_cast<unsigned>(code_of(character));
  fmt::format_to(std::back_inserter(text), "\\{}{{{:x}}}", is_byte ? 'x' : 'u', code);
}

/// "\u{202e}" or "\x{ff}" at the front of a text.
struct Escape {
  std::size_t length = 0;
  char32_t code = 0;
  bool is_byte = false;
};

std::optional<Escape> escape_at_front(std::string_view text) {
  const bool is_byte = text.starts_with("\\x{");
  if (!is_byte && !text.starts_with("\\u{")) return std::nullopt;
  unsigned code = 0;
  const auto [end, status] = std::from_chars(text.data() + 3, text.data() + text.size(), code, 16);
  const auto length = static_cast<std::size_t>(end - text.data()) + 1;
  const bool is_whole = status == std::errc() && length <= text.size() && *end == '}';
  if (!is_whole || code > (is_byte ? 0xFFU : 0x10FFFFU)) return std::nullopt;
  return Escape{length, code, is_byte};
}

void append_utf8(std::string& text, char32_t code) {
  const auto add = [&text](char32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { add(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80U) {
    add(code);
  } else if (code < 0x800U) {
    add(0xC0U | code >> 6U);
    tail(0);
  } else if (code < 0x10000U) {
    add(0xE0U | code >> 12U);
    tail(6);
    tail(0);
  } else {
    add(0xF0U | code >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

/// Bytes of a style of report/text_style.hpp at the front of a text: bold, dim, or their end.
std::size_t style_bytes(std::string_view text) {
  for (const std::string_view style : {"\033[0m", "\033[1m", "\033[2m"}) {
    if (text.starts_with(style)) return style.size();
  }
  return 0;
}

}  // namespace

std::size_t character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xF0U ? 4 : lead >= 0xE0U ? 3 : 2;
  if (lead < 0xC2U || lead > 0xF4U || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  const bool is_overlong = (lead == 0xE0U && second < 0xA0U) || (lead == 0xF0U && second < 0x90U);
  const bool is_surrogate = lead == 0xEDU && second >= 0xA0U;
  const bool is_beyond = lead == 0xF4U && second >= 0x90U;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

std::string_view next_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(character_bytes(text), 1));
}

bool is_printable_character(std::string_view character) {
  if (is_broken(character)) return false;
  const char32_t code = code_of(character);
  return !is_in(controls, code) && (code < 0x80U || !is_in(unseen, code));
}

bool is_printable(std::string_view text) {
  if (is_plain_ascii(text)) return true;
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    if (!is_printable_character(character)) return false;
    text.remove_prefix(character.size());
  }
  return true;
}

bool is_text(std::string_view text) {
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    if (is_broken(character) || is_in(controls, code_of(character))) return false;
    text.remove_prefix(character.size());
  }
  return true;
}

std::string printable(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    if (is_printable_character(character)) {
      clean += character;
    } else {
      append_escape(clean, character);
    }
    text.remove_prefix(character.size());
  }
  return clean;
}

std::string printable_lines(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::size_t style = style_bytes(text);
    const std::string_view part = style > 0 ? text.substr(0, style) : next_character(text);
    if (style > 0 || part == "\n" || part == "\t" || is_printable_character(part)) {
      clean += part;
    } else {
      append_escape(clean, part);
    }
    text.remove_prefix(part.size());
  }
  return clean;
}

std::string escaped_text(std::string_view text) {
  if (is_plain_ascii(text) && text.find('\\') == std::string_view::npos) return std::string(text);
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    if (!is_printable_character(character) || escape_at_front(text)) {
      append_escape(safe, character);
    } else {
      safe += character;
    }
    text.remove_prefix(character.size());
  }
  return safe;
}

std::string unescaped_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::optional<Escape> escape = escape_at_front(text);
    const std::size_t length = escape ? escape->length : 1;
    if (!escape) {
      plain += text.front();
    } else if (escape->is_byte) {
      plain += static_cast<char>(escape->code);
    } else {
      append_utf8(plain, escape->code);
    }
    text.remove_prefix(length);
  }
  return plain;
}

std::string printable_json(std::string json) {
  const auto is_harmless = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n'; };
  if (std::all_of(json.begin(), json.end(), is_harmless)) return json;
  std::string safe;
  safe.reserve(json.size());
  const auto add_unit = [&safe](unsigned unit) {
    fmt::format_to(std::back_inserter(safe), "\\u{:04x}", unit);
  };
  for (std::string_view rest = json; !rest.empty();) {
    const std::string_view character = next_character(rest);
    const char first = character.front();
    rest.remove_prefix(character.size());
    if (is_harmless(first) || is_printable_character(character)) {
      safe += character;
      continue;
    }
    const unsigned code =
        is_broken(character) ? 0xFFFDU : static_cast<unsigned>(code_of(character));
    if (code >= 0x10000U) {
      add_unit(0xD800U + ((code - 0x10000U) >> 10U));
      add_unit(0xDC00U + ((code - 0x10000U) & 0x3FFU));
    } else {
      add_unit(code);
    }
  }
  return safe;
}

}  // namespace strata
