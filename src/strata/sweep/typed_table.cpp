// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/typed_table.hpp"

#include "strata/base/error.hpp"
#include "strata/sweep/columns.hpp"
#include "strata/sweep/read_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

namespace strata {
namespace {

constexpr std::string_view text_columns[] = {
    "model",     "machine",        "dtype",  "policy",    "prefetch", "offload",   "channel",
    "objective", "strict_minimum", "host",   "optimizer", "loss",     "recompute", "framework",
    "amp",       "attention",      "error",  "strategy",  "sp",       "schedule",  "exchange",
    "overlap",   "balance",        "experts"};
constexpr std::string_view count_columns[] = {"point", "seq", "batch", "micro_batches"};
constexpr std::string_view unit_ends[] = {"_s", "_bytes", "_mm2"};

template <std::size_t count>
bool is_among(const std::string_view (&names)[count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<double> finite_number(std::string_view cell) {
  double number = 0;
  const auto [rest, status] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const bool is_whole_cell = status == std::errc() && rest == cell.data() + cell.size();
  return is_whole_cell && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Columns of unknown type arrive as texts; those that hold only numbers become numbers.
void become_numbers(SweepColumn& column) {
  std::vector<double> numbers;
  numbers.reserve(column.texts.size());
  for (const std::string& text : column.texts) {
    const std::optional<double> number = text.empty() ? no_number : finite_number(text);
    if (!number) return;
    numbers.push_back(*number);
  }
  column.is_number = true;
  column.numbers = std::move(numbers);
  column.texts = {};
}

}  // namespace

ColumnType type_of_column(std::string_view name) {
  if (is_among(text_columns, name)) return ColumnType::text;
  if (is_among(count_columns, name) || is_result_column(name)) return ColumnType::amount;
  const bool has_unit = std::any_of(std::begin(unit_ends), std::end(unit_ends),
                                    [&](std::string_view unit) { return name.ends_with(unit); });
  return has_unit ? ColumnType::number : ColumnType::unknown;
}

std::size_t TypedTable::add_column(std::string name, bool is_axis) {
  const ColumnType type = type_of_column(name);
  const bool is_number = type == ColumnType::number || type == ColumnType::amount;
  table_.columns.push_back({.name = std::move(name), .is_number = is_number, .is_axis = is_axis});
  states_.push_back({.type = type});
  return states_.size() - 1;
}

void TypedTable::begin_row(std::string place) {
  place_ = std::move(place);
  ++table_.row_count;
  if (table_.row_count * table_.columns.size() > most_cells)
    fail(ErrorKind::input, "too many points to be read at once");
}

void TypedTable::refuse(std::size_t column, std::string_view expected, std::string_view got) const {
  constexpr std::size_t longest = 40;
  fail(ErrorKind::input, "{}, column '{}': expected {}, got '{}'", place_,
       table_.columns[column].name, expected, got.substr(0, longest));
}

/// Rows before this one that had no cell.
void TypedTable::pad(std::size_t column) {
  SweepColumn& of = table_.columns[column];
  if (of.is_number) of.numbers.resize(table_.row_count - 1, no_number);
  if (!of.is_number) of.texts.resize(table_.row_count - 1);
  ++states_[column].cells;
}

void TypedTable::add_text(std::size_t column, std::string text) {
  State& state = states_[column];
  SweepColumn& of = table_.columns[column];
  if (state.type == ColumnType::unknown && state.cells == 0) of.is_number = false;
  if (of.is_number) refuse(column, "a number", text);
  pad(column);
  of.texts.push_back(std::move(text));
}

void TypedTable::add_number(std::size_t column, double number) {
  State& state = states_[column];
  SweepColumn& of = table_.columns[column];
  if (state.type == ColumnType::unknown && state.cells == 0) of.is_number = true;
  if (!of.is_number) refuse(column, "a text", fmt::format("{}", number));
  if (!std::isfinite(number)) refuse(column, "a finite number", fmt::format("{}", number));
  if (state.type == ColumnType::amount && number < 0)
    refuse(column, "a number from 0", fmt::format("{}", number));
  pad(column);
  of.numbers.push_back(number);
}

void TypedTable::add_untyped(std::size_t column, std::string text) {
  State& state = states_[column];
  const bool is_number = state.type == ColumnType::number || state.type == ColumnType::amount;
  if (!is_number) {
    state.is_untyped = state.type == ColumnType::unknown;
    return add_text(column, std::move(text));
  }
  if (text.empty()) return;
  const std::optional<double> number = finite_number(text);
  if (!number) refuse(column, "a number", text);
  add_number(column, *number);
}

SweepTable TypedTable::finish() && {
  for (std::size_t i = 0; i < table_.columns.size(); ++i) {
    SweepColumn& column = table_.columns[i];
    if (column.is_number) column.numbers.resize(table_.row_count, no_number);
    if (!column.is_number) column.texts.resize(table_.row_count);
    if (states_[i].is_untyped) become_numbers(column);
  }
  return std::move(table_);
}

}  // namespace strata
