// SPDX-License-Identifier: Apache-2.0
#include "strata/report/compress.hpp"

namespace strata {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = bytes.size() - at;
    const auto byte = [&](std::size_t i) {
      return i < left ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])) : 0U;
    };
    const unsigned group = byte(0) << 16U | byte(1) << 8U | byte(2);
    text += digits[group >> 18U];
    text += digits[group >> 12U & 63U];
    text += left > 1 ? digits[group >> 6U & 63U] : '=';
    text += left > 2 ? digits[group & 63U] : '=';
  }
  return text;
}

}  // namespace strata
