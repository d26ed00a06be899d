// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/system_load.hpp"

#include "strata/base/text.hpp"
#include "strata/cpu/system_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

namespace strata::cpu {
namespace {

constexpr double much_by_others = 0.03;  // of the time of the processors
constexpr double much_stolen = 0.01;

/// "cpu3 user nice system idle iowait irq softirq steal guest guest_nice": the last two are in
/// the first two already.
void add_line(std::string_view line, double ticks_per_s, ProcessorTimes& times) {
  std::vector<double> ticks;
  for (const std::string_view word : split(line, ' ')) {
    if (const auto number = whole_number(word)) ticks.push_back(static_cast<double>(*number));
  }
  if (ticks.size() < 8) return;
  times.idle_s += (ticks[3] + ticks[4]) / ticks_per_s;
  times.stolen_s += ticks[7] / ticks_per_s;
  times.busy_s += (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / ticks_per_s;
}

struct LoadShares {
  double total_s = 0;  // 0: nothing is known
  double others = 0;
  double stolen = 0;
};

LoadShares shares_between(const SystemLoad& before, const SystemLoad& after) {
  const double busy_s = after.times.busy_s - before.times.busy_s;
  const double stolen_s = after.times.stolen_s - before.times.stolen_s;
  const double total_s = busy_s + stolen_s + after.times.idle_s - before.times.idle_s;
  if (!(total_s > 0)) return {};
  const double others_s = std::max(busy_s - (after.own_s - before.own_s), 0.0);
  return {total_s, others_s / total_s, stolen_s / total_s};
}

double own_processor_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

ProcessorTimes processor_times(std::span<const std::string> stat_lines,
                               std::span<const int> processors, double ticks_per_s) {
  ProcessorTimes times;
  for (const std::string& line : stat_lines) {
    if (!line.starts_with("cpu")) continue;
    const std::string_view rest = std::string_view(line).substr(3);
    const auto number = whole_number(rest.substr(0, rest.find(' ')));
    const bool is_ours =
        number && std::find(processors.begin(), processors.end(), *number) != processors.end();
    if (is_ours) add_line(rest.substr(rest.find(' ')), ticks_per_s, times);
  }
  return times;
}

SystemLoad system_load_now(const std::filesystem::path& root, std::span<const int> processors) {
  SystemLoad now;
  const auto ticks = static_cast<double>(std::max(sysconf(_SC_CLK_TCK), 1L));
  now.times = processor_times(lines_of(root / "proc/stat"), processors, ticks);
  now.own_s = own_processor_s();
  const std::string load = first_line(root / "proc/loadavg").value_or("");
  double value = 0;
  const auto [end, problem] = std::from_chars(load.data(), load.data() + load.size(), value);
  if (problem == std::errc() && end != load.data()) now.load = value;
  return now;
}

std::optional<double> others_share(const SystemLoad& before, const SystemLoad& after) {
  constexpr double least_s = 0.1;  // of ten ticks and more something can be said
  const LoadShares shares = shares_between(before, after);
  if (shares.total_s < least_s) return std::nullopt;
  return shares.others + shares.stolen;
}

Disturbance disturbance_between(const SystemLoad& before, const SystemLoad& after) {
  Disturbance found;
  if (before.load) found.notes.push_back(fmt::format("load average before: {:.2f}", *before.load));
  const LoadShares shares = shares_between(before, after);
  if (!(shares.total_s > 0)) return found;  // no /proc/stat
  const double others = shares.others;
  found.notes.push_back(fmt::format("others had {:.1f} % of the processors' time, {:.1f} % stolen",
                                    100 * others, 100 * shares.stolen));
  if (others > much_by_others) {
    found.warnings.push_back(fmt::format(
        "the machine was busy: other programs had {:.0f} % of the time of these processors; rates "
        "are from the samples that they did not disturb, caches and memory were shared with them",
        100 * others));
  }
  if (shares.stolen > much_stolen) {
    found.warnings.push_back(
        fmt::format("the host took {:.0f} % of the time of these virtual processors for others",
                    100 * shares.stolen));
  }
  return found;
}

}  // namespace strata::cpu
