// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/xml_text.hpp"

#include <cstdint>

namespace strata {
namespace {

/// Bytes of the character that begins here; 0: it is not UTF-8, or XML 1.0 does not allow it.
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80U) return first >= 0x20U && first != 0x7FU ? 1 : 0;
  const std::size_t size = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() < size) return 0;
  std::uint32_t code = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool is_shortest = size == 2 || code >= (size == 3 ? 0x800U : 0x10000U);
  const bool is_surrogate = code >= 0xD800U && code <= 0xDFFFU;
  const bool is_control = code < 0xA0U || code == 0xFFFEU || code == 0xFFFFU;
  return is_shortest && !is_surrogate && !is_control && code <= 0x10FFFFU ? size : 0;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char first = text.front();
    if (size == 0) {
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
      safe += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return safe;
}

}  // namespace strata
