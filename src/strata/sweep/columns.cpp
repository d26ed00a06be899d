// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/columns.hpp"

#include "strata/machine/area.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>

namespace strata {
namespace {

struct ResultColumn {
  std::string_view name;
  SweepCellKind kind;
  double (*value)(const PointResult& result);
  bool follows_capacity = false;  // from nothing else
};

constexpr double none = std::numeric_limits<double>::quiet_NaN();

double real(std::int64_t whole) { return static_cast<double>(whole); }

/// What belongs to the limit or to the expected time is empty where the point has none.
double of_limit(const PointResult& of, double number) { return of.has_limit ? number : none; }
double of_expected(const PointResult& of, double number) {
  return of.expected.is_there() ? number : none;
}

double per_limit(double amount, const PointResult& of) {
  return of_limit(of, of.totals.time_s > 0 ? amount / of.totals.time_s : 0);
}

double samples_per_s(const PointResult& of) {
  return of.expected.is_there() ? real(of.samples) / of.expected.time_s
                                : per_limit(real(of.samples), of);
}

double fits(const PointResult& of) {
  if (!(of.expected.device_bytes > 0)) return none;
  return of_expected(of, of.expected.is_out_of_memory() ? 0 : 1);
}

// What the hardware came to; a column only where no axis has the same name.
constexpr ResultColumn facts[] = {
    {"capacity_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return real(of.hardware.capacity_bytes); }},
    {"bandwidth_bytes_per_s", SweepCellKind::real,
     [](const PointResult& of) { return of.hardware.bytes_per_s; }},
    {"throughput_flop_per_s", SweepCellKind::real,
     [](const PointResult& of) { return of.hardware.dense_flop_per_s; }},
};

// Whole numbers below 2^53 pass through a double unchanged; no iteration moves 9 PB.
constexpr ResultColumn known_results[] = {
    {"samples", SweepCellKind::whole, [](const PointResult& of) { return real(of.samples); }},
    {"time_s", SweepCellKind::real,
     [](const PointResult& of) { return of_limit(of, of.totals.time_s); }},
    {"compute_time_s", SweepCellKind::real,
     [](const PointResult& of) { return of_limit(of, of.totals.compute_s); }},
    {"stall_time_s", SweepCellKind::real,
     [](const PointResult& of) { return of_limit(of, of.totals.stall_s); }},
    {"traffic_in_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_limit(of, real(of.totals.in_bytes)); }},
    {"traffic_out_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_limit(of, real(of.totals.out_bytes)); }},
    {"refetch_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_limit(of, real(of.totals.refetch_bytes)); }},
    {"average_bandwidth_bytes_per_s", SweepCellKind::real,
     [](const PointResult& of) {
       return per_limit(real(of.totals.in_bytes + of.totals.out_bytes), of);
     }},
    {"utilisation", SweepCellKind::real,
     [](const PointResult& of) { return per_limit(of.totals.compute_s, of); }},
    {"samples_per_s", SweepCellKind::real, samples_per_s},
    {"peak_occupied_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_limit(of, real(of.totals.peak_occupied_bytes)); }},
    {"footprint_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_limit(of, real(of.footprint_bytes)); }},
    {"area_mm2", SweepCellKind::real,
     [](const PointResult& of) { return area_mm2(real(of.hardware.capacity_bytes), area_node); },
     /*follows_capacity=*/true},
    {"area_16nm_mm2", SweepCellKind::real,
     [](const PointResult& of) {
       return area_mm2(real(of.hardware.capacity_bytes), old_area_node);
     },
     /*follows_capacity=*/true},
    // Behind all others: whoever counts columns finds them where they were.
    {"expected_s", SweepCellKind::real,
     [](const PointResult& of) { return of_expected(of, of.expected.time_s); }},
    {"expected_low_s", SweepCellKind::real,
     [](const PointResult& of) { return of_expected(of, of.expected.low_s); }},
    {"expected_high_s", SweepCellKind::real,
     [](const PointResult& of) { return of_expected(of, of.expected.high_s); }},
    {"memory_bytes", SweepCellKind::whole,
     [](const PointResult& of) { return of_expected(of, real(of.expected.memory_bytes)); }},
    {"fits", SweepCellKind::whole, fits},
};

SweepCellKind cell_kind_of(AxisKind kind) {
  if (kind == AxisKind::text) return SweepCellKind::text;
  return is_whole(kind) ? SweepCellKind::whole : SweepCellKind::real;
}

/// What only points over many devices have: tokens, MFU, and the parts of the time.
const std::vector<std::string>& strategy_columns() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"tokens_per_s", "mfu"};
    for (const std::string_view part : rank_time_names) {
      std::string& name = all.emplace_back(fmt::format("{}_s", part));
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    }
    return all;
  }();
  return names;
}

/// NaN leaves the cell empty.
void fill_number(SweepCell& cell, SweepCellKind kind, double value) {
  cell.kind = kind;
  cell.is_empty = std::isnan(value);
  cell.real = value;
  cell.whole =
      kind == SweepCellKind::whole && !cell.is_empty ? static_cast<std::int64_t>(value) : 0;
}

/// Returns where the next column is.
std::size_t fill_strategy(std::vector<SweepCell>& cells, std::size_t at,
                          const PointResult& result) {
  const PointParallel& of = result.parallel;
  const bool failed = !result.error.empty();
  const auto fill = [&](double value) {
    fill_number(cells[at++], SweepCellKind::real, failed ? none : value);
  };
  fill(of.tokens_per_s > 0 ? of.tokens_per_s : none);
  fill(of.mfu > 0 ? of.mfu : none);
  for (const double part_s : of.parts_s) fill(part_s);
  cells[at].kind = SweepCellKind::text;
  cells[at].is_empty = result.strategy.empty();
  cells[at].text = result.strategy;
  return at + 1;
}

}  // namespace

SweepColumns::SweepColumns(const Grid& grid, std::span<const std::string> derived,
                           OfStrategies of_strategies)
    : grid_(grid), has_strategies_(of_strategies == OfStrategies::yes) {
  heads_.push_back({.name = "point", .kind = SweepCellKind::whole, .is_known = true});
  for (std::size_t axis = 0; axis < grid.axes().size(); ++axis) {
    const Axis& of = grid.axes()[axis];
    if (of.column() == facts[0].name) capacity_axis_ = axis;
    heads_.push_back(
        {.name = of.column(), .kind = cell_kind_of(of.kind()), .is_axis = true, .is_known = true});
  }
  for (std::size_t i = 0; i < std::size(facts); ++i) {
    const bool is_axis = std::any_of(heads_.begin(), heads_.end(), [&](const ColumnHead& head) {
      return head.name == facts[i].name;
    });
    if (is_axis) continue;
    facts_.push_back(i);
    heads_.push_back({.name = std::string(facts[i].name), .kind = facts[i].kind});
  }
  for (const ResultColumn& column : known_results)
    heads_.push_back({.name = std::string(column.name),
                      .kind = column.kind,
                      .is_known = column.follows_capacity && capacity_axis_.has_value()});
  if (has_strategies_) {
    for (const std::string& name : strategy_columns()) heads_.push_back({.name = name});
    heads_.push_back({.name = "strategy", .kind = SweepCellKind::text});
  }
  heads_.push_back({.name = "error", .kind = SweepCellKind::text});
  for (const std::string& definition : derived) add_derived(definition);
}

void SweepColumns::add_derived(std::string_view definition) {
  const std::vector<FormulaColumn> columns = formula_columns(heads_);
  const ColumnDefinition read = read_column_definition(definition, columns, "--column");
  Formula formula(read.formula, columns, "--column");
  const bool is_known = std::all_of(formula.columns().begin(), formula.columns().end(),
                                    [&](std::size_t column) { return heads_[column].is_known; });
  heads_.push_back({.name = read.name, .kind = SweepCellKind::real, .is_known = is_known});
  derived_.push_back(std::move(formula));
}

std::size_t SweepColumns::fill_axes(std::vector<SweepCell>& cells, std::int64_t point) const {
  cells.resize(heads_.size());
  std::size_t at = 0;
  cells[at].kind = SweepCellKind::whole;
  cells[at].is_empty = false;
  cells[at].real = real(point);
  cells[at++].whole = point;
  for (std::size_t axis = 0; axis < grid_.axes().size(); ++axis) {
    AxisValue value = grid_.axes()[axis].at(grid_.index_of(point, axis));
    SweepCell& cell = cells[at++];
    cell.kind = cell_kind_of(grid_.axes()[axis].kind());
    cell.is_empty = false;
    cell.whole = value.integer;
    cell.real = value.number;
    cell.text = std::move(value.text);
  }
  return at;
}

void SweepColumns::fill(std::vector<SweepCell>& cells, std::int64_t point,
                        const PointResult& result) const {
  std::size_t at = fill_axes(cells, point);
  const bool failed = !result.error.empty();
  const auto fill_result = [&](const ResultColumn& column) {
    fill_number(cells[at++], column.kind, failed ? none : column.value(result));
  };
  for (const std::size_t fact : facts_) fill_result(facts[fact]);
  for (const ResultColumn& column : known_results) fill_result(column);
  if (has_strategies_) at = fill_strategy(cells, at, result);
  cells[at].kind = SweepCellKind::text;
  cells[at].is_empty = !failed;
  cells[at].text = result.error;
  fill_derived(cells);
}

void SweepColumns::fill_known(std::vector<SweepCell>& cells, std::int64_t point) const {
  std::size_t at = fill_axes(cells, point);
  for (std::size_t rest = at; rest < cells.size(); ++rest) {
    cells[rest].kind = heads_[rest].kind;
    cells[rest].is_empty = true;
    cells[rest].text.clear();
  }
  if (capacity_axis_) {
    PointResult result;
    result.hardware.capacity_bytes = cells[1 + *capacity_axis_].whole;
    at += facts_.size();
    for (const ResultColumn& column : known_results) {
      if (column.follows_capacity) fill_number(cells[at], column.kind, column.value(result));
      ++at;
    }
  }
  fill_derived(cells);
}

void SweepColumns::fill_derived(std::vector<SweepCell>& cells) const {
  std::size_t at = cells.size() - derived_.size();
  for (Formula& formula : derived_) {
    const double value = formula.value(CellRow(cells));
    SweepCell& cell = cells[at++];
    fill_number(cell, SweepCellKind::real, value);
    cell.is_empty = !std::isfinite(value);  // files cannot hold NaN
  }
}

bool is_result_column(std::string_view name) {
  const auto is_named = [name](const ResultColumn& column) { return column.name == name; };
  return std::any_of(std::begin(facts), std::end(facts), is_named) ||
         std::any_of(std::begin(known_results), std::end(known_results), is_named) ||
         std::find(strategy_columns().begin(), strategy_columns().end(), name) !=
             strategy_columns().end();
}

std::vector<FormulaColumn> formula_columns(const std::vector<ColumnHead>& heads) {
  std::vector<FormulaColumn> columns;
  for (const ColumnHead& head : heads)
    columns.push_back({.name = head.name, .is_text = head.kind == SweepCellKind::text});
  return columns;
}

double CellRow::number(std::size_t column) const {
  const SweepCell& cell = cells_[column];
  if (cell.is_empty) return std::numeric_limits<double>::quiet_NaN();
  return cell.kind == SweepCellKind::whole ? real(cell.whole) : cell.real;
}

}  // namespace strata
