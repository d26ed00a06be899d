// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/figures.hpp"

#include "strata/base/units.hpp"
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/figure_parts.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace strata {
namespace {

using chart::Axis;
using chart::BarLayout;
using chart::Bars;
using chart::Chart;
using chart::Color;
using chart::Direction;
using chart::Marker;
using chart::Quantity;
using chart::ScaleKind;
using chart::Series;
using chart::Stroke;
using Results = std::vector<NetworkResults>;

// --- figure 5.1 ----------------------------------------------------------------------------------

double attainable(const LayerPoint& layer) {
  return std::min(layer.reuse_frequency() * thesis_bytes_per_s, thesis_flop_per_s);
}

Chart roofline_panel(const NetworkResults& network) {
  const double ridge = thesis_flop_per_s / thesis_bytes_per_s;
  Chart panel{.x = {.title = "reuse frequency (operations per byte)",
                    .scale = ScaleKind::logarithmic,
                    .least = 0.02,
                    .most = 500.0},
              .y = {.title = "attainable rate",
                    .quantity = Quantity::flop_per_s,
                    .scale = ScaleKind::logarithmic,
                    .least = 1e10,
                    .most = 4e13}};
  panel.lines = {{.direction = Direction::diagonal,
                  .at = thesis_bytes_per_s,
                  .to = ridge,
                  .label = "616 GB/s",
                  .stroke = Stroke::solid},
                 {.direction = Direction::horizontal,
                  .at = thesis_flop_per_s,
                  .from = ridge,
                  .label = "13.45 TFLOP/s",
                  .stroke = Stroke::solid}};
  panel.series = {
      {.name = "type I: convolutions, products", .color = 0, .marker = Marker::circle},
      {.name = "type II: point-wise, normalisation", .color = 1, .marker = Marker::triangle},
      {.name = "other", .color = 2, .marker = Marker::diamond}};
  panel.lines.push_back({.direction = Direction::vertical,
                         .at = thesis_divider(network.layers),
                         .label = "type II | type I"});
  // A mark per layer; many layers of a network are alike, so that a stack of marks has its count.
  std::map<std::pair<std::size_t, double>, std::size_t> counts;
  for (const LayerPoint& layer : network.layers)
    ++counts[{static_cast<std::size_t>(layer.layer_class), layer.reuse_frequency()}];
  for (const LayerPoint& layer : network.layers) {
    const auto kind = static_cast<std::size_t>(layer.layer_class);
    std::size_t& count = counts[{kind, layer.reuse_frequency()}];
    panel.series[kind].points.push_back({layer.reuse_frequency(), attainable(layer),
                                         count > 1 ? fmt::format("×{}", count) : std::string(),
                                         layer.layer});
    count = 0;  // the first mark of a stack has it
  }
  for (Series& series : panel.series) {
    series.stroke = Stroke::none;
    series.is_filled = false;
  }
  return panel;
}

}  // namespace

double thesis_divider(const std::vector<LayerPoint>& layers) {
  std::vector<std::pair<double, bool>> sorted;  // whether it is of type I
  std::size_t misplaced = 0;
  for (const LayerPoint& layer : layers) {
    if (layer.layer_class == LayerClass::other) continue;
    const bool is_first = layer.layer_class == LayerClass::dense;
    sorted.emplace_back(layer.reuse_frequency(), is_first);
    misplaced += is_first ? 0 : 1;  // while the divider is below all
  }
  std::sort(sorted.begin(), sorted.end());
  double best = sorted.empty() ? 1 : sorted.front().first;
  std::size_t fewest = misplaced;
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    misplaced = sorted[i].second ? misplaced + 1 : misplaced - 1;
    if (misplaced >= fewest || sorted[i].first == sorted[i + 1].first) continue;
    fewest = misplaced;
    best = std::sqrt(sorted[i].first * sorted[i + 1].first);
  }
  return best;
}

namespace {

/// The thesis calls dense layers type I and pointwise layers type II.
std::string_view thesis_name_of(LayerClass layer_class) {
  switch (layer_class) {
    case LayerClass::dense: return "type I";
    case LayerClass::pointwise: return "type II";
    case LayerClass::other: break;
  }
  return name_of(layer_class);
}

Figure roofline_figure(const Results& results) {
  CsvRows rows(
      "network,layer,class,operations,bytes,reuse_frequency_per_byte,attainable_flop_per_s");
  for (const NetworkResults& network : results) {
    for (const LayerPoint& layer : network.layers) {
      rows.add(network.network.model, layer.layer, thesis_name_of(layer.layer_class),
               layer.operations, layer.bytes, layer.reuse_frequency(), attainable(layer));
    }
  }
  return {.name = "figure-5.1-roofline",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.1: forward layers under the roofline",
                   .subtitle = fmt::format(
                       "Attainable rate over reuse frequency, {}; a multiply-add is one operation",
                       base_rates),
                   .panels = panels_of(results, roofline_panel)}};
}

// --- figures 5.2, 5.3, 5.4: over capacity --------------------------------------------------------

Chart traffic_panel(const NetworkResults& network) {
  const auto& rows = network.capacities;
  Chart panel{.x = capacity_axis(),
              .y = {.title = "off-chip traffic", .quantity = Quantity::bytes, .from_zero = true}};
  panel.series = {
      curve("in", rows, [](const auto& row) { return static_cast<double>(row.base.in_bytes); }),
      in_color(curve("out", rows,
                     [](const auto& row) { return static_cast<double>(row.base.out_bytes); }),
               1, Stroke::dashed)};
  panel.lines = {{.direction = Direction::vertical,
                  .at = static_cast<double>(network.whole_bytes),
                  .label = fmt::format("every layer fits: {}",
                                       format_capacity(static_cast<double>(network.whole_bytes))),
                  .stroke = Stroke::dotted}};
  return panel;
}

Figure traffic_figure(const Results& results) {
  CsvRows rows("network,capacity_bytes,flop_per_s,bytes_per_s,traffic_in_bytes,traffic_out_bytes");
  for (const NetworkResults& network : results) {
    for (const CapacityPoint& row : network.capacities) {
      rows.add(network.network.model, row.capacity_mib << 20, thesis_flop_per_s, thesis_bytes_per_s,
               row.base.in_bytes, row.base.out_bytes);
    }
  }
  return {.name = "figure-5.2-traffic",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.2: off-chip traffic of one training iteration over capacity",
                   .subtitle = "Loaded into the on-chip memory, and written back from it",
                   .panels = panels_of(results, traffic_panel)}};
}

Chart time_panel(const NetworkResults& network) {
  const auto& rows = network.capacities;
  Chart panel{
      .x = capacity_axis(),
      .y = {.title = "time of an iteration", .quantity = Quantity::seconds, .from_zero = true}};
  panel.series = {curve("13.45 TFLOP/s", rows, [](const auto& row) { return row.base.time_s; }),
                  in_color(curve("23.04 TFLOP/s", rows,
                                 [](const auto& row) { return row.faster_compute.time_s; }),
                           1, Stroke::dashed)};
  return panel;
}

double speed_up(const CapacityPoint& row) { return row.base.time_s / row.faster_compute.time_s; }

Chart speed_up_panel(const NetworkResults& network) {
  Chart panel{.title = fmt::format("{}: speed-up", network.network.title),
              .x = capacity_axis(),
              .y = {.title = "time at 13.45 / time at 23.04 TFLOP/s", .least = 1.0, .most = 1.8}};
  panel.series = {in_color(curve("speed-up", network.capacities, speed_up), 2)};
  panel.lines = {{.direction = Direction::horizontal,
                  .at = faster_flop_per_s / thesis_flop_per_s,
                  .label = "limit 1.71"}};
  return panel;
}

Figure time_figure(const Results& results) {
  CsvRows rows("network,capacity_bytes,bytes_per_s,flop_per_s,time_s,speed_up");
  std::vector<Chart> panels;
  for (const NetworkResults& network : results) {
    for (const CapacityPoint& row : network.capacities) {
      rows.add(network.network.model, row.capacity_mib << 20, thesis_bytes_per_s, thesis_flop_per_s,
               row.base.time_s, 1.0);
      rows.add(network.network.model, row.capacity_mib << 20, thesis_bytes_per_s, faster_flop_per_s,
               row.faster_compute.time_s, speed_up(row));
    }
    panels.push_back(time_panel(network));
    panels.back().title = fmt::format("{}: time", network.network.title);
    panels.push_back(speed_up_panel(network));
  }
  return {.name = "figure-5.3-time",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.3: execution time and speed-up of a faster compute unit",
                   .subtitle = "616 GB/s, throughput 13.45 → 23.04 TFLOP/s",
                   .panels = std::move(panels),
                   .plot_height = 150}};
}

double average(const ThesisTotals& totals) { return totals.bytes() / totals.time_s; }

Chart bandwidth_panel(const NetworkResults& network) {
  const auto& rows = network.capacities;
  Chart panel{
      .x = capacity_axis(),
      .y = {.title = "average bandwidth", .quantity = Quantity::bytes_per_s, .from_zero = true}};
  panel.series = {curve("peak 616 GB/s", rows, [](const auto& row) { return average(row.base); }),
                  in_color(curve("peak 1555 GB/s", rows,
                                 [](const auto& row) { return average(row.faster_memory); }),
                           1, Stroke::dashed)};
  panel.lines = {{.direction = Direction::horizontal,
                  .at = thesis_bytes_per_s,
                  .label = "616 GB/s",
                  .color = Color{0},
                  .stroke = Stroke::dotted}};
  return panel;
}

Figure bandwidth_figure(const Results& results) {
  CsvRows rows(
      "network,capacity_bytes,flop_per_s,bytes_per_s,time_s,traffic_bytes,"
      "average_bandwidth_bytes_per_s");
  for (const NetworkResults& network : results) {
    for (const CapacityPoint& row : network.capacities) {
      for (const auto& [peak, totals] : {std::pair(thesis_bytes_per_s, row.base),
                                         std::pair(hbm_bytes_per_s, row.faster_memory)}) {
        rows.add(network.network.model, row.capacity_mib << 20, thesis_flop_per_s, peak,
                 totals.time_s, totals.in_bytes + totals.out_bytes, average(totals));
      }
    }
  }
  return {.name = "figure-5.4-bandwidth",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.4: average off-chip bandwidth over capacity",
                   .subtitle = "13.45 TFLOP/s, peak bandwidth 616 and 1555 GB/s",
                   .panels = panels_of(results, bandwidth_panel)}};
}

// --- figures 5.5 and 5.6 -------------------------------------------------------------------------

Chart break_down_panel(const NetworkResults& network) {
  Chart panel{.x = {.title = "on-chip capacity"},
              .y = {.title = "time of an iteration", .quantity = Quantity::seconds},
              .bar_layout = BarLayout::stacked};
  for (const BreakDown& row : network.break_downs) {
    panel.x.categories.push_back(fmt::format("{} MiB", row.capacity_mib));
  }
  for (std::size_t kind = 0; kind < std::size(layer_kinds); ++kind) {
    Bars bars{.name = std::string(layer_kinds[kind]), .color = kind};
    for (const BreakDown& row : network.break_downs) bars.values.push_back(row.kind_s[kind]);
    panel.bars.push_back(std::move(bars));
  }
  return panel;
}

Figure break_down_figure(const Results& results) {
  CsvRows rows("network,capacity_bytes,flop_per_s,bytes_per_s,layer_kind,time_s,share");
  for (const NetworkResults& network : results) {
    for (const BreakDown& row : network.break_downs) {
      for (std::size_t kind = 0; kind < row.kind_s.size(); ++kind) {
        rows.add(network.network.model, row.capacity_mib << 20, thesis_flop_per_s,
                 thesis_bytes_per_s, layer_kinds[kind], row.kind_s[kind],
                 row.kind_s[kind] / row.time_s);
      }
    }
  }
  return {.name = "figure-5.5-layer-types",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.5: execution time by type of layer",
                   .subtitle = fmt::format("{}; the first three are type I, the next six type II",
                                           base_rates),
                   .panels = panels_of(results, break_down_panel)}};
}

Chart batch_panel(const NetworkResults& network) {
  Chart panel{.x = {.title = "batch size"},
              .y = {.title = "samples per second", .from_zero = true}};
  for (const BatchPoint& row : network.batches) {
    const std::string batch = fmt::format("{}", row.batch);
    auto& names = panel.x.categories;
    auto place = std::find(names.begin(), names.end(), batch);
    if (place == names.end()) place = names.insert(names.end(), batch);
    const std::string capacity = fmt::format("{} MiB", row.capacity_mib);
    if (panel.series.empty() || panel.series.back().name != capacity) {
      const bool is_first = panel.series.empty();
      panel.series.push_back({.name = capacity,
                              .color = is_first ? Color{0} : Color{1},
                              .stroke = is_first ? Stroke::solid : Stroke::dashed,
                              .marker = is_first ? Marker::circle : Marker::square});
    }
    panel.series.back().points.push_back(
        {static_cast<double>(place - names.begin()), row.samples_per_s()});
  }
  return panel;
}

Figure batch_figure(const Results& results) {
  CsvRows rows("network,batch,capacity_bytes,flop_per_s,bytes_per_s,time_s,samples_per_s");
  for (const NetworkResults& network : results) {
    for (const BatchPoint& row : network.batches) {
      rows.add(network.network.model, row.batch, row.capacity_mib << 20, thesis_flop_per_s,
               thesis_bytes_per_s, row.time_s, row.samples_per_s());
    }
  }
  return {.name = "figure-5.6-batch",
          .csv = std::move(rows).take(),
          .grid = {.title = "Figure 5.6: training throughput over batch size",
                   .subtitle = fmt::format("{}, on-chip capacity 24 and 400 MiB", base_rates),
                   .panels = panels_of(results, batch_panel)}};
}

}  // namespace

std::vector<Figure> analytical_figures(const std::vector<NetworkResults>& results) {
  std::vector<Figure> figures = schedule_figures();
  for (Figure& gain : policy_figures(results)) figures.push_back(std::move(gain));
  for (Figure& own : std::vector<Figure>{roofline_figure(results), traffic_figure(results),
                                         time_figure(results), bandwidth_figure(results),
                                         break_down_figure(results), batch_figure(results)})
    figures.push_back(std::move(own));
  return figures;
}

}  // namespace strata
