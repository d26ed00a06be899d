// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/formula.hpp"
#include "strata/sweep/table.hpp"

#include <cstddef>
#include <string>
#include <vector>

/// What every question to a finished sweep begins with: formulas over its table, and the rows that
/// belong together.
namespace strata {

std::vector<FormulaColumn> formula_columns(const SweepTable& table);

/// A row of a table as formulas see it.
class TableRow : public FormulaRow {
 public:
  TableRow(const SweepTable& table, std::size_t row) : table_(table), row_(row) {}
  double number(std::size_t column) const override { return table_.columns[column].number(row_); }
  std::string_view text(std::size_t column) const override {
    return table_.columns[column].text(row_);
  }

 private:
  const SweepTable& table_;
  std::size_t row_;
};

/// Adds a column of numbers, "cost=area_mm2*0.2"; later ones may use it. NaN where a row has no
/// value. Errors (usage) as formula.hpp says.
void add_derived_column(SweepTable& table, std::string_view definition, std::string_view what);

/// How many rows cannot tell whether the constraint holds: a number is missing, or the formula has
/// no finite value there (1/0). It counts as no.
std::size_t rows_undecided(const SweepTable& table, std::string_view constraint,
                           std::string_view what);

/// Only the rows for which the constraint holds.
SweepTable rows_where(const SweepTable& table, std::string_view constraint, std::string_view what);

/// Rows that have the same values in some columns.
struct RowGroup {
  std::vector<std::size_t> rows;  ///< in the order of the table; at least one
};

/// In the order of their first rows.
std::vector<RowGroup> groups_of_rows(const SweepTable& table,
                                     const std::vector<std::size_t>& same_columns);

/// A group for each network, as the times of two networks are no alternatives; one group where the
/// table has no column "model".
std::vector<RowGroup> groups_by_network(const SweepTable& table);

/// Which column tells how good a row is, and how: samples_per_s where there is one, so that batches
/// of different size compare; else time_s. Errors (usage): the table has neither.
struct SpeedColumn {
  std::size_t column = 0;
  bool is_rate = false;  ///< samples_per_s: more is better

  /// Seconds, per sample or per iteration.
  double time_of(const SweepTable& table, std::size_t row) const;
};
SpeedColumn speed_column(const SweepTable& table);

/// Which points no answer recommends: those that do not fit the memory of their device, and those
/// that have only a limit where other points have an expected time, as the two do not compare.
class RowJudge {
 public:
  explicit RowJudge(const SweepTable& table);

  bool is_out_of_memory(std::size_t row) const;
  bool has_expected(std::size_t row) const;
  bool has_expected(const RowGroup& group) const;  ///< any of its rows

 private:
  const SweepColumn* fits_ = nullptr;
  const SweepColumn* expected_ = nullptr;
};

/// Whether any row has an expected time.
bool has_expected_times(const SweepTable& table);

/// Whether the numbers of a column differ; those that are missing do not count.
bool has_several_numbers(const SweepTable& table, std::string_view column);

/// The axes of which the table has more than one value: what tells its rows apart.
std::vector<std::size_t> varying_axes(const SweepTable& table);

}  // namespace strata
