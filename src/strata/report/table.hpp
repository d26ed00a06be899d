// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/report/text_style.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace strata {

enum class Align { left, right };

struct Column {
  std::string title;  ///< a line break puts the rest, usually a unit, on a second line
  Align align = Align::left;
  /// Narrowest width to which the cells may be shortened; 0: never, as numbers must not be.
  std::size_t least_width = 0;
  Omit omit = Omit::end;
  /// When shortening is not enough, columns go, the highest first; 0 stays whatever happens.
  int leaves = 0;
  bool is_shown = true;  ///< false for a column that has nothing to say in this table
};

/// Rows of cells under headings, laid out for the width of a terminal: text is shortened, whole
/// columns go, numbers are never cut or wrapped. Columns that went are named below the table. Cells
/// are made printable: names of strangers cannot break a row.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell per column.
  void add_row(std::vector<std::string> cells);
  /// Stands before the next row, across the table: what the rows below are about.
  void add_heading(std::string text);
  /// Draws a line before the next row, and that row in bold: totals.
  void add_total(std::vector<std::string> cells);

  std::string to_text(const TextStyle& style) const;

 private:
  struct Layout {
    std::vector<std::size_t> shown;   // indices of columns
    std::vector<std::size_t> widths;  // one per column shown
    std::vector<std::string> hidden;  // titles of the others
  };
  std::vector<std::string> checked(std::vector<std::string> cells) const;
  Layout layout_for(std::size_t columns) const;
  std::string headings(const Layout& layout, const TextStyle& style) const;
  std::string line(const std::vector<std::string>& cells, const Layout& layout) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::pair<std::size_t, std::string>> headings_;  ///< before which row
  std::vector<std::vector<std::string>> totals_;
};

}  // namespace strata
