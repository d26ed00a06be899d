// SPDX-License-Identifier: Apache-2.0
#include "strata/report/text_style.hpp"

#include "strata/base/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

struct Fold {
  std::string_view sign;
  char plain;
};

constexpr Fold folds[] = {
    {"×", 'x'}, {"·", '*'}, {"…", '~'}, {"–", '-'}, {"−", '-'}, {"→", '>'}, {"µ", 'u'},
    {"∞", '~'}, {"─", '-'}, {"█", '#'}, {"▉", '#'}, {"▊", '#'}, {"▋", '#'}, {"▌", '#'},
    {"▍", '+'}, {"▎", '+'}, {"▏", '+'}, {"←", '<'}, {"✗", '!'}, {"✓", '+'},
};

std::string escape(std::string_view code, std::string_view text, const TextStyle& style) {
  if (!style.has_color || text.empty()) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (; !text.empty(); text.remove_prefix(next_character(text).size())) ++width;
  return width;
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
    const std::string_view character = next_character(text.substr(at));
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
    const std::string_view character = next_character(text.substr(at));
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
