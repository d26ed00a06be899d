// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/xml_text.hpp"

#include "strata/base/printable.hpp"

namespace strata {
namespace {

// Two characters are text elsewhere, but not in XML 1.0: U+FFFE and U+FFFF.
bool is_xml(std::string_view character) {
  return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = next_character(text);
    const char first = text.front();
    if (!is_printable_character(character)) {
      safe += printable(character);
    } else if (!is_xml(character)) {
      safe += '?';
    } else if (first == '&') {
      safe += "&amp;";
    } else if (first == '<') {
      safe += "&lt;";
    } else if (first == '>') {
      safe += "&gt;";
    } else if (first == '"') {
      safe += "&quot;";
    } else if (first == '\'') {
      safe += "&#39;";
    } else {
      safe += character;
    }
    text.remove_prefix(character.size());
  }
  return safe;
}

}  // namespace strata
