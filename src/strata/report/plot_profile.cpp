// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/report/chart/palette.hpp"
#include "strata/report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace strata {
namespace {

using chart::Chart;
using chart::ChartGrid;
using chart::Quantity;

constexpr std::size_t most_bars = 36;   // of more, names cannot be read at 800 pixels
constexpr std::size_t most_shares = 6;  // operators with a colour of their own
constexpr chart::Color rest_color = 6;  // grey
constexpr std::array<chart::Marker, 6> trend_markers = {
    chart::Marker::circle,  chart::Marker::square,   chart::Marker::triangle,
    chart::Marker::diamond, chart::Marker::inverted, chart::Marker::cross};

/// Passes as figures show them; what a profile calls otherwise is "other".
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> pass_names = {
    {{"forward", "forward"},
     {"recompute", "forward again"},
     {"backward", "backward"},
     {"backward_input", "backward, input"},
     {"backward_weight", "backward, weights"},
     {"update", "update"},
     {"", "other"}}};

std::size_t pass_index(std::string_view pass) {
  for (std::size_t i = 0; i + 1 < pass_names.size(); ++i) {
    if (pass_names[i].first == pass) return i;
  }
  return pass_names.size() - 1;
}

void need_time(const PlottedProfile& plotted) {
  if (plotted.labelled.profile.columns.has_time) return;
  fail(ErrorKind::input, "{}: its rows have no time ('time_s'), which this figure shows",
       plotted.labelled.label);
}

/// Time of something in each pass.
struct TimedName {
  std::string name;
  std::array<double, pass_names.size()> by_pass{};
  double time_s() const {
    double sum = 0;
    for (const double part : by_pass) sum += part;
    return sum;
  }
};

std::vector<TimedName> timed_by(const Profile& profile, std::string ProfileRow::*key) {
  std::vector<TimedName> names;
  std::map<std::string, std::size_t> index;
  for (const ProfileRow& row : profile.rows) {
    const std::string& name = (row.*key).empty() ? row.layer : row.*key;
    const auto [at, is_new] = index.try_emplace(name, names.size());
    if (is_new) names.push_back({name, {}});
    names[at->second].by_pass[pass_index(row.pass)] += row.totals.time_s;
  }
  return names;
}

/// Those that take longest, in the order in which they run.
std::vector<TimedName> longest_in_order(std::vector<TimedName> names, std::size_t most) {
  if (names.size() <= most) return names;
  std::vector<double> times;
  times.reserve(names.size());
  for (const TimedName& each : names) times.push_back(each.time_s());
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(most - 1),
                   times.end(), std::greater<>());
  const double least_s = times[most - 1];
  std::vector<TimedName> kept;
  for (TimedName& each : names) {
    if (each.time_s() >= least_s && kept.size() < most) kept.push_back(std::move(each));
  }
  return kept;
}

/// One stack for each name, a colour for each pass.
Chart stacks_of(const std::vector<TimedName>& names) {
  Chart chart{.y = {.title = "time", .quantity = Quantity::seconds, .from_zero = true}};
  chart.bar_layout = chart::BarLayout::stacked;
  for (const TimedName& each : names) chart.x.categories.push_back(each.name);
  for (std::size_t pass = 0; pass < pass_names.size(); ++pass) {
    chart::Bars bars{std::string(pass_names[pass].second), {}, pass};
    bool has_any = false;
    for (const TimedName& each : names) {
      bars.values.push_back(each.by_pass[pass]);
      has_any = has_any || each.by_pass[pass] > 0;
    }
    if (has_any) chart.bars.push_back(std::move(bars));
  }
  return chart;
}

double sum_of(const std::vector<TimedName>& names) {
  double sum = 0;
  for (const TimedName& each : names) sum += each.time_s();
  return sum;
}

std::string subject_of(const PlottedProfile& plotted) {
  const Profile& profile = plotted.labelled.profile;
  const std::string& title =
      profile.subject.title.empty() ? plotted.labelled.label : profile.subject.title;
  std::string text = title;
  if (plotted.batch) text += fmt::format(", batch {}", *plotted.batch);
  if (!profile.subject.dtype.empty()) text += fmt::format(", {}", profile.subject.setup_or_dtype());
  text += fmt::format(", {}", name_of(profile.evidence));
  if (!profile.subject.machine_title.empty())
    text += fmt::format(", {}", profile.subject.machine_title);
  return text;
}

// Of several, what they have in common.
std::string subtitle_for(const std::vector<PlottedProfile>& profiles) {
  if (profiles.size() == 1) return subject_of(profiles.front());
  std::string text;
  for (const auto part :
       {&ProfileSubject::title, &ProfileSubject::dtype, &ProfileSubject::machine_title}) {
    const std::string& first = profiles.front().labelled.profile.subject.*part;
    const bool is_shared =
        std::all_of(profiles.begin(), profiles.end(), [&](const PlottedProfile& plotted) {
          return plotted.labelled.profile.subject.*part == first;
        });
    if (is_shared && !first.empty()) text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
  }
  return text;
}

std::string panel_title(const std::vector<PlottedProfile>& profiles, const PlottedProfile& one) {
  return profiles.size() == 1 ? "" : one.labelled.label;
}

/// Operators by the time of all profiles together, longest first.
std::vector<std::string> operators_of(const std::vector<PlottedProfile>& profiles) {
  std::map<std::string, double> times;
  for (const PlottedProfile& plotted : profiles) {
    for (const TimedName& each : timed_by(plotted.labelled.profile, &ProfileRow::op))
      times[each.name] += each.time_s();
  }
  std::vector<std::pair<double, std::string>> sorted;
  sorted.reserve(times.size());
  for (const auto& [name, time_s] : times) sorted.emplace_back(-time_s, name);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> names;
  names.reserve(sorted.size());
  for (auto& [time_s, name] : sorted) names.push_back(std::move(name));
  return names;
}

/// Of each profile, the share of time of each operator; the last of `shown` is "other".
std::vector<std::vector<double>> shares_of(const std::vector<PlottedProfile>& profiles,
                                           const std::vector<std::string>& shown) {
  std::vector<std::vector<double>> shares(shown.size());
  for (const PlottedProfile& plotted : profiles) {
    const auto names = timed_by(plotted.labelled.profile, &ProfileRow::op);
    const double all_s = sum_of(names);
    for (auto& share : shares) share.push_back(0);
    for (const TimedName& each : names) {
      const auto at = std::find(shown.begin(), shown.end() - 1, each.name);
      shares[static_cast<std::size_t>(at - shown.begin())].back() +=
          all_s > 0 ? each.time_s() / all_s : 0;
    }
  }
  return shares;
}

std::vector<std::string> shown_operators(const std::vector<PlottedProfile>& profiles) {
  std::vector<std::string> shown = operators_of(profiles);
  if (shown.size() > most_shares) shown.resize(most_shares);
  shown.emplace_back("other");
  return shown;
}

}  // namespace

ChartGrid layers_figure(const std::vector<PlottedProfile>& profiles) {
  ChartGrid grid{.title = "Time by layer",
                 .subtitle = subtitle_for(profiles),
                 .panels = {},
                 .columns = 1,
                 .plot_height = profiles.size() == 1 ? 320.0 : 180.0};
  for (const PlottedProfile& plotted : profiles) {
    need_time(plotted);
    const auto layers = timed_by(plotted.labelled.profile, &ProfileRow::layer);
    const auto shown = longest_in_order(layers, most_bars);
    Chart panel = stacks_of(shown);
    panel.title = panel_title(profiles, plotted);
    if (shown.size() < layers.size()) {
      panel.x.title =
          fmt::format("the {} slowest of {} layers, in order; {:.0f} % of the time", shown.size(),
                      layers.size(), 100 * sum_of(shown) / sum_of(layers));
    }
    grid.panels.push_back(std::move(panel));
  }
  return grid;
}

ChartGrid types_figure(const std::vector<PlottedProfile>& profiles) {
  for (const PlottedProfile& plotted : profiles) need_time(plotted);
  ChartGrid grid{.title = "Time by type of layer",
                 .subtitle = subtitle_for(profiles),
                 .panels = {},
                 .columns = 1,
                 .plot_height = 320};
  if (profiles.size() == 1) {
    auto names = timed_by(profiles.front().labelled.profile, &ProfileRow::op);
    std::stable_sort(names.begin(), names.end(), [](const TimedName& a, const TimedName& b) {
      return a.time_s() > b.time_s();
    });
    if (names.size() > most_bars) names.resize(most_bars);
    grid.panels.push_back(stacks_of(names));
    return grid;
  }
  const std::vector<std::string> shown = shown_operators(profiles);
  const auto shares = shares_of(profiles, shown);
  Chart chart{.y = {.title = "share of the time",
                    .quantity = Quantity::share,
                    .most = 1.0,
                    .from_zero = true}};
  chart.bar_layout = chart::BarLayout::stacked;
  for (const PlottedProfile& plotted : profiles)
    chart.x.categories.push_back(plotted.labelled.label);
  const std::vector<chart::Color> colors = chart::colors_of_kinds(shown);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (std::all_of(shares[i].begin(), shares[i].end(), [](double v) { return v == 0; })) continue;
    chart.bars.push_back({shown[i], shares[i], i + 1 == shown.size() ? rest_color : colors[i]});
  }
  grid.panels.push_back(std::move(chart));
  return grid;
}

ChartGrid batch_trends_figure(const std::vector<PlottedProfile>& profiles) {
  std::vector<PlottedProfile> sorted = profiles;
  for (const PlottedProfile& plotted : sorted) {
    need_time(plotted);
    if (!plotted.batch) {
      fail(ErrorKind::input,
           "{}: it does not say its batch ('model.batch'), over which this figure goes",
           plotted.labelled.label);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return *a.batch < *b.batch; });
  if (sorted.size() < 2 || *sorted.front().batch == *sorted.back().batch) {
    fail(ErrorKind::input, "a trend over the batch needs profiles of at least two batches");
  }
  const std::vector<std::string> shown = shown_operators(sorted);
  const auto shares = shares_of(sorted, shown);
  Chart chart{.x = {.title = "batch", .scale = chart::ScaleKind::logarithmic},
              .y = {.title = "share of the time", .quantity = Quantity::share, .from_zero = true}};
  const std::vector<chart::Color> colors = chart::colors_of_kinds(shown);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    chart::Series line{.name = shown[i],
                       .color = i + 1 == shown.size() ? rest_color : colors[i],
                       .marker = trend_markers[i % trend_markers.size()]};
    for (std::size_t k = 0; k < sorted.size(); ++k)
      line.points.push_back({static_cast<double>(*sorted[k].batch), shares[i][k], ""});
    if (std::any_of(shares[i].begin(), shares[i].end(), [](double v) { return v > 0; }))
      chart.series.push_back(std::move(line));
  }
  const ProfileSubject& subject = sorted.front().labelled.profile.subject;
  return {.title = "Shares of types of layers over the batch",
          .subtitle = fmt::format("{}, {}", subject.title, subject.machine_title),
          .panels = {std::move(chart)},
          .columns = 1,
          .plot_height = 320};
}

}  // namespace strata
