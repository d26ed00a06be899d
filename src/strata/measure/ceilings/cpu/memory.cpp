// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/measure/ceilings/cpu/cpu_ceilings.hpp"
#include "strata/measure/ceilings/cpu/level_sets.hpp"
#include "strata/measure/ceilings/cpu/memory_curves.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace strata::cpu {
namespace {

constexpr std::array all_mixes = {AccessMix::read, AccessMix::write, AccessMix::copy,
                                  AccessMix::triad};

Sourced measured_rate(const Bench& bench, BandwidthMemory& memory, const BandwidthPlan& plan,
                      int active, std::string method) {
  const Timing timing = bench.time(memory.work(plan), active);
  return rate_of(BandwidthMemory::bytes_per_pass(plan) * active, timing, std::move(method));
}

BandwidthPlan best_plan(const Bench& bench, BandwidthMemory& memory, AccessMix mix,
                        std::span<const std::int64_t> sets) {
  BandwidthPlan best = memory.plan(mix, Store::cached, sets.front());
  double best_rate = 0;
  for (const std::int64_t set : sets) {
    const BandwidthPlan plan = memory.plan(mix, Store::cached, set);
    const double rate =
        BandwidthMemory::bytes_per_pass(plan) / bench.glance(memory.work(plan), bench.threads());
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = plan;
  }
  return best;
}

std::string set_text(const BandwidthPlan& plan) {
  return format_capacity(static_cast<double>(plan.doubles() * 8 * arrays_of(plan.mix)));
}

MemoryLevel cache_level(const Bench& bench, const CpuUnderTest& tested, std::size_t index,
                        BandwidthMemory& memory, const Say& say) {
  const std::vector<CacheLevel>& caches = tested.topology.caches;
  const CacheLevel& cache = caches[index];
  MemoryLevel level;
  level.name = fmt::format("L{}", cache.level);
  level.is_on_chip = true;
  level.instances = cache.instances;
  level.capacity_bytes = {static_cast<double>(cache.bytes * cache.instances),
                          fmt::format("{}: {} of {}", tested.topology.source, cache.instances,
                                      format_capacity(static_cast<double>(cache.bytes)))};
  const std::vector<std::int64_t> sets = sets_for_level(caches, index, bench.threads());
  for (const AccessMix mix : all_mixes) {
    say(fmt::format("{} {}", level.name, name_of(mix)));
    const BandwidthPlan plan = best_plan(bench, memory, mix, sets);
    memory.check(bench, plan, bench.threads());
    MixBandwidth found{
        mix,
        measured_rate(bench, memory, plan, bench.threads(),
                      fmt::format("{} of {} per core again and again, one thread "
                                  "on each of {} cores; the best of {} sizes; the "
                                  "median",
                                  name_of(mix), set_text(plan), bench.threads(), sets.size()))};
    if (mix == AccessMix::read) {
      found.bytes_per_s.evidence->notes.push_back(fmt::format(
          "one core {}", format_bytes_per_s(measured_rate(bench, memory, plan, 1, "").value, 4)));
    }
    level.mixes.push_back(std::move(found));
  }
  set_envelope(level);
  return level;
}

/// How a bandwidth loop stores and prefetches; which is fastest differs between processors.
struct LoopVariant {
  Store store = Store::cached;
  Prefetch prefetch = Prefetch::none;

  std::string text(AccessMix mix) const {
    std::string text;
    if (mix != AccessMix::read) {
      text = store == Store::cached ? "cached stores" : "non-temporal stores";
    }
    if (prefetch == Prefetch::ahead) {
      text += fmt::format("{}prefetch 16 KiB ahead", text.empty() ? "" : ", ");
    }
    return text.empty() ? "no software prefetch" : text;
  }
};

std::vector<LoopVariant> variants_of(AccessMix mix) {
  std::vector<LoopVariant> variants;
  for (const Store store : {Store::cached, Store::non_temporal}) {
    if (store == Store::non_temporal && (mix == AccessMix::read || !has_non_temporal_stores()))
      continue;
    variants.push_back({store, Prefetch::none});
    if (mix != AccessMix::write && can_prefetch()) variants.push_back({store, Prefetch::ahead});
  }
  return variants;
}

/// Every variant is measured; the best is the number, the others are notes.
Sourced outer_rate(const Bench& bench, BandwidthMemory& memory, AccessMix mix) {
  std::vector<Sourced> rates;
  const std::vector<LoopVariant> variants = variants_of(mix);
  for (const LoopVariant& variant : variants) {
    BandwidthPlan plan = memory.plan(mix, variant.store, memory.bytes());
    plan.prefetch = variant.prefetch;
    memory.check(bench, plan, bench.threads());
    rates.push_back(measured_rate(
        bench, memory, plan, bench.threads(),
        fmt::format("{} of {} per core, one thread on each of {} cores, {}; the median",
                    name_of(mix), set_text(plan), bench.threads(), variant.text(mix))));
  }
  const auto best = static_cast<std::size_t>(
      std::max_element(rates.begin(), rates.end(),
                       [](const Sourced& a, const Sourced& b) { return a.value < b.value; }) -
      rates.begin());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (i == best) continue;
    rates[best].evidence->notes.push_back(
        fmt::format("{}: {}", variants[i].text(mix), format_bytes_per_s(rates[i].value, 4)));
  }
  return std::move(rates[best]);
}

// In a container the topology may show a part of the memory only; the kernel's count is of all.
Sourced memory_bytes_of(const Topology& topology) {
  double of_nodes = 0;
  for (const NumaNode& node : topology.nodes) of_nodes += static_cast<double>(node.memory_bytes);
  const double of_kernel =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (of_kernel > of_nodes) return {of_kernel, "the kernel's count of physical pages"};
  return {of_nodes, fmt::format("{}: {} memory node{}", topology.source, topology.nodes.size(),
                                topology.nodes.size() == 1 ? "" : "s")};
}

MemoryLevel outer_level(const Bench& bench, const CpuUnderTest& tested, BandwidthMemory& memory,
                        const Say& say) {
  MemoryLevel level;
  level.name = "DRAM";
  level.capacity_bytes = memory_bytes_of(tested.topology);
  for (const AccessMix mix : all_mixes) {
    say(fmt::format("DRAM {}", name_of(mix)));
    level.mixes.push_back({mix, outer_rate(bench, memory, mix)});
  }
  say("DRAM, the triad of STREAM");
  BandwidthPlan stream = memory.plan(AccessMix::triad, Store::cached, memory.bytes());
  stream.is_plain_stream = true;
  memory.check(bench, stream, bench.threads());
  const double reference = measured_rate(bench, memory, stream, bench.threads(), "").value;
  const std::string of = fmt::format(
      "the triad as STREAM writes it, plain C++ with the same flags, threads and arrays, bytes "
      "counted alike: {}",
      format_bytes_per_s(reference, 4));
  Sourced& triad = level.mixes.back().bytes_per_s;
  triad.evidence->share = PeakShare{triad.value / reference, of};
  return level;
}

/// Of each mix the better: a limit is what the machine can do, and neighbours on the host of a
/// virtual machine, who share its memory, come and go.
void keep_better(std::vector<MixBandwidth> again, std::vector<MixBandwidth>& mixes) {
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    Sourced &first = mixes[i].bytes_per_s, &second = again[i].bytes_per_s;
    if (second.value > first.value) std::swap(first, second);
    first.evidence->notes.push_back(
        fmt::format("the better of two rounds, before and after the curves; the other {}",
                    format_bytes_per_s(second.value, 4)));
  }
}

/// The best of the mixes, and what it is of STREAM's triad, which stands beside the triad.
void set_outer_envelope(MemoryLevel& level) {
  set_envelope(level);
  Sourced& envelope = *level.bandwidth_bytes_per_s;
  if (envelope.evidence->share) return;
  const Sourced& triad = level.mixes.back().bytes_per_s;
  const PeakShare& stream = *triad.evidence->share;
  envelope.evidence->notes.push_back(
      fmt::format("{:.1f} % of {}", 100 * stream.share * envelope.value / triad.value, stream.of));
}

std::int64_t bytes_for_arrays(const Bench& bench, const CpuUnderTest& tested,
                              std::vector<std::string>& warnings) {
  const auto available = available_memory_bytes("/");
  // Each of the three arrays of the triad 4 times the caches, as STREAM asks; or all of them.
  const int times_caches = bench.options().is_quick ? 4 : 12;
  const OuterArrays arrays =
      outer_arrays(tested.topology.caches, bench.threads(), times_caches, available);
  if (arrays.is_too_small) {
    warnings.push_back(fmt::format(
        "only {} of memory are free: {} are less than 4 times the last-level caches, so "
        "the bandwidth of DRAM may be too high",
        format_capacity(static_cast<double>(*available)),
        format_capacity(static_cast<double>(arrays.bytes_per_thread * bench.threads()))));
  }
  return arrays.bytes_per_thread;
}

}  // namespace

void measure_memory(const Bench& bench, const CpuUnderTest& tested, const Say& say,
                    Machine& machine) {
  std::vector<std::string>& warnings = machine.measured->warnings;
  say("touching memory");
  BandwidthMemory memory(bench, bytes_for_arrays(bench, tested, warnings));
  if (tested.topology.caches.empty()) {
    warnings.push_back(
        "this system does not tell its caches: only the outermost memory was measured, and "
        "predictions need --capacity");
  }
  for (std::size_t i = 0; i < tested.topology.caches.size(); ++i)
    machine.memory.push_back(cache_level(bench, tested, i, memory, say));
  machine.memory.push_back(outer_level(bench, tested, memory, say));
  measure_curves(bench, memory, say, machine);
  measure_nodes(bench, tested, memory, say, machine);
  MemoryLevel& outer = machine.memory.back();
  if (!bench.options().is_quick)
    keep_better(outer_level(bench, tested, memory, say).mixes, outer.mixes);
  set_outer_envelope(outer);
  for (std::string& text : drop_disturbed_levels(machine.memory))
    warnings.push_back(std::move(text));
}

}  // namespace strata::cpu
