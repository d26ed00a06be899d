// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_policies.hpp"

#include "strata/base/units.hpp"
#include "strata/predict/option_names.hpp"
#include "strata/reproduce/run_tasks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

namespace strata {
namespace {

constexpr std::int64_t least_mib = 24;
constexpr std::int64_t most_mib = 1000;
constexpr std::int64_t most_compared_mib = 400;  // figures 4.1 and 4.2
constexpr std::size_t many_steps = 5000;         // of an iteration: from here on a coarser grid

double most_slower(const std::vector<PolicyTimes>& times, double PolicyTimes::*other_s,
                   std::int64_t& at_mib) {
  double most = -1;
  for (const PolicyTimes& point : times) {
    if (point.capacity_mib > most_compared_mib) break;
    const double slower = point.time_s / (point.*other_s) - 1;
    if (slower <= most) continue;
    most = slower;
    at_mib = point.capacity_mib;
  }
  return most;
}

void add_comparison(const ThesisNetwork& network, const std::vector<PolicyTimes>& times,
                    double PolicyTimes::*other_s, std::string figure, std::string what,
                    std::string sentence, ThesisRows& rows) {
  std::int64_t at_mib = least_mib;
  const double slower = most_slower(times, other_s, at_mib);
  rows.add({std::move(figure), network.name(), std::move(what), "never slower",
            fmt::format("{} at {} MiB", thesis_percent(slower), at_mib),
            "a transfer that cannot be interrupted delays a more urgent one", std::move(sentence)},
           below(slower, 0.001, "+0.1 %"));
}

/// Why time rises between two capacities: the plans of farthest next use differ.
std::string cause_of(const TimeRise& rise) {
  if (rise.more_bytes > 0)
    return fmt::format("the plan for {} MiB moves {} more: farthest next use is not monotone",
                       rise.to_mib, format_bytes(static_cast<double>(rise.more_bytes)));
  if (rise.more_bytes < 0)
    return fmt::format(
        "the plan for {} MiB moves {} less, but what it keeps leaves less room to load ahead",
        rise.to_mib, format_bytes(static_cast<double>(-rise.more_bytes)));
  return "the same bytes move in another order: a transfer cannot be interrupted";
}

void add_rise(const ThesisNetwork& network, const std::vector<PolicyTimes>& times,
              ThesisRows& rows) {
  const auto rise = largest_rise(times);
  rows.beside(
      {"figure 5.3", network.name(),
       fmt::format("most that time rises with capacity, {} to {} MiB", least_mib, most_mib), "",
       rise ? fmt::format("{}, {} → {} MiB", thesis_percent(rise->share), rise->from_mib,
                          rise->to_mib)
            : "never"},
      rise ? cause_of(*rise) + "; with --policy best it never rises" : "");
}

}  // namespace

std::vector<PolicyTimes> policy_times(const ThesisNetwork& network) {
  const std::int64_t step_mib = network.program().steps.size() > many_steps ? 8 : 2;
  std::vector<PolicyTimes> times(static_cast<std::size_t>((most_mib - least_mib) / step_mib + 1));
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < times.size(); ++i) {
    tasks.emplace_back([&network, &point = times[i],
                        mib = least_mib + static_cast<std::int64_t>(i) * step_mib] {
      const Prediction aware = network.at({.capacity_mib = mib});
      point = {
          .capacity_mib = mib, .time_s = aware.time_s, .bytes = aware.in_bytes + aware.out_bytes};
      if (mib > most_compared_mib) return;
      point.naive_s = network.at({.capacity_mib = mib, .prefetch = Prefetch::next_layer}).time_s;
      point.on_demand_s = network.at({.capacity_mib = mib, .offload = Offload::on_demand}).time_s;
    });
  }
  run_tasks(tasks, {});
  return times;
}

std::optional<TimeRise> largest_rise(const std::vector<PolicyTimes>& times) {
  std::optional<TimeRise> largest;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double share = times[i].time_s / times[i - 1].time_s - 1;
    if (share <= (largest ? largest->share : 0)) continue;
    largest = {times[i - 1].capacity_mib, times[i].capacity_mib, share,
               times[i].bytes - times[i - 1].bytes};
  }
  return largest;
}

void add_policy_rows(const ThesisNetworks& networks, ThesisRows& rows) {
  for (const ThesisNetwork& network : networks.all()) {
    const std::vector<PolicyTimes> times = policy_times(network);
    add_comparison(network, times, &PolicyTimes::naive_s, "figure 4.1",
                   "latency-aware against naive prefetch, most over 24 to 400 MiB",
                   "Latency-aware prefetch hides transfers that naive prefetch of the next layer "
                   "does not (figure 4.1)",
                   rows);
    add_comparison(
        network, times, &PolicyTimes::on_demand_s, "figure 4.2",
        "look-ahead against on-demand offload, most over 24 to 400 MiB",
        "Look-ahead offload hides write-backs that on-demand offload does not (figure 4.2)", rows);
    add_rise(network, times, rows);
  }
}

void add_readings(const ThesisNetworks& networks, ThesisRows& rows) {
  const std::vector<std::vector<double>> found = numbers_by_reading(networks);
  std::string names;
  for (const ThesisReading& reading : thesis_readings)
    names += fmt::format("{}{}", names.empty() ? "" : " · ", reading.name);
  const auto joined = [](const std::vector<double>& values, auto text) {
    std::string all;
    for (const double value : values)
      all += fmt::format("{}{}", all.empty() ? "" : " · ", text(value));
    return all;
  };
  const std::span<const PrintedNumber> numbers = printed_numbers();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    rows.beside({std::string(readings_observation), networks.all()[numbers[i].network].name(),
                 fmt::format("{} (the thesis: {})", numbers[i].what, numbers[i].printed_text()), "",
                 joined(found[i], [&](double value) { return numbers[i].text(value); })},
                names);
  }
  const PredictOptions preset = thesis_prediction();
  const auto add_distances = [&](std::string of, bool of_given_alone) {
    rows.beside({std::string(readings_observation), std::move(of),
                 "mean distance, percentage points or hundredths", "",
                 joined(distances_by_reading(found, of_given_alone),
                        [](double value) { return fmt::format("{:.2f}", value); })},
                fmt::format("{}; the preset takes --prefetch {} and --channel {}", names,
                            name_of(*preset.prefetch), name_of(preset.channel)));
  };
  add_distances("given by the thesis", true);
  add_distances("all", false);
}

}  // namespace strata
