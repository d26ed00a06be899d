// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_chart.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/units.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace strata {
namespace {

using chart::Quantity;

constexpr std::size_t most_marked_points = 32;  // of a line
constexpr std::size_t colors = 8;

Quantity quantity_of(std::string_view column) {
  if (column.ends_with("_bytes_per_s")) return Quantity::bytes_per_s;
  if (column.ends_with("_flop_per_s")) return Quantity::flop_per_s;
  if (column.ends_with("_bytes"))
    return is_capacity_name(column) ? Quantity::capacity : Quantity::bytes;
  if (column.ends_with("_per_s")) return Quantity::number;
  if (column.ends_with("_s")) return Quantity::seconds;
  return column == "utilisation" ? Quantity::share : Quantity::number;
}

// "capacity_bytes" → "capacity", "area_mm2" → "area (mm²)", "samples_per_s" → "samples/s".
std::string title_of(std::string_view column) {
  std::string title = readable_heading(column);
  if (const std::size_t unit = title.find('\n'); unit != std::string::npos)
    title = fmt::format("{} ({})", title.substr(0, unit), title.substr(unit + 1));
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::optional<std::size_t> x_axis_of(const SweepTable& table,
                                     const std::vector<std::size_t>& axes) {
  std::optional<std::size_t> first;
  for (const std::size_t axis : axes) {
    if (!table.columns[axis].is_number) continue;
    if (table.columns[axis].name == "capacity_bytes") return axis;
    if (!first) first = axis;
  }
  return first;
}

// Values that lie closer the smaller they are come from a geometric range.
chart::ScaleKind scale_of(const SweepColumn& axis) {
  const std::set<double> values(axis.numbers.begin(), axis.numbers.end());
  const double middle = *std::next(values.begin(), static_cast<std::ptrdiff_t>(values.size() / 2));
  const bool is_geometric =
      values.size() > 2 && *values.begin() > 0 && middle < (*values.begin() + *values.rbegin()) / 4;
  return is_geometric ? chart::ScaleKind::logarithmic : chart::ScaleKind::linear;
}

std::string name_of_line(const SweepTable& table, const std::vector<std::size_t>& axes,
                         std::size_t row) {
  std::vector<std::string> parts;
  for (const std::size_t axis : axes) {
    const SweepColumn& column = table.columns[axis];
    const std::string cell = readable_cell(column, row);
    const bool says_what_it_is = !column.is_number || quantity_of(column.name) != Quantity::number;
    parts.push_back(says_what_it_is ? cell : fmt::format("{} {}", title_of(column.name), cell));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Lines say which network they are of only where there are several.
std::string subtitle_of(const SweepTable& table, std::string_view shown) {
  const std::vector<RowGroup> networks = groups_by_network(table);
  const SweepColumn* models = table.find("model");
  const bool is_one = networks.size() == 1 && models != nullptr && !models->is_number;
  const bool is_expected =
      shown.starts_with("expected_") || (shown == "samples_per_s" && has_expected_times(table));
  return fmt::format("{}{}", is_one ? printable(models->text(0)) + "; " : "",
                     is_expected ? "expected times" : "limits, not calibrated times");
}

chart::Series sweep_line_of(const SweepTable& table, const RowGroup& group, const SweepColumn& x,
                            const SweepColumn& y) {
  chart::Series line;
  for (const std::size_t row : group.rows) {
    if (table.is_failed(row) || !std::isfinite(y.number(row))) continue;
    line.points.push_back(
        {.x = x.number(row),
         .y = y.number(row),
         .label = {},
         .hint = fmt::format("{}: {}", readable_cell(x, row), readable_cell(y, row))});
  }
  std::stable_sort(line.points.begin(), line.points.end(),
                   [](const chart::Point& a, const chart::Point& b) { return a.x < b.x; });
  if (line.points.size() <= most_marked_points) line.marker = chart::Marker::circle;
  return line;
}

}  // namespace

chart::Chart sweep_chart(const SweepTable& table, std::string_view column) {
  std::vector<std::size_t> axes = varying_axes(table);
  const std::optional<std::size_t> x_axis = x_axis_of(table, axes);
  if (!x_axis)
    fail(ErrorKind::usage, "--plot needs an axis of numbers with several values: --capacity RANGE");
  const SweepColumn& x = table.columns[*x_axis];
  const SweepColumn& y = table.columns[column_named(column, formula_columns(table), "--plot")];
  if (!y.is_number) fail(ErrorKind::usage, "--plot: column '{}' holds text", y.name);
  std::erase(axes, *x_axis);
  const std::vector<RowGroup> groups = groups_of_rows(table, axes);
  if (groups.size() > most_sweep_lines) {
    fail(ErrorKind::usage,
         "--plot: {} lines are too many (at most {}); leave some out with --where", groups.size(),
         most_sweep_lines);
  }
  chart::Chart chart{
      .title = fmt::format("{} over {}", title_of(y.name), title_of(x.name)),
      .subtitle = subtitle_of(table, y.name),
      .x = {.title = title_of(x.name), .quantity = quantity_of(x.name), .scale = scale_of(x)},
      .y = {.title = title_of(y.name), .quantity = quantity_of(y.name), .from_zero = true}};
  for (const RowGroup& group : groups) {
    chart::Series line = sweep_line_of(table, group, x, y);
    if (line.points.empty()) continue;
    line.name = name_of_line(table, axes, group.rows.front());
    line.color = chart.series.size() % colors;
    line.stroke = chart.series.size() < colors ? chart::Stroke::solid : chart::Stroke::dashed;
    chart.series.push_back(std::move(line));
  }
  if (chart.series.empty()) fail(ErrorKind::usage, "--plot: no point has a number in '{}'", y.name);
  return chart;
}

}  // namespace strata
