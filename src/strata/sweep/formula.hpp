// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/formula_expression.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What people write over the columns of a sweep: `area_mm2 < 800 && time_s < 100ms`,
/// `cost = area_mm2 * 0.2 + capacity / 1MiB`. Arithmetic is muParser's; names, units and texts are
/// read here, so that a mistake is named with its place and nothing in a formula has an effect.
namespace strata {

/// A column that a formula may name.
struct FormulaColumn {
  std::string name;
  bool is_text = false;  ///< then it can only be compared: model == "resnet50"
};

/// One row of what the columns hold.
class FormulaRow {
 public:
  virtual ~FormulaRow() = default;
  virtual double number(std::size_t column) const = 0;  ///< NaN: there is none
  virtual std::string_view text(std::size_t column) const = 0;
};

/// The column that a person means, as column_name.hpp says; nothing: it is not clear.
std::optional<std::size_t> find_column(std::string_view name,
                                       std::span<const FormulaColumn> columns);
/// The same; an error (usage) suggests the nearest names and lists them all. `what` is where the
/// name stands: "--pareto".
std::size_t column_named(std::string_view name, std::span<const FormulaColumn> columns,
                         std::string_view what);

inline constexpr std::size_t longest_formula = 2000;
inline constexpr std::size_t deepest_formula = 50;  ///< parentheses within parentheses

class Formula {
 public:
  /// Errors (usage) quote the formula and say what is wrong and where; `what` names the place it
  /// was typed in: "--where". A formula without columns must have a value.
  Formula(std::string_view text, std::span<const FormulaColumn> columns, std::string_view what);

  const std::string& text() const { return text_; }
  /// The columns it needs, each once, in the order of the table. A formula that needs nothing but
  /// what is known before a point is run can be asked before it is run.
  const std::vector<std::size_t>& columns() const { return columns_; }

  /// NaN when a number that it needs is missing, or where arithmetic has no answer (0/0). One
  /// thread at a time; each thread makes its own.
  double value(const FormulaRow& row);
  /// Whether the value is there, finite and not zero: 1/0 is no yes.
  bool holds(const FormulaRow& row);

 private:
  /// What stands behind a variable of the expression.
  struct Variable {
    std::size_t column = 0;
    std::optional<std::string> equals;  ///< of a text: 1 where the column holds just that, else 0
  };
  friend class FormulaReader;

  std::string text_;
  std::vector<std::size_t> columns_;
  std::vector<Variable> variables_;
  std::vector<double> values_;
  std::unique_ptr<Expression> expression_;
};

/// A derived column as it is typed: "cost=area_mm2*0.2". The name must be a new one, of letters,
/// digits and '_'.
struct ColumnDefinition {
  std::string name;
  std::string formula;
};
ColumnDefinition read_column_definition(std::string_view text,
                                        std::span<const FormulaColumn> columns,
                                        std::string_view what);

}  // namespace strata
