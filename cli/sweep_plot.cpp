// SPDX-License-Identifier: Apache-2.0
#include "cli/sweep_plot.hpp"

#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/report/chart/png.hpp"
#include "strata/report/sweep_chart.hpp"
#include "strata/report/write_file.hpp"
#include "strata/sweep/answers_table.hpp"

#include <algorithm>

namespace strata {
namespace {

bool is_png(std::string_view path) { return path.ends_with(".png"); }

struct Plot {
  std::string_view column = {};  // empty: the time
  std::string_view path;
};

// "rate.svg", "samples_per_s=rate.svg"; what has a folder in front of its '=' is a name of a file.
Plot plot_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.find('/') < equals) return {.path = text};
  return {.column = text.substr(0, equals), .path = text.substr(equals + 1)};
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
  const auto text = given.value(sweep_plot_flag);
  if (!text) return;
  const std::string_view path = plot_of(*text).path;
  if (!path.ends_with(".svg") && !is_png(path))
    fail(ErrorKind::usage, "--plot expects FILE.svg or FILE.png, got '{}'", path);
  if (is_png(path) && !has_png()) svg_to_png("");  // refuses
  OutputPlace(path).expect_writable();
}

void check_plot(const Arguments& given, const Sweep& sweep) {
  check_plot(given);
  const auto text = given.value(sweep_plot_flag);
  if (!text) return;
  const std::vector<ColumnHead>& heads = sweep.columns().heads();
  check_line_count(sweep);
  if (plot_of(*text).column.empty()) return;
  const std::size_t column = column_named(plot_of(*text).column, formula_columns(heads), "--plot");
  if (heads[column].kind == SweepCellKind::text)
    fail(ErrorKind::usage, "--plot: column '{}' holds text", heads[column].name);
}

void draw_plot(const Arguments& given, const SweepTable& table) {
  const auto text = given.value(sweep_plot_flag);
  if (!text) return;
  const Plot plot = plot_of(*text);
  const std::string_view time = has_expected_times(table) ? "expected_s" : "time_s";
  const std::string svg =
      chart::to_svg(sweep_chart(table, plot.column.empty() ? time : plot.column));
  write_file(std::string(plot.path), is_png(plot.path) ? svg_to_png(svg) : svg);
}

}  // namespace strata
