// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/report/sweep_figure_parts.hpp"
#include "strata/report/sweep_figures.hpp"
#include "strata/report/sweep_text.hpp"
#include "strata/sweep/answers_pareto.hpp"
#include "strata/sweep/answers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata {

chart::ChartGrid sweep_pareto_figure(const SweepTable& table, const SweepFigureChoice& choice) {
  const std::string x_goal =
      choice.x.value_or(table.find("area_mm2") != nullptr ? "area_mm2" : "capacity_bytes");
  const std::string y_goal = choice.y.value_or("time_s");
  const std::vector<Goal> goals = read_goals(x_goal + "," + y_goal, table, "--x and --y");
  const SweepColumn& x = table.columns[goals[0].column];
  const SweepColumn& y = table.columns[goals[1].column];
  const bool is_per_sample = goals[0].is_per_sample || goals[1].is_per_sample;
  const auto fronts = pareto_fronts(table, goals);
  const auto networks = groups_by_network(table);
  STRATA_CHECK(fronts.size() == networks.size(), "a front for each network");
  chart::ChartGrid grid{
      .title = fmt::format("Pareto front of {} and {}", column_title(x), column_title(y)),
      .subtitle = fixed_axes_text(table) + (is_per_sample ? "; the front is per sample" : ""),
      .panels = {},
      .columns = fronts.size() == 1 ? std::size_t{1} : std::size_t{2},
      .plot_height = fronts.size() == 1 ? 320.0 : 200.0};
  const SweepColumn* model = table.find("model");
  for (std::size_t i = 0; i < fronts.size(); ++i) {
    chart::Chart panel{.x = column_axis(x), .y = column_axis(y)};
    if (model != nullptr && fronts.size() > 1)
      panel.title = readable_cell(*model, networks[i].rows.front());
    chart::Series all{.name = "points",
                      .points = {},
                      .color = 6,
                      .stroke = chart::Stroke::none,
                      .marker = chart::Marker::circle,
                      .is_filled = false,
                      .marker_scale = 0.6};
    for (const std::size_t row : networks[i].rows) {
      if (std::isfinite(x.number(row)) && std::isfinite(y.number(row)) && !table.is_failed(row))
        all.points.push_back({x.number(row), y.number(row), ""});
    }
    chart::Series front{.name = "front", .points = {}, .color = 1, .marker = chart::Marker::circle};
    for (const std::size_t row : fronts[i].rows)
      front.points.push_back({x.number(row), y.number(row), ""});
    if (front.points.empty()) continue;
    std::sort(front.points.begin(), front.points.end(),
              [](const chart::Point& a, const chart::Point& b) { return a.x < b.x; });
    panel.series = {std::move(all), std::move(front)};
    grid.panels.push_back(std::move(panel));
  }
  return grid;
}

}  // namespace strata
