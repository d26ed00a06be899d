// SPDX-License-Identifier: Apache-2.0
#include "strata/report/sweep_figures.hpp"

#include "strata/base/error.hpp"
#include "strata/report/sweep_figure_parts.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>

namespace strata {
namespace {

using chart::Chart;
using chart::ChartGrid;
using chart::Quantity;
using chart::ScaleKind;

constexpr std::size_t most_lines = 8;  // colours that can be told apart
constexpr std::size_t most_panels = 12;
constexpr std::size_t most_cells_drawn = 20'000;
constexpr std::array<chart::Marker, 6> line_markers = {
    chart::Marker::circle,  chart::Marker::square,   chart::Marker::triangle,
    chart::Marker::diamond, chart::Marker::inverted, chart::Marker::cross};
constexpr std::size_t most_marked = 40;  // points of a line with a symbol each

std::size_t index_of(const SweepTable& table, const SweepColumn& column) {
  return static_cast<std::size_t>(&column - table.columns.data());
}

const SweepColumn& numbers_named(const SweepTable& table, std::string_view name) {
  const SweepColumn& column = table.column(name);
  if (!column.is_number) fail(ErrorKind::usage, "column '{}' holds texts, no numbers", column.name);
  return column;
}

/// Axes of numbers that vary, in the order of the table.
std::vector<std::size_t> number_axes(const SweepTable& table) {
  std::vector<std::size_t> axes = varying_axes(table);
  std::erase_if(axes, [&](std::size_t axis) { return !table.columns[axis].is_number; });
  return axes;
}

std::string capitalized(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

/// Rows that have a number in every one of the columns.
std::vector<std::size_t> rows_with(const SweepTable& table,
                                   const std::vector<const SweepColumn*>& columns) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.row_count; ++row) {
    const bool has_all =
        std::all_of(columns.begin(), columns.end(),
                    [&](const SweepColumn* column) { return std::isfinite(column->number(row)); });
    if (has_all && !table.is_failed(row)) rows.push_back(row);
  }
  return rows;
}

/// Rows with the same values of some axes, and those values in words.
struct RowsOfCase {
  std::string name;
  std::vector<std::size_t> rows;
};

std::vector<RowsOfCase> cases_of(const SweepTable& table, const std::vector<std::size_t>& rows,
                                 const std::vector<std::size_t>& other_axes) {
  std::vector<RowsOfCase> cases;
  for (const std::size_t row : rows) {
    std::string name;
    for (const std::size_t axis : other_axes) {
      const SweepColumn& column = table.columns[axis];
      const std::string cell = readable_cell(column, row);
      const bool needs_name =
          column.is_number && quantity_of_column(column.name) == Quantity::number;
      name += fmt::format("{}{}{}", name.empty() ? "" : ", ",
                          needs_name ? column_title(column) + " " : "", cell);
    }
    const auto same = std::find_if(cases.begin(), cases.end(),
                                   [&](const RowsOfCase& each) { return each.name == name; });
    if (same == cases.end()) {
      cases.push_back({name, {row}});
    } else {
      same->rows.push_back(row);
    }
  }
  return cases;
}

std::vector<std::size_t> without(std::vector<std::size_t> axes,
                                 std::initializer_list<std::size_t> left_out) {
  std::erase_if(axes, [&](std::size_t axis) {
    return std::find(left_out.begin(), left_out.end(), axis) != left_out.end();
  });
  return axes;
}

const SweepColumn& first_axis(const SweepTable& table, const std::optional<std::string>& named,
                              std::string_view flag) {
  if (named) return numbers_named(table, *named);
  const std::vector<std::size_t> axes = number_axes(table);
  if (axes.empty()) {
    fail(ErrorKind::input, "no axis of numbers has more than one value; name a column with {}",
         flag);
  }
  return table.columns[axes.front()];
}

void check_lines(std::size_t lines) {
  if (lines <= most_lines) return;
  fail(ErrorKind::input,
       "{} lines cannot be told apart, {} can: ask for fewer combinations (strata sweep --where)",
       lines, most_lines);
}

chart::Series line_of(const RowsOfCase& rows, const SweepColumn& x, const SweepColumn& y,
                      std::size_t number) {
  chart::Series line{.name = rows.name, .points = {}, .color = number};
  for (const std::size_t row : rows.rows) line.points.push_back({x.number(row), y.number(row), ""});
  std::stable_sort(line.points.begin(), line.points.end(),
                   [](const chart::Point& a, const chart::Point& b) { return a.x < b.x; });
  if (line.points.size() <= most_marked) line.marker = line_markers[number % line_markers.size()];
  return line;
}

Chart lines_chart(const SweepTable& table, const SweepColumn& x, const SweepColumn& y) {
  const std::vector<std::size_t> others =
      without(varying_axes(table), {index_of(table, x), index_of(table, y)});
  const auto cases = cases_of(table, rows_with(table, {&x, &y}), others);
  if (cases.empty()) fail(ErrorKind::input, "no point has both '{}' and '{}'", x.name, y.name);
  check_lines(cases.size());
  Chart chart{.title = capitalized(fmt::format("{} over {}", column_title(y), column_title(x))),
              .subtitle = fixed_axes_text(table),
              .x = column_axis(x),
              .y = column_axis(y)};
  chart.y.from_zero = true;
  for (std::size_t i = 0; i < cases.size(); ++i) chart.series.push_back(line_of(cases[i], x, y, i));
  return chart;
}

/// Edges of cells half-way between neighbours; along a logarithmic axis half-way there.
std::vector<double> edges_between(const std::vector<double>& values, bool is_log) {
  const auto forth = [&](double v) { return is_log ? std::log(v) : v; };
  const auto back = [&](double v) { return is_log ? std::exp(v) : v; };
  std::vector<double> edges;
  const std::size_t count = values.size();
  for (std::size_t i = 0; i <= count; ++i) {
    const double before = forth(values[i == 0 ? 0 : i - 1]);
    const double after = forth(values[i == count ? count - 1 : i]);
    if (i == 0) {
      edges.push_back(back(after - (forth(values[1]) - after) / 2));
    } else if (i == count) {
      edges.push_back(back(before + (before - forth(values[count - 2])) / 2));
    } else {
      edges.push_back(back((before + after) / 2));
    }
  }
  return edges;
}

// Values that grow by factors want a logarithmic axis.
bool grows_by_factors(const std::vector<double>& values) {
  if (values.size() < 3 || values.front() <= 0) return false;
  const double first = values[1] - values[0];
  const double last = values.back() - values[values.size() - 2];
  return last > 3 * first;
}

struct HeatAxis {
  const SweepColumn& column;
  std::vector<double> values;
  bool is_log = false;
  std::vector<double> edges;

  std::size_t at(double value) const {
    return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) -
                                    values.begin());
  }
};

HeatAxis heat_axis(const SweepColumn& column, const std::vector<std::size_t>& rows) {
  std::set<double> values;
  for (const std::size_t row : rows) values.insert(column.number(row));
  HeatAxis axis{column, {values.begin(), values.end()}, false, {}};
  if (axis.values.size() < 2)
    fail(ErrorKind::input, "'{}' has one value only: a map needs two axes that vary", column.name);
  axis.is_log = grows_by_factors(axis.values);
  axis.edges = edges_between(axis.values, axis.is_log);
  return axis;
}

chart::Axis drawn(const HeatAxis& axis) {
  chart::Axis result = column_axis(axis.column);
  result.scale = axis.is_log ? ScaleKind::logarithmic : ScaleKind::linear;
  result.least = axis.edges.front();
  result.most = axis.edges.back();
  return result;
}

/// Where a result lies between its least and its most.
class HeatScale {
 public:
  HeatScale(const SweepColumn& column, const std::vector<std::size_t>& rows)
      : least_(column.number(rows.front())), most_(least_) {
    for (const std::size_t row : rows) {
      least_ = std::min(least_, column.number(row));
      most_ = std::max(most_, column.number(row));
    }
    // The colours of a result that spans decades would all lie at one end.
    is_log_ = least_ > 0 && most_ > 20 * least_;
  }

  double shade(double value) const {
    if (!(most_ > least_)) return 0.5;
    return is_log_ ? std::log(value / least_) / std::log(most_ / least_)
                   : (value - least_) / (most_ - least_);
  }
  double value_at(double share) const {
    return is_log_ ? least_ * std::pow(most_ / least_, share) : least_ + share * (most_ - least_);
  }

 private:
  double least_;
  double most_;
  bool is_log_ = false;
};

Chart heat_panel(const RowsOfCase& one, const HeatAxis& along_x, const HeatAxis& along_y,
                 const SweepColumn& z, const HeatScale& scale) {
  Chart panel{.title = one.name, .x = drawn(along_x), .y = drawn(along_y)};
  for (const std::size_t row : one.rows) {
    const std::size_t i = along_x.at(along_x.column.number(row));
    const std::size_t k = along_y.at(along_y.column.number(row));
    panel.bands.push_back(
        {.x_from = along_x.edges[i],
         .x_to = along_x.edges[i + 1],
         .y_from = along_y.edges[k],
         .y_to = along_y.edges[k + 1],
         .label = fmt::format("{}, {}: {}", readable_cell(along_x.column, row),
                              readable_cell(along_y.column, row), readable_cell(z, row)),
         .color = {},
         .is_solid = true,
         .shade = scale.shade(z.number(row))});
  }
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    panel.band_keys.push_back({readable_number(z.name, scale.value_at(share)), share, 0});
  return panel;
}

const SweepColumn& second_axis(const SweepTable& table, const std::optional<std::string>& named,
                               const SweepColumn& first) {
  if (named && &numbers_named(table, *named) != &first) return numbers_named(table, *named);
  for (const std::size_t axis : number_axes(table)) {
    if (!named && &table.columns[axis] != &first) return table.columns[axis];
  }
  fail(ErrorKind::input, "a map needs two axes of numbers that vary; this sweep has one");
}

}  // namespace

Chart sweep_line_figure(const SweepTable& table, const SweepFigureChoice& choice) {
  const SweepColumn& x = first_axis(table, choice.x, "--x");
  return lines_chart(table, x, numbers_named(table, choice.y.value_or("time_s")));
}

ChartGrid sweep_batch_figure(const SweepTable& table) {
  const SweepColumn* batch = table.find("batch");
  if (batch == nullptr || !batch->is_number)
    fail(ErrorKind::input, "the sweep has no column 'batch', over which this figure goes");
  Chart chart = lines_chart(table, *batch, numbers_named(table, "samples_per_s"));
  chart.x.scale = ScaleKind::logarithmic;
  chart.title.clear();
  return {.title = "Training throughput over the batch",
          .subtitle = chart.subtitle,
          .panels = {std::move(chart)},
          .columns = 1,
          .plot_height = 320};
}

ChartGrid sweep_heat_figure(const SweepTable& table, const SweepFigureChoice& choice) {
  const SweepColumn& x = first_axis(table, choice.x, "--x");
  const SweepColumn& y = second_axis(table, choice.y, x);
  const SweepColumn& z = numbers_named(table, choice.z.value_or("time_s"));
  const std::vector<std::size_t> rows = rows_with(table, {&x, &y, &z});
  if (rows.empty())
    fail(ErrorKind::input, "no point has '{}', '{}' and '{}'", x.name, y.name, z.name);
  if (rows.size() > most_cells_drawn)
    fail(ErrorKind::input, "{} points are too many for a map of {} cells", rows.size(),
         most_cells_drawn);
  const auto cases =
      cases_of(table, rows, without(varying_axes(table), {index_of(table, x), index_of(table, y)}));
  if (cases.size() > most_panels)
    fail(ErrorKind::input, "{} maps are too many for one picture; {} are not", cases.size(),
         most_panels);
  const HeatAxis along_x = heat_axis(x, rows);
  const HeatAxis along_y = heat_axis(y, rows);
  const HeatScale scale(z, rows);
  ChartGrid grid{.title = capitalized(fmt::format("{} over {} and {}", column_title(z),
                                                  column_title(x), column_title(y))),
                 .subtitle = fixed_axes_text(table),
                 .panels = {},
                 .columns = cases.size() == 1 ? std::size_t{1} : std::size_t{2},
                 .plot_height = cases.size() == 1 ? 320.0 : 200.0};
  for (const RowsOfCase& one : cases)
    grid.panels.push_back(heat_panel(one, along_x, along_y, z, scale));
  return grid;
}

}  // namespace strata
