// SPDX-License-Identifier: Apache-2.0
#include "strata/report/chart/palette.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/reproduce/convolution.hpp"
#include "strata/reproduce/convolution_claims.hpp"
#include "strata/reproduce/csv_rows.hpp"
#include "strata/reproduce/printed_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace strata {
namespace {

using chart::Chart;
using chart::Quantity;

constexpr chart::Marker contender_markers[] = {chart::Marker::circle,   chart::Marker::square,
                                               chart::Marker::triangle, chart::Marker::diamond,
                                               chart::Marker::inverted, chart::Marker::cross};

std::string subtitle_of(const ConvResults& results) {
  std::string passes;
  for (const ConvPass pass : results.passes)
    passes += fmt::format("{}{}", passes.empty() ? "" : " + ", name_of(pass));
  return fmt::format("{}, {}, {}", results.device, name_of(results.dtype), passes);
}

/// Axes by their letter in the study, and what it calls them.
constexpr std::pair<std::string_view, std::string_view> conv_axes[] = {{"b", "mini-batch"},
                                                                       {"i", "input size"},
                                                                       {"f", "filters"},
                                                                       {"k", "kernel size"},
                                                                       {"s", "stride"}};
std::string_view name_of_axis(std::string_view series) {
  for (const auto& [axis, name] : conv_axes)
    if (axis == series) return name;
  return series;
}
/// "c" of figures 3c and 5c; empty: the study does not sweep it.
std::string letter_of(const ConvSeries& series) {
  for (std::size_t i = 0; i < std::size(conv_axes); ++i)
    if (conv_axes[i].first == series.name) return std::string(1, static_cast<char>('a' + i));
  return {};
}

/// A line per contender over the points of a series.
template <class ValueOf>
Chart contender_lines(const ConvStudy& study, const ConvSeries& series, const ValueOf& value_of) {
  Chart chart;
  constexpr std::size_t few = 6;  // strides, between which an axis would write other numbers
  const bool has_names = !series.is_sweep || series.points.size() < few;
  chart.x.title = series.is_sweep ? std::string(name_of_axis(series.name)) : "";
  std::vector<std::string> names;
  for (const ConvContender& who : study.contenders()) names.push_back(who.name);
  const std::vector<chart::Color> colors = chart::colors_of_kinds(names);
  for (std::size_t i = 0; i < study.contenders().size(); ++i) {
    const ConvContender& who = study.contenders()[i];
    chart::Series line{.name = who.name,
                       .color = colors[i],
                       .stroke = !series.is_sweep ? chart::Stroke::none
                                 : who.is_vendor  ? chart::Stroke::dashed
                                                  : chart::Stroke::solid,
                       .marker = contender_markers[i % std::size(contender_markers)],
                       .is_filled = !who.is_vendor};
    for (std::size_t k = 0; k < series.points.size(); ++k) {
      const ConvPoint& point = series.points[k];
      const auto trained = refusal_of(point.shape) ? std::nullopt : study.trained(point, who);
      if (!trained) continue;
      const double x = has_names ? static_cast<double>(k) : static_cast<double>(*point.at);
      line.points.push_back({x, value_of(*trained), ""});
    }
    if (!line.points.empty()) chart.series.push_back(std::move(line));
  }
  if (has_names)
    for (const ConvPoint& point : series.points) chart.x.categories.push_back(point.label);
  return chart;
}

/// Figures 3 and 5: time and memory of a layer in training.
void add_training_figures(const ConvStudy& study, std::vector<Figure>& figures) {
  for (const ConvSeries& series : study.results().series) {
    CsvRows rows("series,point,strategy,time_s,peak_bytes,tensor_bytes");
    for (const ConvPoint& point : series.points) {
      if (refusal_of(point.shape)) continue;
      for (const ConvContender& who : study.contenders()) {
        if (const auto trained = study.trained(point, who))
          rows.add(series.name, point.label, who.name, trained->time_s(), trained->peak_bytes(),
                   trained->tensor_bytes());
      }
    }
    const std::string csv = std::move(rows).take();
    Chart time =
        contender_lines(study, series, [](const ConvTrained& each) { return each.time_s(); });
    if (time.series.empty()) continue;
    time.y = {
        .title = "time", .quantity = Quantity::seconds, .scale = chart::ScaleKind::logarithmic};
    Chart memory = contender_lines(study, series, [](const ConvTrained& each) {
      return static_cast<double>(each.peak_bytes());
    });
    memory.y = {
        .title = "the most memory of a pass", .quantity = Quantity::capacity, .from_zero = true};
    const auto add = [&](std::string_view what, std::string_view title, Chart chart) {
      figures.push_back({.name = fmt::format("convolution-{}-training-{}", series.name, what),
                         .csv = csv,
                         .grid = {.title = std::string(title),
                                  .subtitle = subtitle_of(study.results()),
                                  .panels = {std::move(chart)},
                                  .columns = 1,
                                  .plot_height = 420}});
    };
    const std::string letter = letter_of(series);
    const std::string_view along = name_of_axis(series.name);
    add("time", fmt::format("Figure 3{}: time of a layer in training, {}", letter, along),
        std::move(time));
    add("memory", fmt::format("Figure 5{}: memory of a layer in training, {}", letter, along),
        std::move(memory));
  }
}

/// Figure 7: the copy of the input in an iteration of each layer.
void add_copy_figure(const ConvStudy& study, std::vector<Figure>& figures) {
  const auto points = study.points({"layers"});
  CsvRows rows("layer,strategy,pageable_share,pinned_share");
  Chart pageable{.title = "from ordinary memory, while nothing runs",
                 .y = {.title = "share of time", .quantity = Quantity::share, .from_zero = true}};
  Chart pinned{.title = "page-locked and asynchronous",
               .y = {.title = "share of time", .quantity = Quantity::share, .from_zero = true}};
  for (const ConvPoint* point : points) pageable.x.categories.push_back(point->label);
  pinned.x.categories = pageable.x.categories;
  pageable.lines.push_back({.at = 0.6, .label = "printed: once more than 60 %"});
  pinned.lines.push_back({.at = 0.15, .label = "printed: about 0 to 15 %"});
  for (std::size_t i = 0; i < study.contenders().size(); ++i) {
    const ConvContender& who = study.contenders()[i];
    chart::Bars slow{who.name, {}, i}, fast{who.name, {}, i};
    bool has_any = false;
    for (const ConvPoint* point : points) {
      const auto trained = study.trained(*point, who);
      const auto shares = trained ? copy_shares(*trained) : std::nullopt;
      slow.values.push_back(shares ? shares->pageable : 0);
      fast.values.push_back(shares ? shares->pinned : 0);
      has_any = has_any || shares;
      if (shares) rows.add(point->label, who.name, shares->pageable, shares->pinned);
    }
    if (!has_any) continue;
    pageable.bars.push_back(std::move(slow));
    pinned.bars.push_back(std::move(fast));
  }
  if (pageable.bars.empty()) return;
  figures.push_back({.name = "convolution-copies",
                     .csv = std::move(rows).take(),
                     .grid = {.title = "Figure 7: copies of the input from the host",
                              .subtitle = subtitle_of(study.results()),
                              .panels = {std::move(pageable), std::move(pinned)},
                              .columns = 1,
                              .plot_height = 200}});
}

/// Figure 2: where the time of whole networks goes, the printed share of convolution as a mark.
void add_network_figure(std::span<const HotLayers> networks, std::vector<Figure>& figures) {
  if (networks.empty()) return;
  constexpr std::array<std::string_view, 6> shown = {"convolution", "linear",     "max_pool",
                                                     "relu",        "batch_norm", "update"};
  constexpr chart::Color grey = 6;
  CsvRows rows("network,batch,operator,share,printed_convolution_share");
  Chart chart{.y = {.title = "share of training time",
                    .quantity = Quantity::share,
                    .most = 1.0,
                    .from_zero = true}};
  chart.bar_layout = chart::BarLayout::stacked;
  std::vector<std::vector<double>> shares(shown.size() + 1,
                                          std::vector<double>(networks.size(), 0));
  chart::Series printed = printed_series();
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const HotLayers& network = networks[i];
    chart.x.categories.push_back(fmt::format("{}, batch {}", network.title, network.batch));
    double printed_share = 0;
    for (const HotNetwork& each : hot_networks())
      if (each.network == network.network) printed_share = each.convolution_share;
    printed.points.push_back({.x = static_cast<double>(i),
                              .y = printed_share,
                              .label = {},
                              .hint = fmt::format("{}, convolution, printed", network.title)});
    for (const auto& [op, share] : network.types) {
      const auto at = std::find(shown.begin(), shown.end(), op) - shown.begin();
      shares[static_cast<std::size_t>(at)][i] += share;
      rows.add(network.network, network.batch, op, share, printed_share);
    }
  }
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const bool is_rest = k == shown.size();
    chart.bars.push_back(
        {std::string(is_rest ? "other" : shown[k]), shares[k], is_rest ? grey : k});
  }
  chart.series.push_back(std::move(printed));
  figures.push_back({.name = "convolution-hot-layers",
                     .csv = std::move(rows).take(),
                     .grid = {.title = "Figure 2: where the time of training goes",
                              .subtitle = networks.front().device,
                              .panels = {std::move(chart)},
                              .columns = 1,
                              .plot_height = 320}});
}

/// Figure 4 for the library: its kernels in the convolutions of networks, by pass.
void add_library_roles_figure(std::span<const HotLayers> networks, std::vector<Figure>& figures) {
  CsvRows rows("network,pass,role,time_s");
  std::vector<Chart> panels;
  for (const HotLayers& network : networks) {
    Chart panel{.title = fmt::format("{}, batch {}", network.title, network.batch),
                .y = {.title = "time", .quantity = Quantity::seconds, .from_zero = true}};
    panel.bar_layout = chart::BarLayout::stacked;
    std::map<std::string, std::vector<double>> by_role;
    for (const ConvPass pass : all_conv_passes) {
      const auto roles = network.roles.find(std::string(name_of(pass)));
      if (roles == network.roles.end()) continue;
      panel.x.categories.push_back(roles->first);
      for (const auto& [role, seconds] : roles->second) {
        by_role[role].resize(panel.x.categories.size());
        by_role[role].back() = seconds;
        rows.add(network.network, roles->first, role, seconds);
      }
    }
    for (auto& [role, values] : by_role) values.resize(panel.x.categories.size());
    for (std::size_t role = 0; role <= static_cast<std::size_t>(KernelRole::other); ++role) {
      const std::string name(name_of(static_cast<KernelRole>(role)));
      const auto found = by_role.find(name);
      if (found != by_role.end())
        panel.bars.push_back({name, found->second, role_color(static_cast<KernelRole>(role))});
    }
    if (!panel.bars.empty()) panels.push_back(std::move(panel));
  }
  if (panels.empty()) return;
  figures.push_back({.name = "convolution-library-roles",
                     .csv = std::move(rows).take(),
                     .grid = {.title = "Figure 4: the library's kernels for convolutions, by role",
                              .subtitle = networks.front().device,
                              .panels = std::move(panels),
                              .columns = 2,
                              .plot_height = 160}});
}

}  // namespace

std::vector<Figure> convolution_figures(const ConvResults& results,
                                        std::span<const HotLayers> networks) {
  const ConvStudy study(results);
  std::vector<Figure> figures;
  add_network_figure(networks, figures);
  add_training_figures(study, figures);
  for (const ConvSeries& series : results.series) {
    ConvResults one = results;
    one.series = {series};
    if (series.is_sweep)
      std::erase_if(one.passes, [](ConvPass pass) { return pass != ConvPass::forward; });
    const std::string csv = to_csv(one);
    for (ConvPicture& picture : conv_pictures(one)) {
      // Time and memory of the gradients are in the figures of training.
      const bool is_gradient = picture.name.find("backward") != std::string::npos;
      if (is_gradient && !picture.name.ends_with("-roles")) continue;
      figures.push_back({.name = fmt::format("convolution-{}", picture.name),
                         .csv = csv,
                         .grid = std::move(picture.grid)});
    }
  }
  add_library_roles_figure(networks, figures);
  add_copy_figure(study, figures);
  return figures;
}

}  // namespace strata
