// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/csv_lines.hpp"

#include "strata/base/error.hpp"

namespace strata {
namespace {

constexpr std::size_t most_row_bytes = std::size_t{16} << 20;

}  // namespace

bool CsvLines::get(char& c) {
  if (at_ == end_) {
    end_ = source_.read(chunk_);
    at_ = 0;
    if (end_ == 0) return false;
  }
  c = chunk_[at_++];
  return true;
}

bool CsvLines::next(std::vector<std::string>& cells) {
  cells.clear();
  line_ = lines_read_ + 1;
  bool is_quoted = false;
  bool was_quote = false;  // inside quotes: a second one stands for itself
  std::size_t bytes = 0;
  char c = 0;
  while (get(c)) {
    if (++bytes > most_row_bytes) fail(ErrorKind::input, "line {}: too long", line_);
    if (cells.empty()) cells.emplace_back();
    if (c == '\n') ++lines_read_;
    if (is_quoted && was_quote) {
      was_quote = false;
      if (c == '"') {
        cells.back() += '"';
        continue;
      }
      is_quoted = false;
    }
    if (is_quoted) {
      if (c == '"') {
        was_quote = true;
      } else {
        cells.back() += c;
      }
    } else if (c == '"' && cells.back().empty()) {
      is_quoted = true;
    } else if (c == ',') {
      cells.emplace_back();
    } else if (c == '\n') {
      return true;
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  if (is_quoted && !was_quote) fail(ErrorKind::input, "line {}: a quote does not end", line_);
  return bytes > 0;
}

}  // namespace strata
