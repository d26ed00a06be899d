// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/cuda/bandwidth_arrays.cuh"
#include "strata/measure/ceilings/cuda/ceilings.cuh"
#include "strata/measure/ceilings/gpu_rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::cuda {
namespace {

constexpr std::array all_mixes = {AccessMix::read, AccessMix::write, AccessMix::copy,
                                  AccessMix::triad};

int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  STRATA_CUDA_CALL(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

/// Takes the best of the mixes as the level's bandwidth.
void set_envelope(MemoryLevel& level) {
  const auto best = std::max_element(level.mixes.begin(), level.mixes.end(),
                                     [](const MixBandwidth& a, const MixBandwidth& b) {
                                       return a.bytes_per_s.value < b.bytes_per_s.value;
                                     });
  if (best == level.mixes.end()) return;
  level.bandwidth_bytes_per_s = best->bytes_per_s;
  level.bandwidth_bytes_per_s->evidence->notes.push_back(
      fmt::format("the best of its access mixes: {}", name_of(best->mix)));
}

/// What the datasheet says of the outermost memory, or else bus width × clock.
std::optional<PeakShare> share_of_dram(const DeviceInfo& device, double bytes_per_s) {
  const Machine* datasheet = datasheet_of(device.name);
  const MemoryLevel* level = datasheet == nullptr ? nullptr : off_chip(*datasheet);
  if (level != nullptr && level->bandwidth_bytes_per_s) {
    const double promised = level->bandwidth_bytes_per_s->value;
    return PeakShare{bytes_per_s / promised,
                     fmt::format("datasheet: {}", format_bytes_per_s(promised, 4))};
  }
  const double bits = attribute_of(device.index, cudaDevAttrGlobalMemoryBusWidth);
  const double hz = 1e3 * attribute_of(device.index, cudaDevAttrMemoryClockRate);
  if (!(bits > 0) || !(hz > 0)) return std::nullopt;
  return PeakShare{bytes_per_s / (bits / 8 * 2 * hz),
                   fmt::format("{:.0f} bits x 2 x {:.0f} MHz", bits, hz * 1e-6)};
}

MemoryLevel dram_level(const Bench& bench, const BandwidthArrays& arrays, const Say& say) {
  MemoryLevel level;
  level.name = "DRAM";
  level.capacity_bytes = {static_cast<double>(bench.device().memory_bytes),
                          "cudaDeviceProp::totalGlobalMem"};
  const std::int64_t bytes = arrays.bytes();
  for (const AccessMix mix : all_mixes) {
    say(fmt::format("DRAM {}", name_of(mix)));
    const Bench::Enqueue once = [&](cudaStream_t stream) {
      stream_once(mix, arrays.all(), bytes, bench.options().seed, stream);
    };
    arrays.poison();
    once(bench.stream());
    arrays.check_result(bench, mix, bytes);
    const Timing timing = bench.time(once);
    MixBandwidth found{
        mix, rate_of(moved_bytes(mix, static_cast<double>(bytes)), timing,
                     fmt::format("{} of arrays of {}, 16 bytes per access, a grid as large as the "
                                 "array; the median",
                                 name_of(mix), format_capacity(static_cast<double>(bytes))))};
    found.bytes_per_s.evidence->share = share_of_dram(bench.device(), found.bytes_per_s.value);
    level.mixes.push_back(std::move(found));
  }
  set_envelope(level);
  return level;
}

/// The fastest of some working sets, timed well.
MixBandwidth best_bandwidth(const Bench& bench, const BandwidthArrays& arrays, AccessMix mix,
                            Caching caching, std::span<const std::int64_t> sets,
                            std::string_view what) {
  std::int64_t best_set = sets.front();
  double best_rate = 0;
  for (const std::int64_t set : sets) {
    const TileLoopRun run = arrays.plan(bench, mix, caching, set);
    const double rate = run.moved / bench.glance(run.enqueue);
    if (rate > best_rate) {
      best_rate = rate;
      best_set = set;
    }
  }
  const TileLoopRun run = arrays.plan(bench, mix, caching, best_set);
  const Timing timing = bench.time(run.enqueue);
  arrays.check_loop(bench, mix, run);
  return {mix, rate_of(run.moved, timing,
                       fmt::format("{} of a working set of {} again and again, {}; the best of {} "
                                   "sizes; the median",
                                   name_of(mix), format_capacity(static_cast<double>(best_set)),
                                   what, sets.size()))};
}

MemoryLevel l2_level(const Bench& bench, const BandwidthArrays& arrays, const Say& say) {
  MemoryLevel level;
  level.name = "L2";
  level.is_on_chip = true;
  level.capacity_bytes = {static_cast<double>(bench.device().l2_bytes),
                          "cudaDeviceProp::l2CacheSize"};
  const std::int64_t l2 = bench.device().l2_bytes;
  const std::array<std::int64_t, 3> sets = {l2 / 4, l2 / 2, l2 / 4 * 3};
  for (const AccessMix mix : all_mixes) {
    say(fmt::format("L2 {}", name_of(mix)));
    level.mixes.push_back(best_bandwidth(bench, arrays, mix, Caching::shared_level, sets,
                                         "past the L1 (ld.global.cg)"));
  }
  set_envelope(level);
  return level;
}

/// L1 and shared memory are one array of each SM; the level's bandwidth is the better way to read.
MemoryLevel l1_level(const Bench& bench, const BandwidthArrays& arrays, const Say& say) {
  const DeviceInfo& device = bench.device();
  MemoryLevel level;
  level.name = "L1";
  level.is_on_chip = true;
  level.instances = device.sm_count;
  level.capacity_bytes = {
      static_cast<double>(attribute_of(device.index, cudaDevAttrMaxSharedMemoryPerMultiprocessor)) *
          device.sm_count,
      "cudaDeviceProp: shared memory of an SM (L1 and shared memory are one array) x SMs"};
  say("L1 read");
  constexpr std::array<std::int64_t, 3> sets = {16 << 10, 32 << 10, 64 << 10};
  MixBandwidth cached = best_bandwidth(bench, arrays, AccessMix::read, Caching::all_levels, sets,
                                       "the same in every SM, through the L1 (ld.global.ca)");
  say("shared memory read");
  const int blocks = 8 * device.sm_count;
  const std::int64_t passes = 20'000;
  const Timing timing = bench.time([&](cudaStream_t stream) {
    read_shared(arrays.all().checksums, blocks, passes, bench.options().seed, stream);
  });
  const double moved =
      static_cast<double>(shared_tile_bytes) * blocks * static_cast<double>(passes);
  MixBandwidth shared{AccessMix::read,
                      rate_of(moved, timing,
                              "shared memory, 16 bytes per thread and access, without bank "
                              "conflicts; the median")};
  const bool is_shared_better = shared.bytes_per_s.value > cached.bytes_per_s.value;
  const MixBandwidth& other = is_shared_better ? cached : shared;
  MixBandwidth best = is_shared_better ? shared : cached;
  best.bytes_per_s.evidence->notes.push_back(
      fmt::format("{}: {}", is_shared_better ? "through the L1" : "shared memory",
                  format_bytes_per_s(other.bytes_per_s.value, 4)));
  level.bandwidth_bytes_per_s = best.bytes_per_s;
  level.mixes.push_back(std::move(best));
  return level;
}

WorkingSetCurve curve_of(const Bench& bench, const BandwidthArrays& arrays, AccessMix mix,
                         const Say& say) {
  WorkingSetCurve curve;
  curve.mix = mix;
  curve.source = fmt::format(
      "measured: {} of the working set again and again by all SMs, through every cache, in tiles "
      "of {}; each point a median",
      name_of(mix), format_capacity(loop_tile_bytes));
  const double arrays_of_mix = moved_bytes(mix, 1);
  const auto most = static_cast<std::int64_t>(static_cast<double>(arrays.bytes()) *
                                              (mix == AccessMix::read ? 1 : arrays_of_mix));
  const std::int64_t factor = bench.options().is_quick ? 4 : 2;
  const Effort effort{.samples = bench.options().is_quick ? 3 : 7,
                      .sample_s = 2e-3,
                      .least_warm_up_s = 0.01,
                      .most_warm_up_s = 0.05};
  for (auto set = static_cast<std::int64_t>(arrays_of_mix) * loop_tile_bytes; set <= most;
       set *= factor) {
    say(fmt::format("{} of {}", name_of(mix), format_capacity(static_cast<double>(set))));
    const TileLoopRun run = arrays.plan(bench, mix, Caching::all_levels, set);
    curve.points.push_back(
        {static_cast<double>(set), run.moved / bench.time(run.enqueue, effort).median_s()});
  }
  return curve;
}

std::int64_t bytes_per_array(const Bench& bench, std::vector<std::string>& warnings) {
  std::size_t free_bytes = 0, total_bytes = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free_bytes, &total_bytes));
  const std::int64_t wanted = std::int64_t{1} << (bench.options().is_quick ? 30 : 32);
  std::int64_t bytes = wanted;  // a power of two, so that the curve ends at it
  while (bytes > static_cast<std::int64_t>(free_bytes / 4)) bytes /= 2;
  const std::int64_t least = 4 * bench.device().l2_bytes;
  if (bytes < least) {
    warnings.push_back(
        fmt::format("only {} of the GPU's memory are free: arrays of {} are less than 4 times the "
                    "L2, so the bandwidth of DRAM is too high",
                    format_capacity(static_cast<double>(free_bytes)),
                    format_capacity(static_cast<double>(bytes))));
  }
  return std::max(bytes, std::int64_t{64} << 20);
}

}  // namespace

void measure_memory(const Bench& bench, const Say& say, Machine& machine) {
  const BandwidthArrays arrays(bench, bytes_per_array(bench, machine.measured->warnings));
  machine.memory.push_back(l1_level(bench, arrays, say));
  machine.memory.push_back(l2_level(bench, arrays, say));
  machine.memory.push_back(dram_level(bench, arrays, say));
  machine.curves.push_back(curve_of(bench, arrays, AccessMix::read, say));
  if (!bench.options().is_quick)
    machine.curves.push_back(curve_of(bench, arrays, AccessMix::copy, say));
}

}  // namespace strata::cuda
