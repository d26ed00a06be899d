// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/layerwise_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace strata {
namespace {

/// One view: a number of every layer, at every batch.
struct LayerwiseView {
  std::string_view name;  ///< of the file
  std::string_view title;
  std::string_view drawn_as;  ///< in the study; empty: it is not
  chart::Quantity quantity = chart::Quantity::number;
  bool is_relative = false;  ///< to the first convolution, forward, at the smallest batch
  std::function<std::optional<double>(const LayerwiseCase&, const LayerSum&)> number;
};

std::function<std::optional<double>(const LayerwiseCase&, const LayerSum&)> column(
    std::string_view key) {
  return
      [key](const LayerwiseCase& one, const LayerSum& layer) { return counted(one, layer, key); };
}

std::function<std::optional<double>(const LayerwiseCase&, const LayerSum&)> rate(
    std::string_view key) {
  return [key](const LayerwiseCase& one, const LayerSum& layer) -> std::optional<double> {
    const auto bytes = counted(one, layer, key);
    if (!bytes || !(layer.time_s > 0)) return std::nullopt;
    return *bytes / layer.time_s;
  };
}

std::vector<LayerwiseView> views() {
  using chart::Quantity;
  return {
      {"time", "Time", "figure 2a", Quantity::number, true,
       [](const LayerwiseCase&, const LayerSum& layer) {
         return std::optional<double>(layer.time_s);
       }},
      {"instructions", "Instructions", "figure 2b", Quantity::number, true, column("instructions")},
      {"load-store", "Loads and stores among instructions", "figure 2c", Quantity::share, false,
       column("load_store_share")},
      {"stalls", "Warps that wait × cycles", "figure 3", Quantity::number, true,
       [](const LayerwiseCase&, const LayerSum& layer) { return layer.waiting; }},
      {"data-stall-time", "Warps that wait for data × cycles", "figure 3", Quantity::number, true,
       [](const LayerwiseCase&, const LayerSum& layer) { return layer.data_waiting; }},
      {"data-stalls", "Waiting for data, of all waiting", "figure 4", Quantity::share, false,
       column("stall_data_access")},
      {"l1-hits", "Hits in L1", "figures 5 to 10", Quantity::share, false, column("l1_hit_rate")},
      {"l1-loads", "Loads through L1", "figures 5 to 10", Quantity::bytes_per_s, false,
       rate("l1_load_bytes")},
      {"l2-to-l1", "From L2 to L1", "", Quantity::bytes_per_s, false, rate("crossbar_read_bytes")},
      {"l1-to-l2", "From L1 to L2", "", Quantity::bytes_per_s, false, rate("crossbar_write_bytes")},
      {"l2-read-hits", "Reads that L2 held", "figures 5 to 10", Quantity::share, false,
       column("l2_read_hit_rate")},
      {"l2-write-hits", "Writes that L2 held", "figures 5 to 10", Quantity::share, false,
       column("l2_write_hit_rate")},
      {"l2-reads", "Read from L2", "figures 5 to 10", Quantity::bytes_per_s, false,
       rate("l2_read_bytes")},
      {"l2-writes", "Written to L2", "figures 5 to 10", Quantity::bytes_per_s, false,
       rate("l2_write_bytes")},
      {"dram-reads", "Read from DRAM", "figures 5 to 10", Quantity::bytes_per_s, false,
       rate("dram_read_bytes")},
      {"dram-writes", "Written to DRAM", "figures 5 to 10", Quantity::bytes_per_s, false,
       rate("dram_write_bytes")},
  };
}

/// Of convolutions, fully connected layers and whatever takes time beside them.
std::vector<std::string> layers_shown(const LayerwiseCase& one) {
  std::vector<std::string> names;
  for (const LayerSum& layer : layers_of(one)) {
    if (std::find(names.begin(), names.end(), layer.layer) == names.end() && layer.time_s > 0)
      names.push_back(layer.layer);
  }
  return names;
}

/// Both names where the study calls a layer something else: "CONV1_1 (features.0)".
std::vector<std::string> shown_names(const LayerwiseCase& one,
                                     const std::vector<std::string>& layers) {
  const std::map<std::string, std::string> paper = paper_names(one);
  std::vector<std::string> names;
  for (const std::string& layer : layers) {
    const auto known = paper.find(layer);
    names.push_back(known == paper.end() ? layer : fmt::format("{} ({})", known->second, layer));
  }
  return names;
}

/// "VGG-16, NVIDIA H200", and whose convolutions where they are not the vendor's.
std::string of_what(const LayerwiseStudy& study, const LayerwiseCase& one) {
  return fmt::format("{}{}, {}", one.profile.subject.title,
                     one.is_own() ? " (Strata's convolutions)" : "", study.device());
}

/// What the numbers of a view are divided by.
std::optional<double> base_of(const LayerwiseView& view, const LayerwiseCase& smallest) {
  if (!view.is_relative) return 1.0;
  for (const LayerSum& layer : layers_of(smallest)) {
    if (layer.op != "convolution" || layer.is_backward) continue;
    const auto number = view.number(smallest, layer);
    if (!number || !(*number > 0)) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

std::optional<Figure> figure_of(const LayerwiseView& view, const LayerwiseStudy& study,
                                const std::string& network) {
  const std::vector<const LayerwiseCase*> cases = study.of(network);
  const std::optional<double> base = base_of(view, *cases.front());
  if (!base) return std::nullopt;
  const std::vector<std::string> names = layers_shown(*cases.front());
  CsvRows rows(fmt::format("network,batch,layer,paper_layer,op,direction,value{}",
                           view.is_relative ? ",relative_to_first_convolution" : ""));
  Figure figure{
      .name = fmt::format("layerwise-{}-{}", network, view.name),
      .csv = {},
      .grid = {
          .title = fmt::format("{} by layer{}, {}", view.title,
                               view.drawn_as.empty() ? "" : fmt::format(" ({})", view.drawn_as),
                               of_what(study, *cases.front())),
          .subtitle = view.is_relative ? fmt::format("Relative to the first convolution, forward, "
                                                     "at batch {}.",
                                                     cases.front()->batch)
                                       : "",
          .panels = {},
          .columns = 1,
          .plot_height = 240}};
  bool has_numbers = false;
  for (const bool is_backward : {false, true}) {
    chart::Chart chart{.title = is_backward ? "backward" : "forward",
                       .y = {.title = "", .quantity = view.quantity, .from_zero = true}};
    if (view.quantity == chart::Quantity::share) chart.y.most = 1;
    chart.x.categories = shown_names(*cases.front(), names);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      chart::Bars bars{.name = fmt::format("batch {}", cases[i]->batch),
                       .values = std::vector<double>(names.size(), 0),
                       .color = i};
      for (const LayerSum& layer : layers_of(*cases[i])) {
        if (layer.is_backward != is_backward) continue;
        const auto number = view.number(*cases[i], layer);
        if (!number) continue;
        has_numbers = true;
        const auto at = std::find(names.begin(), names.end(), layer.layer);
        if (at != names.end())
          bars.values[static_cast<std::size_t>(at - names.begin())] =
              view.quantity == chart::Quantity::share ? std::min(1.0, *number) : *number / *base;
        const std::string_view direction = is_backward ? "backward" : "forward";
        if (view.is_relative) {
          rows.add(network, cases[i]->batch, layer.layer, layer.paper_name, layer.op, direction,
                   *number, *number / *base);
        } else {
          rows.add(network, cases[i]->batch, layer.layer, layer.paper_name, layer.op, direction,
                   *number);
        }
      }
      chart.bars.push_back(std::move(bars));
    }
    figure.grid.panels.push_back(std::move(chart));
  }
  if (!has_numbers) return std::nullopt;
  figure.csv = std::move(rows).take();
  return figure;
}

/// Share of the time by type of layer, over the batch.
Figure types_figure(const LayerwiseStudy& study, const std::string& network) {
  const std::vector<const LayerwiseCase*> cases = study.of(network);
  std::vector<std::string> types;
  CsvRows rows("network,batch,op,time_s,share");
  chart::Chart chart{.title = "",
                     .y = {.title = "share of the time", .quantity = chart::Quantity::share}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    chart.x.categories.push_back(fmt::format("batch {}", cases[i]->batch));
    const Totals all = total_of(cases[i]->profile);
    for (const ProfileGroup& group : grouped(cases[i]->profile, &ProfileRow::op)) {
      const double share = all.time_s > 0 ? group.totals.time_s / all.time_s : 0;
      rows.add(network, cases[i]->batch, group.name, group.totals.time_s, share);
      auto at = std::find(types.begin(), types.end(), group.name);
      if (at == types.end()) {
        types.push_back(group.name);
        chart.bars.push_back({.name = group.name, .values = std::vector<double>(cases.size(), 0)});
        at = types.end() - 1;
      }
      chart.bars[static_cast<std::size_t>(at - types.begin())].values[i] = share;
    }
  }
  const std::vector<chart::Color> colors = chart::colors_of_kinds(types);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) chart.bars[i].color = colors[i];
  chart.bar_layout = chart::BarLayout::stacked;
  return {
      .name = fmt::format("layerwise-{}-types", network),
      .csv = std::move(rows).take(),
      .grid = {.title = fmt::format("Time by type of layer, {}", of_what(study, *cases.front())),
               .subtitle = "",
               .panels = {std::move(chart)},
               .columns = 1,
               .plot_height = 260}};
}

/// Backward over forward of each layer.
Figure ratio_figure(const LayerwiseStudy& study, const std::string& network) {
  const std::vector<const LayerwiseCase*> cases = study.of(network);
  const std::vector<std::string> names = layers_shown(*cases.front());
  CsvRows rows("network,batch,layer,forward_time_s,backward_time_s,ratio");
  chart::Chart chart{.title = "", .y = {.title = "backward / forward", .from_zero = true}};
  chart.x.categories = shown_names(*cases.front(), names);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    chart::Bars bars{.name = fmt::format("batch {}", cases[i]->batch),
                     .values = std::vector<double>(names.size(), 0),
                     .color = i};
    const std::vector<LayerSum> layers = layers_of(*cases[i]);
    for (std::size_t k = 0; k < names.size(); ++k) {
      double forward_s = 0, backward_s = 0;
      for (const LayerSum& layer : layers) {
        if (layer.layer == names[k]) (layer.is_backward ? backward_s : forward_s) += layer.time_s;
      }
      if (!(forward_s > 0)) continue;
      bars.values[k] = backward_s / forward_s;
      rows.add(network, cases[i]->batch, names[k], forward_s, backward_s, bars.values[k]);
    }
    chart.bars.push_back(std::move(bars));
  }
  return {.name = fmt::format("layerwise-{}-ratio", network),
          .csv = std::move(rows).take(),
          .grid = {.title = fmt::format("Backward over forward by layer (figure 2d, 2e), {}",
                                        of_what(study, *cases.front())),
                   .subtitle = "",
                   .panels = {std::move(chart)},
                   .columns = 1,
                   .plot_height = 260}};
}

}  // namespace

std::vector<Figure> layerwise_figures(const LayerwiseStudy& study) {
  std::vector<Figure> figures;
  for (const std::string& network : study.networks()) {
    figures.push_back(types_figure(study, network));
    figures.push_back(ratio_figure(study, network));
    for (const LayerwiseView& view : views()) {
      if (auto figure = figure_of(view, study, network)) figures.push_back(std::move(*figure));
    }
  }
  return figures;
}

}  // namespace strata
