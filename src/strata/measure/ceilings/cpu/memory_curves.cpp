// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/memory_curves.hpp"

#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cpu/level_sets.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cpu {
namespace {

constexpr std::int64_t least_set_of_thread = 4 << 10;
constexpr std::size_t most_nodes = 8;  // 56 pairs

Effort curve_effort(const Bench& bench) {
  if (bench.options().is_quick) return {.samples = 3, .sample_s = 1e-3, .warm_up_s = 0.002};
  return {.samples = 7, .sample_s = 2e-3, .warm_up_s = 0.008};
}

WorkingSetCurve curve_of(const Bench& bench, BandwidthMemory& memory, AccessMix mix, int active,
                         const Say& say) {
  WorkingSetCurve curve;
  curve.mix = mix;
  curve.source = fmt::format(
      "measured: {} of the working set again and again by {}; each point a median", name_of(mix),
      active == 1 ? "one core" : fmt::format("{} cores, each with its part", active));
  const std::int64_t arrays = arrays_of(mix);
  const std::int64_t factor = bench.options().is_quick ? 4 : 2;
  for (const std::int64_t set :
       rising_sets(arrays * least_set_of_thread * active, memory.bytes() * active, factor)) {
    say(fmt::format("{} of {}", name_of(mix), format_capacity(static_cast<double>(set))));
    const BandwidthPlan plan = memory.plan(mix, Store::cached, set / active);
    const double pass_s = bench.time(memory.work(plan), active, curve_effort(bench)).median_s();
    const auto bytes = static_cast<double>(plan.doubles() * 8 * arrays * active);
    curve.points.push_back({bytes, BandwidthMemory::bytes_per_pass(plan) * active / pass_s});
  }
  return curve;
}

}  // namespace

void measure_curves(const Bench& bench, BandwidthMemory& memory, const Say& say, Machine& machine) {
  machine.curves.push_back(curve_of(bench, memory, AccessMix::read, bench.threads(), say));
  if (bench.options().is_quick) return;
  machine.curves.push_back(curve_of(bench, memory, AccessMix::triad, bench.threads(), say));
  if (bench.threads() > 1)
    machine.curves.push_back(curve_of(bench, memory, AccessMix::read, 1, say));
}

std::vector<int> owners_across_nodes(std::span<const int> processors, const NumaNode& reader,
                                     const NumaNode& owner) {
  const auto is_of = [](const NumaNode& node, int processor) {
    return std::find(node.processors.begin(), node.processors.end(), processor) !=
           node.processors.end();
  };
  std::vector<int> owners;
  for (std::size_t i = 0; i < processors.size(); ++i) {
    if (is_of(owner, processors[i])) owners.push_back(static_cast<int>(i));
  }
  std::vector<int> of_worker(processors.size(), -1);
  std::size_t turn = 0;
  for (std::size_t i = 0; i < processors.size() && !owners.empty(); ++i) {
    if (is_of(reader, processors[i])) of_worker[i] = owners[turn++ % owners.size()];
  }
  return of_worker;
}

void measure_nodes(const Bench& bench, const CpuUnderTest& tested, BandwidthMemory& memory,
                   const Say& say, Machine& machine) {
  const std::vector<NumaNode>& nodes = tested.topology.nodes;
  if (nodes.size() < 2) return;
  const std::size_t count = std::min(nodes.size(), most_nodes);
  if (count < nodes.size())
    machine.measured->warnings.push_back(
        fmt::format("links between memory nodes: only the first {} of {}", count, nodes.size()));
  const BandwidthPlan plan = memory.plan(AccessMix::read, Store::cached, memory.bytes());
  for (std::size_t reader = 0; reader < count; ++reader) {
    for (std::size_t owner = 0; owner < count; ++owner) {
      const std::vector<int> owners =
          owners_across_nodes(tested.processors, nodes[reader], nodes[owner]);
      const auto readers =
          std::count_if(owners.begin(), owners.end(), [](int i) { return i >= 0; });
      if (readers == 0) continue;  // fewer threads than cores: a quota
      const std::string name =
          fmt::format("node {} reads node {}", nodes[reader].id, nodes[owner].id);
      say(name);
      const Timing timing =
          bench.time(memory.work_on(plan, owners), bench.threads(), curve_effort(bench));
      Sourced rate =
          rate_of(BandwidthMemory::bytes_per_pass(plan) * static_cast<double>(readers), timing,
                  fmt::format("read of arrays that threads of node {} touched first, by "
                              "{} threads of node {}; the median",
                              nodes[owner].id, readers, nodes[reader].id));
      machine.links.push_back(
          {name, LinkKind::numa, std::nullopt, std::move(rate), std::nullopt, {}});
    }
  }
}

}  // namespace strata::cpu
