// SPDX-License-Identifier: Apache-2.0
#include "strata/report/plot_api.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata {
namespace {

/// As many as there are colours, with one for all other calls.
constexpr std::size_t most_named_calls = 7;

std::int64_t whole_api_ns(const TraceTables& tables) {
  std::int64_t whole = 0;
  for (const ApiRow& row : tables.by_api) whole += row.time.total_ns;
  return whole;
}

/// The calls that take longest in all programs together: a call has one colour in all rings.
std::vector<std::string> named_calls(const std::vector<RecordedCalls>& programs) {
  std::map<std::string, std::int64_t> times;
  for (const RecordedCalls& program : programs) {
    for (const ApiRow& row : program.tables.by_api) times[row.name] += row.time.total_ns;
  }
  std::vector<std::pair<std::string, std::int64_t>> order(times.begin(), times.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  // One more call than there are colours is all the others in one slice.
  const std::size_t count = order.size() <= most_named_calls + 1 ? order.size() : most_named_calls;
  for (std::size_t i = 0; i < count; ++i) names.push_back(order[i].first);
  return names;
}

chart::Chart ring_of_calls(const RecordedCalls& program, const std::vector<std::string>& names) {
  chart::Chart chart{.title = program.label};
  std::vector<Durations> times(names.size() + 1);
  std::size_t others = 0;
  for (const ApiRow& row : program.tables.by_api) {
    const auto at =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), row.name) - names.begin());
    times[at].calls += row.time.calls;
    times[at].total_ns += row.time.total_ns;
    others += at == names.size() ? 1 : 0;
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].total_ns <= 0) continue;
    const std::string name = i < names.size() ? names[i] : "other calls";
    const auto seconds = 1e-9 * static_cast<double>(times[i].total_ns);
    chart.ring.slices.push_back(
        {.name = name,
         .value = seconds,
         .color = i,
         .hint = fmt::format("{}: {}{}{}", name, format_time(seconds),
                             times[i].calls > 0 ? fmt::format(" in {} calls", times[i].calls) : "",
                             i < names.size() ? "" : fmt::format(" of {} kinds", others))});
  }
  chart.ring.middle = format_time(1e-9 * static_cast<double>(whole_api_ns(program.tables)));
  chart.ring.below = "in calls";
  return chart;
}

}  // namespace

chart::ChartGrid api_donut_figure(const std::vector<RecordedCalls>& programs) {
  for (const RecordedCalls& program : programs) {
    if (whole_api_ns(program.tables) <= 0)
      fail(ErrorKind::input, "{}: no calls of the CUDA API with a time are recorded in it",
           program.label);
  }
  const std::vector<std::string> names = named_calls(programs);
  chart::ChartGrid grid{
      .title = "Time in calls of the CUDA API",
      .subtitle =
          "Each ring is one recorded program; shares are of the time of all its calls, as "
          "strata trace --by api lists them.",
      .panels = {},
      .columns = std::min<std::size_t>(programs.size(), 3),
      .plot_height = 260};
  for (const RecordedCalls& program : programs)
    grid.panels.push_back(ring_of_calls(program, names));
  return grid;
}

}  // namespace strata
