// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace strata {

/// What the place where text appears can show. Reports are written in UTF-8 and without limit of
/// width by default.
struct TextStyle {
  std::size_t columns = 0;  ///< width of the terminal; 0: no limit
  bool has_color = false;
  bool has_unicode = true;
};

/// How many columns the text takes: one per character of UTF-8.
std::size_t width_of(std::string_view text);

/// At most `columns` wide, with '…' for what was left out: at the end, or near the beginning where
/// the end matters more, as in names of layers.
enum class Omit { end, beginning };
std::string shortened(std::string_view text, std::size_t columns, Omit omit = Omit::end);

/// Replaces the signs that reports use beyond ASCII by one plain character each, so that columns
/// stay in line.
std::string to_ascii(std::string_view text);

std::string bold(std::string_view text, const TextStyle& style);
std::string dim(std::string_view text, const TextStyle& style);

}  // namespace strata
