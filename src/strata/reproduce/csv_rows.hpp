// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/csv_cell.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// Rows of a CSV file. Numbers have as many digits as it takes to read the same number back.
class CsvRows {
 public:
  explicit CsvRows(std::string_view columns) : text_(fmt::format("{}\n", columns)) {}

  template <class... Cells>
  void add(const Cells&... cells) {
    std::string line;
    (add_cell(line, cells), ...);
    line.back() = '\n';
    text_ += line;
  }
  std::string take() && { return std::move(text_); }

 private:
  static void add_cell(std::string& line, std::string_view text) { line += csv_cell(text) + ","; }
  static void add_cell(std::string& line, double number) { line += fmt::format("{},", number); }
  static void add_cell(std::string& line, std::int64_t number) {
    line += fmt::format("{},", number);
  }

  std::string text_;
};

}  // namespace strata
