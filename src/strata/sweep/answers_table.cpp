// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/answers_table.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace strata {
namespace {

/// A cell as a key: NaN equals NaN here, as a missing value is the same as another.
std::string key_of_cell(const SweepColumn& column, std::size_t row) {
  if (!column.is_number) return column.text(row);
  const double number = column.number(row);
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

bool is_constant(const SweepColumn& column, std::size_t row_count) {
  for (std::size_t row = 1; row < row_count; ++row) {
    if (key_of_cell(column, row) != key_of_cell(column, 0)) return false;
  }
  return true;
}

}  // namespace

std::vector<FormulaColumn> formula_columns(const SweepTable& table) {
  std::vector<FormulaColumn> columns;
  columns.reserve(table.columns.size());
  for (const SweepColumn& column : table.columns)
    columns.push_back({.name = column.name, .is_text = !column.is_number});
  return columns;
}

void add_derived_column(SweepTable& table, std::string_view definition, std::string_view what) {
  const std::vector<FormulaColumn> columns = formula_columns(table);
  const ColumnDefinition read = read_column_definition(definition, columns, what);
  Formula formula(read.formula, columns, what);
  SweepColumn column{.name = read.name, .numbers = {}, .texts = {}};
  column.numbers.reserve(table.row_count);
  for (std::size_t row = 0; row < table.row_count; ++row)
    column.numbers.push_back(formula.value(TableRow(table, row)));
  table.columns.push_back(std::move(column));
}

std::size_t rows_undecided(const SweepTable& table, std::string_view constraint,
                           std::string_view what) {
  Formula formula(constraint, formula_columns(table), what);
  std::size_t count = 0;
  for (std::size_t row = 0; row < table.row_count; ++row)
    count += std::isfinite(formula.value(TableRow(table, row))) ? 0 : 1;
  return count;
}

SweepTable rows_where(const SweepTable& table, std::string_view constraint, std::string_view what) {
  Formula formula(constraint, formula_columns(table), what);
  SweepTable kept{.identity = table.identity, .columns = {}};
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.row_count; ++row) {
    if (formula.holds(TableRow(table, row))) rows.push_back(row);
  }
  for (const SweepColumn& column : table.columns) {
    SweepColumn part{.name = column.name,
                     .is_number = column.is_number,
                     .is_axis = column.is_axis,
                     .numbers = {},
                     .texts = {}};
    for (const std::size_t row : rows) {
      if (column.is_number) part.numbers.push_back(column.number(row));
      if (!column.is_number) part.texts.push_back(column.text(row));
    }
    kept.columns.push_back(std::move(part));
  }
  kept.row_count = rows.size();
  return kept;
}

std::vector<RowGroup> groups_of_rows(const SweepTable& table,
                                     const std::vector<std::size_t>& same_columns) {
  std::vector<RowGroup> groups;
  std::map<std::vector<std::string>, std::size_t> group_of_key;
  std::vector<std::string> key(same_columns.size());
  for (std::size_t row = 0; row < table.row_count; ++row) {
    for (std::size_t at = 0; at < same_columns.size(); ++at)
      key[at] = key_of_cell(table.columns[same_columns[at]], row);
    const auto [place, is_new] = group_of_key.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].rows.push_back(row);
  }
  return groups;
}

std::vector<RowGroup> groups_by_network(const SweepTable& table) {
  const auto model = find_column("model", formula_columns(table));
  return groups_of_rows(table,
                        model ? std::vector<std::size_t>{*model} : std::vector<std::size_t>{});
}

SpeedColumn speed_column(const SweepTable& table) {
  const std::vector<FormulaColumn> columns = formula_columns(table);
  for (const std::string_view name : {"samples_per_s", "time_s"}) {
    const auto column = find_column(name, columns);
    if (column && table.columns[*column].is_number)
      return {.column = *column, .is_rate = name == "samples_per_s"};
  }
  fail(ErrorKind::usage,
       "the table has neither samples_per_s nor time_s, so it does not say what is fast");
}

double SpeedColumn::time_of(const SweepTable& table, std::size_t row) const {
  const double number = table.columns[column].number(row);
  return is_rate ? 1 / number : number;
}

namespace {

const SweepColumn* number_column(const SweepTable& table, std::string_view name) {
  const auto found = std::find_if(
      table.columns.begin(), table.columns.end(),
      [&](const SweepColumn& column) { return column.name == name && column.is_number; });
  return found == table.columns.end() ? nullptr : &*found;
}

}  // namespace

RowJudge::RowJudge(const SweepTable& table)
    : fits_(number_column(table, "fits")), expected_(number_column(table, "expected_s")) {}

bool RowJudge::is_out_of_memory(std::size_t row) const {
  return fits_ != nullptr && fits_->number(row) == 0;
}

bool RowJudge::has_expected(std::size_t row) const {
  return expected_ != nullptr && !std::isnan(expected_->number(row));
}

bool RowJudge::has_expected(const RowGroup& group) const {
  return std::any_of(group.rows.begin(), group.rows.end(),
                     [&](std::size_t row) { return has_expected(row); });
}

bool has_expected_times(const SweepTable& table) {
  const SweepColumn* expected = number_column(table, "expected_s");
  return expected != nullptr && std::any_of(expected->numbers.begin(), expected->numbers.end(),
                                            [](double number) { return !std::isnan(number); });
}

bool has_several_numbers(const SweepTable& table, std::string_view column) {
  const SweepColumn* of = number_column(table, column);
  if (of == nullptr) return false;
  double first = no_number;
  for (const double number : of->numbers) {
    if (std::isnan(number)) continue;
    if (std::isnan(first)) first = number;
    if (number != first) return true;
  }
  return false;
}

std::vector<std::size_t> varying_axes(const SweepTable& table) {
  std::vector<std::size_t> axes;
  for (std::size_t at = 0; at < table.columns.size(); ++at) {
    if (table.columns[at].is_axis && !is_constant(table.columns[at], table.row_count))
      axes.push_back(at);
  }
  return axes;
}

}  // namespace strata
