// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"
#include "strata/report/convolution_cells.hpp"
#include "strata/report/convolution_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

using chart::Chart;

constexpr chart::Marker marker_kinds[] = {chart::Marker::circle,   chart::Marker::square,
                                          chart::Marker::triangle, chart::Marker::diamond,
                                          chart::Marker::inverted, chart::Marker::cross};

std::string axis_title(std::string_view letter) {
  constexpr std::pair<std::string_view, std::string_view> names[] = {{"b", "batch"},
                                                                     {"i", "side of the input"},
                                                                     {"f", "filters"},
                                                                     {"k", "side of the kernel"},
                                                                     {"s", "stride"},
                                                                     {"c", "input channels"},
                                                                     {"p", "padding"},
                                                                     {"d", "dilation"},
                                                                     {"g", "groups"},
                                                                     {"h", "height of the input"},
                                                                     {"w", "width of the input"}};
  for (const auto& [name, title] : names) {
    if (name == letter) return std::string(title);
  }
  return std::string(letter);
}

/// Whether the points are names on the axis: layers, and a few whole numbers (strides), between
/// which an axis would write others.
bool has_named_points(const ConvSeries& series) {
  constexpr std::size_t few = 6;
  return !series.is_sweep || series.points.size() < few;
}

/// A color for each strategy; no two that the picture shows share one while there are enough.
std::vector<chart::Color> strategy_colors(const ConvResults& results, const ConvIndex& index,
                                          const ConvSeries& series, ConvPass pass) {
  std::vector<std::string> names;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < results.strategies.size(); ++i) {
    const std::string& name = results.strategies[i].name;
    const bool is_shown =
        std::any_of(series.points.begin(), series.points.end(), [&](const ConvPoint& point) {
          const ConvCell* cell = index.find(point.shape, pass, name);
          return cell != nullptr && cell->is_measured();
        });
    if (!is_shown) continue;
    names.push_back(name);
    shown.push_back(i);
  }
  const std::vector<chart::Color> of_shown = chart::colors_of_kinds(names);
  std::vector<chart::Color> colors(results.strategies.size(), 0);
  for (std::size_t i = 0; i < shown.size(); ++i) colors[shown[i]] = of_shown[i];
  return colors;
}

/// One line per strategy over the points of a series.
template <class ValueOf>
Chart lines_over(const ConvResults& results, const ConvIndex& index, const ConvSeries& series,
                 ConvPass pass, const ValueOf& value_of) {
  Chart chart;
  const bool has_names = has_named_points(series);
  if (series.is_sweep) chart.x.title = axis_title(series.name);
  for (const ConvPoint& point : series.points) {
    if (has_names)
      chart.x.categories.push_back(series.is_sweep ? fmt::format("{}", *point.at) : point.label);
  }
  const std::vector<chart::Color> colors = strategy_colors(results, index, series, pass);
  for (std::size_t i = 0; i < results.strategies.size(); ++i) {
    const ConvStrategyName& strategy = results.strategies[i];
    chart::Series line{.name = strategy.name,
                       .color = colors[i],
                       .stroke = !series.is_sweep     ? chart::Stroke::none
                                 : strategy.is_vendor ? chart::Stroke::dashed
                                                      : chart::Stroke::solid,
                       .marker = marker_kinds[i % std::size(marker_kinds)],
                       .is_filled = !strategy.is_vendor};
    for (std::size_t k = 0; k < series.points.size(); ++k) {
      const ConvPoint& point = series.points[k];
      const ConvCell* cell = index.find(point.shape, pass, strategy.name);
      if (cell == nullptr || !cell->is_measured()) continue;
      const double x = has_names ? static_cast<double>(k) : static_cast<double>(*point.at);
      line.points.push_back({x, value_of(*cell), ""});
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  return chart;
}

bool has_positive(const Chart& chart) {
  return std::all_of(chart.series.begin(), chart.series.end(), [](const chart::Series& line) {
    return std::all_of(line.points.begin(), line.points.end(),
                       [](const chart::Point& point) { return point.y > 0; });
  });
}

// By role; the page has the same under "roles" in web/src/palette.json.
constexpr std::array<chart::Color, 10> role_colors = {0, 1, 2, 3, 4, 5, 7, 11, 8, 14};
static_assert(role_colors.size() == static_cast<std::size_t>(KernelRole::other) + 1);

/// A panel for the run time and one for each efficiency, a group of bars for each layer; none where
/// there are no efficiencies.
std::vector<Chart> efficiency_panels(const ConvResults& results, const ConvIndex& index,
                                     const ConvSeries& series, ConvPass pass) {
  std::vector<Chart> panels;
  const std::vector<chart::Color> colors = strategy_colors(results, index, series, pass);
  const auto add = [&](std::string title, chart::Quantity quantity, const auto& value_of) {
    Chart panel{.y = {.title = std::move(title), .quantity = quantity, .from_zero = true}};
    for (const ConvPoint& point : series.points) panel.x.categories.push_back(point.label);
    for (std::size_t i = 0; i < results.strategies.size(); ++i) {
      chart::Bars bars{results.strategies[i].name, {}, colors[i]};
      bool has_any = false;
      for (const ConvPoint& point : series.points) {
        const ConvCell* cell = index.find(point.shape, pass, bars.name);
        const std::optional<double> value = cell == nullptr ? std::nullopt : value_of(*cell);
        bars.values.push_back(value.value_or(0));
        has_any = has_any || value;
      }
      if (has_any) panel.bars.push_back(std::move(bars));
    }
    if (!panel.bars.empty()) panels.push_back(std::move(panel));
  };
  for (const ConvEfficiencyName& name : conv_efficiency_names()) {
    add(std::string(name.key), name.is_share ? chart::Quantity::share : chart::Quantity::number,
        [&](const ConvCell& cell) { return mean_efficiency(cell, name.value); });
  }
  if (panels.empty()) return panels;
  add("run time", chart::Quantity::seconds, [](const ConvCell& cell) {
    return cell.is_measured() ? std::optional(cell.time_s()) : std::nullopt;
  });
  std::rotate(panels.begin(), panels.end() - 1, panels.end());
  return panels;
}

/// Stacked bars of roles over the points, one strategy.
std::optional<Chart> roles_of_strategy(const ConvIndex& index, const ConvSeries& series,
                                       ConvPass pass, const std::string& strategy) {
  Chart chart;
  chart.title = strategy;
  chart.bar_layout = chart::BarLayout::stacked;
  chart.y = {.title = "time", .quantity = chart::Quantity::seconds, .from_zero = true};
  std::vector<std::vector<double>> by_role(static_cast<std::size_t>(KernelRole::other) + 1);
  bool has_roles = false;
  for (const ConvPoint& point : series.points) {
    const ConvCell* cell = index.find(point.shape, pass, strategy);
    if (cell == nullptr || !cell->is_measured()) continue;
    chart.x.categories.push_back(series.is_sweep ? fmt::format("{}", *point.at) : point.label);
    for (auto& values : by_role) values.push_back(0);
    for (const RoleTime& role : cell->roles) {
      by_role[static_cast<std::size_t>(role.role)].back() += role.seconds;
      has_roles = has_roles || role.seconds > 0;
    }
  }
  if (!has_roles) return std::nullopt;
  if (series.is_sweep) chart.x.title = axis_title(series.name);
  for (std::size_t role = 0; role < by_role.size(); ++role) {
    if (std::all_of(by_role[role].begin(), by_role[role].end(), [](double v) { return v == 0; }))
      continue;
    chart.bars.push_back(
        {std::string(name_of(static_cast<KernelRole>(role))), by_role[role], role_colors[role]});
  }
  return chart;
}

}  // namespace

chart::Color role_color(KernelRole role) { return role_colors[static_cast<std::size_t>(role)]; }

std::vector<ConvPicture> conv_pictures(const ConvResults& results) {
  const ConvIndex index(results);
  std::vector<ConvPicture> pictures;
  const auto add = [&](const ConvSeries& series, ConvPass pass, std::string_view what,
                       std::string_view title, std::vector<Chart> panels, std::size_t columns,
                       double height) {
    std::string name = fmt::format("{}-{}-{}", series.name, name_of(pass), what);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == ' ' || c == ':'; }, '_');
    // Pictures of several series stand beside each other: their titles differ.
    const std::string over =
        series.is_sweep ? fmt::format(" over the {}", axis_title(series.name)) : "";
    pictures.push_back({name,
                        {.title = fmt::format("{}{}, {}", title, over, name_of(pass)),
                         .subtitle = fmt::format("{}, {}, {}", series_text(series), results.device,
                                                 name_of(results.dtype)),
                         .panels = std::move(panels),
                         .columns = columns,
                         .plot_height = height}});
  };
  for (const ConvSeries& series : results.series) {
    for (const ConvPass pass : results.passes) {
      Chart time = lines_over(results, index, series, pass,
                              [](const ConvCell& cell) { return cell.time_s(); });
      if (time.series.empty()) continue;
      time.y = {
          .title = "time",
          .quantity = chart::Quantity::seconds,
          .scale = has_positive(time) ? chart::ScaleKind::logarithmic : chart::ScaleKind::linear};
      add(series, pass, "time", "Time of a convolution", {std::move(time)}, 1, 420);
      Chart memory = lines_over(results, index, series, pass, [](const ConvCell& cell) {
        return static_cast<double>(cell.peak_bytes());
      });
      memory.y = {.title = "tensors and scratch memory",
                  .quantity = chart::Quantity::capacity,
                  .from_zero = true};
      add(series, pass, "memory", "Memory of a convolution", {std::move(memory)}, 1, 420);
      std::vector<Chart> roles;
      for (const ConvStrategyName& strategy : results.strategies) {
        if (auto panel = roles_of_strategy(index, series, pass, strategy.name))
          roles.push_back(std::move(*panel));
      }
      if (!roles.empty()) add(series, pass, "roles", "Kernels by role", std::move(roles), 2, 160);
      if (series.is_sweep) continue;  // too many bars to be told apart
      std::vector<Chart> efficiencies = efficiency_panels(results, index, series, pass);
      if (!efficiencies.empty())
        add(series, pass, "efficiencies", "Efficiencies by the GPU's counters",
            std::move(efficiencies), 1, 150);
    }
  }
  return pictures;
}

}  // namespace strata
