// SPDX-License-Identifier: Apache-2.0
#include "strata/base/this_run.hpp"
#include "strata/base/units.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/cpu/system_files.hpp"
#include "strata/measure/ceilings/cpu/cpu_ceilings.hpp"
#include "strata/measure/ceilings/cpu/kernels.hpp"
#include "strata/measure/ceilings/cpu/low_precision.hpp"
#include "strata/measure/ceilings/cpu/system_load.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

using cpu::Bench;
using cpu::CpuUnderTest;

/// "Intel(R) Xeon(R) Platinum 8480+" → "Intel Xeon Platinum 8480+".
std::string without_marks(std::string text) {
  for (const std::string_view mark : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (std::size_t at = 0; (at = text.find(mark)) != std::string::npos;)
      text.erase(at, mark.size());
  }
  return text;
}

/// One processor of each core; as many cores as the control groups leave time for.
std::vector<int> processors_to_use(const cpu::Topology& topology,
                                   std::vector<std::string>& warnings) {
  std::vector<int> processors;
  for (const auto& core : topology.cores) processors.push_back(core.front());
  const auto quota = cpu::group_limits("/").processors;
  if (!quota || *quota >= static_cast<double>(processors.size())) return processors;
  const auto most = static_cast<std::size_t>(std::max(std::floor(*quota), 1.0));
  warnings.push_back(fmt::format(
      "a control group allows the time of {:.2f} processors, fewer than the {} cores that may be "
      "used: {} measured{}",
      *quota, processors.size(), most, *quota < 1 ? ", which is held back from time to time" : ""));
  processors.resize(most);
  return processors;
}

Measured facts_of_this_run(const CpuUnderTest& tested) {
  Measured measured;
  measured.host = this_host();
  measured.date = this_moment();
  measured.versions.push_back({"strata", std::string(version)});
  utsname system{};
  if (uname(&system) == 0) measured.versions.push_back({system.sysname, system.release});
  measured.versions.push_back({"compiler", __VERSION__});
  measured.versions.push_back({"vector code", cpu::vector_unit().description()});
  measured.versions.push_back({"topology", tested.topology.source});
  return measured;
}

Machine empty_machine(const CpuUnderTest& tested, std::size_t cores) {
  Machine machine;
  const std::string name = without_marks(tested.core.name);
  machine.name = measured_name(name);
  machine.title = fmt::format("{}, {} core{} (measured)", name, cores, cores == 1 ? "" : "s");
  machine.kind = "cpu";
  machine.units = Units{
      "core",
      {static_cast<double>(cores),
       fmt::format("{}: {} core{} with {} threads in {} package{}, those this process may use",
                   tested.topology.source, tested.topology.cores.size(),
                   tested.topology.cores.size() == 1 ? "" : "s", tested.topology.processors(),
                   tested.topology.packages, tested.topology.packages == 1 ? "" : "s")}};
  machine.measured = facts_of_this_run(tested);
  return machine;
}

std::optional<double> clock_now(const Bench& bench) {
  std::vector<double> clocks;
  for (int i = 0; i < 40; ++i) {
    const std::vector<double> seen = bench.clocks_hz(bench.threads());
    clocks.insert(clocks.end(), seen.begin(), seen.end());
  }
  if (clocks.empty()) return std::nullopt;
  return median_of(clocks);
}

void set_clocks(std::optional<double> before_hz, std::optional<double> after_hz,
                const std::vector<std::string>& notes, int processor, Machine& machine) {
  const auto most_khz = cpu::whole_number(
      cpu::first_line(
          fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq", processor))
          .value_or(""));
  if (most_khz && *most_khz > 0)
    machine.clocks.boost_hz =
        Sourced{1e3 * static_cast<double>(*most_khz), "sysfs: cpuinfo_max_freq"};
  const Peak* fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector);
  if (fp32 == nullptr || !fp32->clock_hz) return;
  Measurement evidence;
  evidence.method = "counted: additions that take one clock each, in a chain";
  const auto note = [&](std::string_view when, const std::optional<double>& hz) {
    if (hz) evidence.notes.push_back(fmt::format("{} {:.0f} MHz", when, *hz * 1e-6));
  };
  note("before everything", before_hz);
  note("after everything", after_hz);
  evidence.notes.insert(evidence.notes.end(), notes.begin(), notes.end());
  machine.clocks.seen_hz =
      Sourced{fp32->clock_hz->value,
              "measured during the fp32 multiply-adds; each peak has its own", std::move(evidence)};
}

using Measure = void (*)(const Bench&, const CpuUnderTest&, const cpu::Say&, Machine&);
struct MeasureStep {
  Measure measure;
  double share;  // of the whole, in time
  int steps;     // that it says
};
constexpr std::array measure_steps = {MeasureStep{cpu::measure_arithmetic, 0.15, 10},
                                      MeasureStep{cpu::measure_handoff_latency, 0.02, 1},
                                      MeasureStep{cpu::measure_memory, 0.68, 80},
                                      MeasureStep{cpu::measure_arithmetic_again, 0.15, 10}};

void measure_all(const Bench& bench, const CpuUnderTest& tested, const CeilingProgress& progress,
                 Machine& machine) {
  double done = 0;
  for (const MeasureStep& each : measure_steps) {
    int step = 0;
    const cpu::Say say = [&](std::string_view what) {
      const double within = std::min(static_cast<double>(step++) / each.steps, 1.0);
      if (progress) progress(what, done + each.share * within);
    };
    each.measure(bench, tested, say, machine);
    done += each.share;
  }
  if (progress) progress("done", 1);
}

CpuUnderTest cpu_under_test(std::span<const int> allowed) {
  return {cpu::core_model_from(cpu::lines_of("/proc/cpuinfo")), cpu::topology_of(allowed), {}};
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void add_memory_facts(const cpu::Topology& topology, std::vector<std::string>& lines) {
  const auto size = [](std::int64_t bytes) { return format_capacity(static_cast<double>(bytes)); };
  for (const cpu::CacheLevel& cache : topology.caches) {
    lines.push_back(fmt::format("L{}: {} of {}, up to {} on each", cache.level, cache.instances,
                                size(cache.bytes), plural(cache.cores_sharing, "core")));
  }
  for (const cpu::NumaNode& node : topology.nodes)
    lines.push_back(fmt::format("memory node {}: {}", node.id, size(node.memory_bytes)));
  if (const auto free_bytes = cpu::available_memory_bytes("/"))
    lines.push_back(fmt::format("free memory: {}", size(*free_bytes)));
}

}  // namespace

std::vector<std::string> cpu_facts() {
  const CpuUnderTest tested = cpu_under_test(cpu::allowed_processors());
  const cpu::Topology& topology = tested.topology;
  std::vector<std::string> warnings;
  const std::size_t used = processors_to_use(topology, warnings).size();
  std::vector<std::string> lines = {
      without_marks(tested.core.name),
      fmt::format("{} with {} in {}, {} measured ({})",
                  plural(static_cast<std::int64_t>(topology.cores.size()), "core"),
                  plural(topology.processors(), "thread"), plural(topology.packages, "package"),
                  used, topology.source)};
  add_memory_facts(topology, lines);
  const cpu::VectorUnit vectors = cpu::vector_unit();
  lines.push_back(
      fmt::format("fp32, fp64: {}, {} bits, {}", vectors.name, vectors.bits, vectors.chosen_by));
  for (const cpu::LowPrecisionLoop& loop : cpu::low_precision_loops())
    lines.push_back(
        fmt::format("{}, {}: {}", name_of(loop.dtype), name_of(loop.unit), loop.instructions));
  for (const std::string& warning : warnings) lines.push_back("warning: " + warning);
  return lines;
}

Machine measure_cpu(const CeilingOptions& options, const CeilingProgress& progress) {
  const std::vector<int> allowed = cpu::allowed_processors();
  CpuUnderTest tested = cpu_under_test(allowed);
  std::vector<std::string> warnings;
  tested.processors = processors_to_use(tested.topology, warnings);
  Machine machine = empty_machine(tested, tested.processors.size());
  const cpu::SystemLoad before = cpu::system_load_now("/", allowed);
  cpu::ThreadTeam team(tested.processors);
  if (!team.problem().empty()) warnings.push_back(team.problem());
  machine.measured->warnings = std::move(warnings);
  const Bench bench(options, team);
  const auto clock_before = clock_now(bench);
  measure_all(bench, tested, progress, machine);
  const auto clock_after = clock_now(bench);
  const cpu::Disturbance disturbance =
      cpu::disturbance_between(before, cpu::system_load_now("/", allowed));
  auto& said = machine.measured->warnings;
  said.insert(said.begin(), disturbance.warnings.begin(), disturbance.warnings.end());
  set_clocks(clock_before, clock_after, disturbance.notes, tested.processors.front(), machine);
  return machine;
}

}  // namespace strata
