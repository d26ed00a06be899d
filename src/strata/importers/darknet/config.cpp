// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/config.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace strata::darknet {
namespace {

using network::in_quotes;

std::string_view without_comment(std::string_view value) {
  return trimmed(value.substr(0, value.find('#')));
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// darknet's sizes are C ints.
std::int64_t whole_number(std::string_view key, std::string_view text) {
  const std::optional<std::int64_t> number = parsed<std::int64_t>(text);
  if (!number) {
    fail(ErrorKind::input, "key '{}': expected a whole number, got {}", key, in_quotes(text));
  }
  if (*number > std::numeric_limits<std::int32_t>::max() ||
      *number < std::numeric_limits<std::int32_t>::min()) {
    fail(ErrorKind::input, "key '{}': {} does not fit into 32 bits", key, *number);
  }
  return *number;
}

// Kinds end up in messages and in names of nodes, so only words will do.
std::string_view section_kind(std::string_view line, std::uint32_t number) {
  constexpr std::size_t longest_kind = 50;
  const std::size_t end = line.find(']');
  if (end != std::string_view::npos && without_comment(line.substr(end + 1)).empty()) {
    const std::string_view kind = trimmed(line.substr(1, end - 1));
    const bool is_word = std::all_of(kind.begin(), kind.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (is_word && !kind.empty() && kind.size() <= longest_kind) return kind;
  }
  fail(ErrorKind::input, "line {}: expected [section], got {}", number, in_quotes(line));
}

Option option_of(std::string_view line, std::uint32_t number) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || trimmed(line.substr(0, equals)).empty()) {
    fail(ErrorKind::input, "line {}: expected key=value, got {}", number, in_quotes(line));
  }
  return {trimmed(line.substr(0, equals)), without_comment(line.substr(equals + 1)), number};
}

}  // namespace

const Option* Section::find(std::string_view key) const {
  for (const Option& option : options) {
    if (option.key == key) return &option;
  }
  return nullptr;
}

std::int64_t Section::number(std::string_view key, std::int64_t otherwise) const {
  const Option* option = find(key);
  return option == nullptr ? otherwise : whole_number(key, option->value);
}

double Section::real(std::string_view key, double otherwise) const {
  const Option* option = find(key);
  if (option == nullptr) return otherwise;
  const std::optional<double> number = parsed<double>(option->value);
  if (!number) {
    fail(ErrorKind::input, "key '{}': expected a number, got {}", key, in_quotes(option->value));
  }
  return *number;
}

std::string_view Section::word(std::string_view key, std::string_view otherwise) const {
  const Option* option = find(key);
  return option == nullptr ? otherwise : option->value;
}

std::vector<std::int64_t> Section::numbers(std::string_view key) const {
  std::vector<std::int64_t> result;
  const Option* option = find(key);
  if (option == nullptr) return result;
  std::string_view rest = option->value;
  if (rest.ends_with(',')) rest.remove_suffix(1);
  for (;;) {
    const std::size_t comma = rest.find(',');
    if (result.size() == longest_list) {
      fail(ErrorKind::input, "key '{}': more than {} entries", key, longest_list);
    }
    result.push_back(whole_number(key, trimmed(rest.substr(0, comma))));
    if (comma == std::string_view::npos) return result;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<Section> parse_config(std::string_view text) {
  if (text.size() > most_bytes) {
    fail(ErrorKind::input, "{} bytes, the most is {}", text.size(), most_bytes);
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  std::vector<Section> sections;
  std::size_t options = 0;
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      if (sections.size() == most_sections) {
        fail(ErrorKind::input, "line {}: more than {} sections", number, most_sections);
      }
      sections.push_back({section_kind(line, number), number, {}});
      continue;
    }
    if (sections.empty()) {
      fail(ErrorKind::input, "line {}: expected [net], got {}", number, in_quotes(line));
    }
    if (++options > most_options) {
      fail(ErrorKind::input, "line {}: more than {} settings", number, most_options);
    }
    sections.back().options.push_back(option_of(line, number));
  }
  return sections;
}

}  // namespace strata::darknet
