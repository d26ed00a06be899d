// SPDX-License-Identifier: Apache-2.0
#include "strata/report/text_style.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Bytes of the UTF-8 character that starts at `at`; 1 for a byte that starts none.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : first >= 0xC2U ? 2 : 1;
  if (first > 0xF4U || at + length > text.size()) return 1;
  const std::string_view rest = text.substr(at + 1, length - 1);
  return std::all_of(rest.begin(), rest.end(), is_continuation) ? length : 1;
}

// C0 and DEL are one byte, and so is what is no UTF-8; C1 (U+0080 to U+009F) is C2 80 to C2 9F.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20U || first == 0x7FU || first >= 0x80U;
  return character.size() == 2 && first == 0xC2U &&
         static_cast<unsigned char>(character[1]) < 0xA0U;
}

struct Fold {
  std::string_view sign;
  char plain;
};

constexpr Fold folds[] = {
    {"×", 'x'}, {"·", '*'}, {"…", '~'}, {"–", '-'}, {"−", '-'}, {"→", '>'},
    {"µ", 'u'}, {"∞", '~'}, {"─", '-'}, {"█", '#'}, {"▉", '#'}, {"▊", '#'},
    {"▋", '#'}, {"▌", '#'}, {"▍", '+'}, {"▎", '+'}, {"▏", '+'},
};

std::string escape(std::string_view code, std::string_view text, const TextStyle& style) {
  if (!style.has_color || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); at += character_length(text, at)) ++width;
  return width;
}

std::string printable(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, character_length(text, at));
    if (is_control(character)) {
      clean += '?';
    } else {
      clean += character;
    }
    at += character.size();
  }
  return clean;
}

std::string shortened(std::string_view text, std::size_t columns, Omit omit) {
  const std::size_t width = width_of(text);
  if (width <= columns) return std::string(text);
  if (columns == 0) return {};
  const std::size_t head = omit == Omit::end ? columns - 1 : columns / 4;
  const std::size_t tail_from = width - (columns - 1 - head);
  std::string result;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size(); ++column) {
    const std::string_view character = text.substr(at, character_length(text, at));
    if (column == head) result += "…";
    if (column < head || column >= tail_from) result += character;
    at += character.size();
  }
  return result;
}

std::string to_ascii(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, character_length(text, at));
    const auto* fold = std::find_if(std::begin(folds), std::end(folds), [&](const Fold& candidate) {
      return candidate.sign == character;
    });
    if (fold != std::end(folds)) {
      plain += fold->plain;
    } else {
      plain += character;
    }
    at += character.size();
  }
  return plain;
}

std::string bold(std::string_view text, const TextStyle& style) { return escape("1", text, style); }
std::string dim(std::string_view text, const TextStyle& style) { return escape("2", text, style); }

}  // namespace strata
