// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/cpu/core_model.hpp"
#include "strata/cpu/event_counters.hpp"
#include "strata/cpu/system_files.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/measure/readiness/readiness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace strata {
namespace {

namespace fs = std::filesystem;

ReadyItem processors_item(const fs::path& root, const std::vector<int>& processors) {
  ReadyItem item{.area = "CPU", .name = "processors"};
  item.finding = fmt::format("{}, {} processor{} for this process",
                             cpu::core_model_from(cpu::lines_of(root / "proc/cpuinfo")).name,
                             processors.size(), processors.size() == 1 ? "" : "s");
  const cpu::GroupLimits limits = cpu::group_limits(root);
  if (limits.processors && *limits.processors < static_cast<double>(processors.size())) {
    item.state = ReadyState::limited;
    item.finding += fmt::format(", but only the time of {:.3g} of them (a container's limit)",
                                *limits.processors);
    item.remedy =
        "raise the limit of the container (--cpus), or expect pauses in every measurement";
  }
  return item;
}

fs::path frequency_folder(const fs::path& root, int processor) {
  return root / fmt::format("sys/devices/system/cpu/cpu{}/cpufreq", processor);
}

ReadyItem governor_item(const fs::path& root, const std::vector<int>& processors) {
  ReadyItem item{.area = "CPU", .name = "clock governor"};
  std::set<std::string> governors;
  for (const int processor : processors) {
    if (const auto line = cpu::first_line(frequency_folder(root, processor) / "scaling_governor"))
      governors.insert(*line);
  }
  if (governors.empty()) {
    item.state = ReadyState::limited;
    item.finding = "the system does not say how it chooses clocks (usual in a virtual machine)";
    return item;
  }
  item.finding = fmt::format("{}", fmt::join(governors, ", "));
  if (governors != std::set<std::string>{"performance"}) {
    item.state = ReadyState::limited;
    item.finding += ": clocks follow the load, and short measurements start slowly";
    item.remedy = "cpupower frequency-set -g performance";
  }
  return item;
}

ReadyItem boost_item(const fs::path& root) {
  ReadyItem item{.area = "CPU", .name = "boost"};
  const fs::path folder = root / "sys/devices/system/cpu";
  const auto no_turbo = cpu::first_line(folder / "intel_pstate/no_turbo");
  const auto boost = cpu::first_line(folder / "cpufreq/boost");
  if (!no_turbo && !boost) {
    item.state = ReadyState::limited;
    item.finding = "the system does not say whether clocks may rise above the nominal one";
    return item;
  }
  const bool is_on = no_turbo ? *no_turbo == "0" : *boost == "1";
  item.finding = is_on ? "on: the clock depends on temperature and on how many cores work"
                       : "off: clocks stay at the nominal one";
  return item;
}

ReadyItem throttling_item(const fs::path& root, const std::vector<int>& processors) {
  ReadyItem item{.area = "CPU", .name = "throttling"};
  std::int64_t most = 0;
  bool is_known = false;
  for (const int processor : processors) {
    const auto line = cpu::first_line(
        root / fmt::format("sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count",
                           processor));
    const auto count = line ? cpu::whole_number(*line) : std::nullopt;
    if (!count) continue;
    is_known = true;
    most = std::max(most, *count);
  }
  if (!is_known) {
    item.state = ReadyState::limited;
    item.finding = "the system does not count it";
    return item;
  }
  item.finding = most == 0
                     ? "none since the system started"
                     : fmt::format("a core was slowed down {} times because it was hot", most);
  if (most > 0) {
    item.state = ReadyState::limited;
    item.remedy = "cool it, or look whether the number rises while you measure";
  }
  return item;
}

ReadyItem events_item(const fs::path& root) {
  ReadyItem item{.area = "CPU", .name = "counters"};
  const std::string paranoid =
      cpu::first_line(root / "proc/sys/kernel/perf_event_paranoid").value_or("unknown");
  std::string problem;
  const auto counters = cpu::open_event_counters(problem);
  if (counters == nullptr) {
    item.state = ReadyState::missing;
    const std::size_t remedy = problem.find("; ");  // "what is wrong; what helps"
    item.finding = problem.substr(0, remedy);
    if (remedy != std::string::npos) item.remedy = problem.substr(remedy + 2);
    return item;
  }
  counters->start();
  volatile double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
  const cpu::EventCounts counts = counters->stop();
  std::vector<std::string> found;
  if (counts.cycles) found.emplace_back("cycles");
  if (counts.instructions) found.emplace_back("instructions");
  if (counts.cache_references) found.emplace_back("cache references");
  if (counts.cache_misses) found.emplace_back("cache misses");
  const bool is_counting = counts.instructions.value_or(0) >= 1'000'000;
  item.state = is_counting ? ReadyState::ready : ReadyState::limited;
  item.finding = fmt::format("{} (perf_event_paranoid {})", fmt::join(found, ", "), paranoid);
  if (!is_counting) item.finding += "; they stay at 0 while a loop runs";
  return item;
}

}  // namespace

ReadyItem vector_readiness(const cpu::VectorUnit& unit) {
  ReadyItem item{.area = "CPU", .name = "vector code", .finding = unit.description()};
  if (unit.may_be_less) {
    item.state = ReadyState::limited;
    item.remedy = "install Highway (libhwy-dev), and build again where this strata has none";
  }
  return item;
}

std::vector<ReadyItem> cpu_readiness(const ReadinessSources& sources) {
  std::vector<int> processors;
  try {
    processors = cpu::allowed_processors();
  } catch (const Error& error) {
    return {{"CPU", "processors", ReadyState::missing, error.what(), ""}};
  }
  return {processors_item(sources.root, processors), vector_readiness(cpu::vector_unit()),
          governor_item(sources.root, processors),   boost_item(sources.root),
          throttling_item(sources.root, processors), events_item(sources.root)};
}

}  // namespace strata
