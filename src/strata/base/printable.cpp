// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"

#include <algorithm>

namespace strata {

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
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first >= 0x20U && first < 0x7FU;
  // U+0080 to U+009F, the C1 controls, are C2 80 to C2 9F.
  return first != 0xC2U || static_cast<unsigned char>(character[1]) >= 0xA0U;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    if (!is_printable_character(character)) return false;
    text.remove_prefix(character.size());
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    clean += is_printable_character(character) ? character : "?";
    text.remove_prefix(character.size());
  }
  return clean;
}

}  // namespace strata
