// SPDX-License-Identifier: Apache-2.0
// Several numbers of layers side by side, one panel each.
#include "strata/base/error.hpp"
#include "strata/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace strata {
namespace {

using chart::Chart;
using chart::Quantity;

constexpr std::size_t most_layers = 24;

/// The layers of the first profile that take longest, in order: the categories of every panel.
std::vector<std::string> layers_shown(const Profile& profile) {
  std::vector<ProfileGroup> groups = grouped(profile, &ProfileRow::layer);
  std::vector<double> times;
  times.reserve(groups.size());
  for (const ProfileGroup& group : groups) times.push_back(group.totals.time_s);
  std::sort(times.begin(), times.end(), std::greater<>());
  const double least_s = times[std::min(times.size(), most_layers) - 1];
  std::vector<std::string> names;
  for (const ProfileGroup& group : groups) {
    if (group.totals.time_s >= least_s && names.size() < most_layers) names.push_back(group.name);
  }
  return names;
}

struct Metric {
  std::string_view title;
  Quantity quantity;
  bool needs_flop;
  bool needs_bytes;
  bool needs_own_time;  ///< the bytes of a predicted row move while other rows run
  double (*of)(const Totals& totals);
};

double per(double number, double of) { return of > 0 ? number / of : 0; }

constexpr Metric layer_metrics[] = {
    {"time", Quantity::seconds, false, false, false,
     [](const Totals& totals) { return totals.time_s; }},
    {"reached arithmetic", Quantity::flop_per_s, true, false, false,
     [](const Totals& totals) { return per(static_cast<double>(totals.flop), totals.time_s); }},
    {"reached bandwidth", Quantity::bytes_per_s, false, true, true,
     [](const Totals& totals) {
       return per(static_cast<double>(totals.traffic_bytes()), totals.time_s);
     }},
    {"FLOP per byte", Quantity::number, true, true, false,
     [](const Totals& totals) {
       return per(static_cast<double>(totals.flop), static_cast<double>(totals.traffic_bytes()));
     }},
};

chart::Bars bars_of(const PlottedProfile& plotted, const Metric& metric,
                    const std::vector<std::string>& layers, chart::Color color, bool is_named) {
  std::map<std::string, Totals> sums;
  for (const ProfileGroup& group : grouped(plotted.labelled.profile, &ProfileRow::layer))
    sums.emplace(group.name, group.totals);
  chart::Bars bars{is_named ? plotted.labelled.label : "", {}, color};
  for (const std::string& layer : layers) {
    const auto at = sums.find(layer);
    bars.values.push_back(at == sums.end() ? 0 : metric.of(at->second));
  }
  return bars;
}

}  // namespace

chart::ChartGrid metric_panels_figure(const std::vector<PlottedProfile>& profiles) {
  STRATA_CHECK(!profiles.empty(), "a figure needs a profile");
  const Profile& first = profiles.front().labelled.profile;
  for (const PlottedProfile& plotted : profiles) {
    if (!plotted.labelled.profile.columns.has_time)
      fail(ErrorKind::input, "{}: its rows have no time ('time_s'), which this figure shows",
           plotted.labelled.label);
  }
  if (first.rows.empty())
    fail(ErrorKind::input, "{}: no layer of it computes anything, so there is nothing to show",
         profiles.front().labelled.label);
  const std::vector<std::string> layers = layers_shown(first);
  chart::ChartGrid grid{
      .title = "Metrics by layer",
      .subtitle = fmt::format("{}, {}; the {} layers that take longest, in order",
                              first.subject.title, first.subject.machine_title, layers.size()),
      .panels = {},
      .columns = 1,
      .plot_height = 110};
  for (const Metric& metric : layer_metrics) {
    Chart panel{
        .y = {.title = std::string(metric.title), .quantity = metric.quantity, .from_zero = true}};
    panel.x.categories = layers;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      const ProfileColumns& columns = profiles[i].labelled.profile.columns;
      const bool is_predicted = profiles[i].labelled.profile.evidence == Evidence::predicted;
      if ((metric.needs_flop && !columns.has_flop) || (metric.needs_bytes && !columns.has_bytes) ||
          (metric.needs_own_time && is_predicted))
        continue;
      panel.bars.push_back(bars_of(profiles[i], metric, layers, i, profiles.size() > 1));
    }
    if (!panel.bars.empty()) grid.panels.push_back(std::move(panel));
  }
  for (std::size_t i = 0; i + 1 < grid.panels.size(); ++i) grid.panels[i].x.has_labels = false;
  return grid;
}

}  // namespace strata
