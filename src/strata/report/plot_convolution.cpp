// SPDX-License-Identifier: Apache-2.0
// Results of the convolution lab as figures of one picture each.
#include "strata/base/error.hpp"
#include "strata/report/convolution_cells.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace strata {
namespace {

using chart::Chart;
using chart::ChartGrid;
using chart::Quantity;

constexpr std::size_t most_conv_panels = 24;

std::string_view ending_of(PlotKind kind) {
  switch (kind) {
    case PlotKind::conv_memory: return "-memory";
    case PlotKind::conv_roles: return "-roles";
    default: return "-time";
  }
}

std::string_view title_of(PlotKind kind) {
  switch (kind) {
    case PlotKind::conv_memory: return "Memory of convolutions by strategy";
    case PlotKind::conv_roles: return "Time of convolutions by role of kernels";
    default: return "Time of convolutions by strategy";
  }
}

std::string device_text(const ConvResults& results) {
  return fmt::format("{}, {}", results.device, name_of(results.dtype));
}

void check_panels(const ChartGrid& grid, std::string_view needs) {
  if (grid.panels.empty())
    fail(ErrorKind::input, "nothing to draw: no strategy was measured with {}", needs);
  if (grid.panels.size() <= most_conv_panels) return;
  fail(ErrorKind::input,
       "{} panels are too many for one picture, {} are not: choose with --series and --pass",
       grid.panels.size(), most_conv_panels);
}

/// The cell of a strategy at one point; nothing unless it was measured.
const ConvCell* measured(const ConvIndex& index, const ConvPoint& point, ConvPass pass,
                         const std::string& strategy) {
  const ConvCell* cell = index.find(point.shape, pass, strategy);
  return cell != nullptr && cell->is_measured() ? cell : nullptr;
}

std::string point_name(const ConvSeries& series, const ConvPoint& point) {
  return series.is_sweep ? fmt::format("{}", *point.at) : point.label;
}

struct StrategyMetric {
  std::string_view title;
  Quantity quantity;
  std::optional<double> (*of)(const ConvCell& cell);  ///< nothing: nobody knows
};

template <class Number>
std::optional<double> most_of_kernels(const ConvCell& cell, Number KernelFacts::*number) {
  if (cell.kernels.empty()) return std::nullopt;  // a library does not say
  double most = 0;
  for (const KernelFacts& kernel : cell.kernels)
    most = std::max(most, static_cast<double>(kernel.*number));
  return most;
}

const StrategyMetric strategy_metrics[] = {
    {"registers per thread, the most of its kernels", Quantity::number,
     [](const ConvCell& cell) {
       return most_of_kernels(cell, &KernelFacts::registers_per_thread);
     }},
    {"shared memory per block, the most of its kernels", Quantity::capacity,
     [](const ConvCell& cell) {
       return most_of_kernels(cell, &KernelFacts::shared_bytes_per_block);
     }},
    {"rate on the direct count", Quantity::flop_per_s,
     [](const ConvCell& cell) -> std::optional<double> {
       return static_cast<double>(direct_flop(cell.shape)) / cell.time_s();
     }},
    {"achieved occupancy", Quantity::share,
     [](const ConvCell& cell) { return mean_efficiency(cell, &ConvEfficiency::occupancy); }},
    {"warp execution efficiency", Quantity::share,
     [](const ConvCell& cell) { return mean_efficiency(cell, &ConvEfficiency::warp_execution); }},
    {"global load efficiency", Quantity::share,
     [](const ConvCell& cell) { return mean_efficiency(cell, &ConvEfficiency::global_load); }},
    {"global store efficiency", Quantity::share,
     [](const ConvCell& cell) { return mean_efficiency(cell, &ConvEfficiency::global_store); }},
    {"shared memory efficiency", Quantity::share,
     [](const ConvCell& cell) { return mean_efficiency(cell, &ConvEfficiency::shared); }},
    {"scratch memory", Quantity::capacity,
     [](const ConvCell& cell) -> std::optional<double> {
       return static_cast<double>(cell.scratch_bytes);
     }},
};

/// The cells of the point and pass that most strategies were measured at: only there can they be
/// compared. Of equals the first.
std::vector<const ConvCell*> widest_point(const ConvResults& results) {
  const ConvIndex index(results);
  std::vector<const ConvCell*> widest;
  for (const ConvSeries& series : results.series) {
    for (const ConvPass pass : results.passes) {
      for (const ConvPoint& point : series.points) {
        std::vector<const ConvCell*> cells;
        for (const ConvStrategyName& strategy : results.strategies) {
          if (const ConvCell* cell = measured(index, point, pass, strategy.name))
            cells.push_back(cell);
        }
        if (cells.size() > widest.size()) widest = std::move(cells);
      }
    }
  }
  return widest;
}

}  // namespace

ChartGrid conv_figure(const ConvResults& results, PlotKind kind) {
  ChartGrid grid{.title = std::string(title_of(kind)),
                 .subtitle = device_text(results),
                 .panels = {},
                 .columns = 2,
                 .width = 1000,
                 .plot_height = 190};
  for (ConvPicture& picture : conv_pictures(results)) {
    if (!picture.name.ends_with(ending_of(kind))) continue;
    // "k-forward-roles": what is swept, and the pass.
    std::string where = picture.name.substr(0, picture.name.size() - ending_of(kind).size());
    if (const std::size_t dash = where.rfind('-'); dash != where.npos) where.replace(dash, 1, ", ");
    for (Chart& panel : picture.grid.panels) {
      panel.title = panel.title.empty() ? where : fmt::format("{}, {}", panel.title, where);
      grid.panels.push_back(std::move(panel));
    }
  }
  check_panels(grid, kind == PlotKind::conv_roles ? "the roles of its kernels" : "its time");
  if (grid.panels.size() == 1) {
    grid.columns = 1;
    grid.width = 800;
    grid.plot_height = 320;
  }
  return grid;
}

ChartGrid conv_metric_figure(const ConvResults& results) {
  const std::vector<const ConvCell*> cells = widest_point(results);
  ChartGrid grid{.title = "Metrics of convolution strategies",
                 .subtitle = device_text(results),
                 .panels = {},
                 .columns = 2,
                 .width = 1000,
                 .plot_height = 150};
  for (const StrategyMetric& metric : strategy_metrics) {
    Chart panel{
        .y = {.title = std::string(metric.title), .quantity = metric.quantity, .from_zero = true}};
    chart::Bars bars;
    for (const ConvCell* cell : cells) {
      const std::optional<double> value = metric.of(*cell);
      if (!value) continue;
      panel.x.categories.push_back(cell->strategy);
      bars.values.push_back(*value);
    }
    const bool has_any =
        std::any_of(bars.values.begin(), bars.values.end(), [](double v) { return v > 0; });
    if (!has_any) continue;
    panel.bars.push_back(std::move(bars));
    grid.panels.push_back(std::move(panel));
  }
  if (!cells.empty())
    grid.subtitle +=
        fmt::format("; {}, {}", to_text(cells.front()->shape), name_of(cells.front()->pass));
  check_panels(grid, "a time");
  return grid;
}

ChartGrid transfer_figure(const ConvResults& results) {
  const ConvIndex index(results);
  ChartGrid grid{.title = "Share of time in copies from the host",
                 .subtitle = fmt::format("{}; pageable: copied while nothing runs; pinned: what is "
                                         "longer than the run before",
                                         device_text(results)),
                 .panels = {},
                 .columns = 2,
                 .width = 1000,
                 .plot_height = 150};
  for (const ConvSeries& series : results.series) {
    // The first strategy of the results that was copied for: the input is the same for all.
    for (const ConvStrategyName& strategy : results.strategies) {
      Chart panel{.title = fmt::format("{}, {}", series.name, strategy.name),
                  .y = {.quantity = Quantity::share, .from_zero = true}};
      chart::Bars pageable{"pageable memory", {}, 1};
      chart::Bars pinned{"page-locked memory", {}, 0};
      for (const ConvPoint& point : series.points) {
        const ConvCell* cell = measured(index, point, ConvPass::forward, strategy.name);
        const auto shares = cell == nullptr ? std::nullopt : transfer_shares(*cell);
        if (!shares) continue;
        panel.x.categories.push_back(point_name(series, point));
        pageable.values.push_back(shares->pageable);
        pinned.values.push_back(shares->pinned);
      }
      if (panel.x.categories.empty()) continue;
      panel.bars = {std::move(pageable), std::move(pinned)};
      grid.panels.push_back(std::move(panel));
      break;
    }
  }
  check_panels(grid, "copies from the host (a GPU, strata conv --device cuda)");
  return grid;
}

}  // namespace strata
