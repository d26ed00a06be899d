// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// What a cfg file says, without its meaning: sections of key=value lines.
namespace strata::darknet {

/// Bounds on what a file may ask for; far beyond real networks (a few hundred sections), and small
/// enough that no file ends the program.
inline constexpr std::size_t most_bytes = std::size_t{16} << 20;
inline constexpr std::size_t most_sections = 10'000;
inline constexpr std::size_t most_options = 500'000;
inline constexpr std::size_t longest_list = 10'000;
inline constexpr std::size_t most_tensors = 100'000;
inline constexpr std::size_t most_references = 100'000;  ///< to other sections, over the whole file

/// One line "key=value"; both refer to the text.
struct Option {
  std::string_view key;
  std::string_view value;
  std::uint32_t line = 0;
};

/// "[kind]" and the lines below it. Where a key stands twice the first counts, as in darknet. A
/// value ends at a '#'. Errors name the key, what was expected and what came.
struct Section {
  std::string_view kind;  ///< without the brackets
  std::uint32_t line = 0;
  std::vector<Option> options;

  const Option* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }

  std::int64_t number(std::string_view key, std::int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  std::string_view word(std::string_view key, std::string_view otherwise) const;
  bool flag(std::string_view key) const { return number(key, 0) != 0; }
  /// "-1, 36": empty when the key is absent.
  std::vector<std::int64_t> numbers(std::string_view key) const;
};

/// The sections in the order of the file; they refer to the text, which must outlive them. Errors
/// (input) say the line.
std::vector<Section> parse_config(std::string_view text);

}  // namespace strata::darknet
