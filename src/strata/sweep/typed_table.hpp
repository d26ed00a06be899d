// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/table.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Makes a table of the cells of a file, whichever form it has. The columns that every sweep has
/// hold what their names say: a network called "2024" is a text, and a capacity called "x" is an
/// error. Other columns are numbers or texts as their cells are.
namespace strata {

enum class ColumnType : std::uint8_t {
  unknown,  ///< of the user's making: as its cells are
  text,
  number,  ///< finite
  amount,  ///< finite and not negative
};
ColumnType type_of_column(std::string_view name);

/// Takes cells row by row. Errors (input) name the row, as `place` says it, and the column.
class TypedTable {
 public:
  /// Adds a column, for which earlier rows have no cell, and returns its number.
  std::size_t add_column(std::string name, bool is_axis = false);
  /// The rows that follow have no cell in a column until one is added: one per column at most.
  void begin_row(std::string place);

  void add_text(std::size_t column, std::string text);
  void add_number(std::size_t column, double number);
  /// A cell of which nobody knows whether it is a number: CSV.
  void add_untyped(std::size_t column, std::string text);

  std::size_t columns() const { return table_.columns.size(); }
  SweepTable& table() { return table_; }
  SweepTable finish() &&;

 private:
  struct State {
    ColumnType type = ColumnType::unknown;
    bool is_untyped = false;  ///< its texts may turn out to be numbers
    std::size_t cells = 0;
  };
  [[noreturn]] void refuse(std::size_t column, std::string_view expected,
                           std::string_view got) const;
  void pad(std::size_t column);

  SweepTable table_;
  std::vector<State> states_;
  std::string place_;
};

}  // namespace strata
