// SPDX-License-Identifier: Apache-2.0
#include "strata/base/csv_cell.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"

#include <charconv>

namespace strata {
namespace {

bool is_number(std::string_view text) {
  double number = 0;
  const auto [rest, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && rest == text.data() + text.size();
}

/// Apostrophes in front count as text, so that taking one away gives back what was there.
bool begins_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string safe = escaped_text(text);
  if (begins_formula(safe) && !is_number(safe)) safe.insert(0, 1, '\'');
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_quoted) {
      const bool is_doubled = c == '"' && i + 1 < line.size() && line[i + 1] == '"';
      if (c != '"' || is_doubled) cells.back() += c;
      if (is_doubled) ++i;
      if (c == '"' && !is_doubled) is_quoted = false;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '"' && cells.back().empty()) {
      is_quoted = true;
    } else {
      cells.back() += c;
    }
  }
  if (is_quoted) fail(ErrorKind::input, "a quote without its end");
  return cells;
}

std::string csv_text(std::string_view cell) {
  const bool has_mark = cell.starts_with('\'') && begins_formula(cell);
  return unescaped_text(has_mark ? cell.substr(1) : cell);
}

}  // namespace strata
