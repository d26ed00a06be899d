// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_plot.hpp"

#include "strata/base/error.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/sweep_chart.hpp"
#include "strata/report/write_file.hpp"

#include <algorithm>

namespace strata {
namespace {

bool is_png(std::string_view path) { return path.ends_with(".png"); }

std::string_view plotted_column(const Arguments& given) {
  return given.value(plot_column_flag).value_or("time_s");
}

// A constraint may leave out some: then only the table will tell.
void check_line_count(const Sweep& sweep) {
  const std::vector<Axis>& axes = sweep.grid().axes();
  const Axis* over = nullptr;
  for (const Axis& axis : axes) {
    if (axis.kind() == AxisKind::text || axis.size() < 2) continue;
    if (over == nullptr || axis.name() == "capacity") over = &axis;
  }
  if (over == nullptr)
    fail(ErrorKind::usage, "--plot needs an axis of numbers with several values: --capacity RANGE");
  const std::int64_t lines = sweep.grid().size() / over->size();
  if (lines > static_cast<std::int64_t>(most_sweep_lines) && sweep.constraints().empty()) {
    fail(ErrorKind::usage,
         "--plot: {} lines are too many (at most {}); leave some out with --where, or draw a part "
         "of the results later with --from",
         lines, most_sweep_lines);
  }
}

}  // namespace

void check_plot(const Arguments& given) {
  const auto path = given.value(sweep_plot_flag);
  if (!path) {
    if (given.has(plot_column_flag))
      fail(ErrorKind::usage, "--plot-column is about a picture: give --plot FILE with it");
    return;
  }
  if (!path->ends_with(".svg") && !is_png(*path))
    fail(ErrorKind::usage, "--plot expects FILE.svg or FILE.png, got '{}'", *path);
  if (is_png(*path) && !has_png()) svg_to_png("");  // refuses
}

void check_plot(const Arguments& given, const Sweep& sweep) {
  check_plot(given);
  if (!given.has(sweep_plot_flag)) return;
  const std::vector<ColumnHead>& heads = sweep.columns().heads();
  const std::size_t column =
      column_named(plotted_column(given), formula_columns(heads), "--plot-column");
  if (heads[column].kind == SweepCellKind::text)
    fail(ErrorKind::usage, "--plot-column: column '{}' holds text", heads[column].name);
  check_line_count(sweep);
}

void draw_plot(const Arguments& given, const SweepTable& table) {
  const auto path = given.value(sweep_plot_flag);
  if (!path) return;
  const std::string svg = chart::to_svg(sweep_chart(table, plotted_column(given)));
  write_file(std::string(*path), is_png(*path) ? svg_to_png(svg) : svg);
}

}  // namespace strata
