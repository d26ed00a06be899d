// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/collectives.hpp"

#include "strata/base/error.hpp"
#include "strata/base/this_run.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

namespace strata {
namespace {

constexpr std::array all_collectives = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                        CollectiveKind::reduce_scatter, CollectiveKind::all_to_all,
                                        CollectiveKind::point_to_point};
constexpr double wide_spread = 0.2;  // of the median: something else used the GPUs or their links

/// 2, 4, 8, …, and all of them.
std::vector<int> group_sizes(int devices) {
  std::vector<int> sizes;
  for (int ranks = 2; ranks < devices; ranks *= 2) sizes.push_back(ranks);
  sizes.push_back(devices);
  return sizes;
}

/// Every rank has whole numbers of four bytes; sizes too small for that are left out.
std::vector<std::int64_t> sizes_for(int ranks, const CollectiveOptions& options) {
  const std::int64_t step = 4 * ranks;
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = options.least_bytes;; bytes = std::min(4 * bytes, options.most_bytes)) {
    const std::int64_t whole = bytes / step * step;
    if (whole > 0 && (sizes.empty() || whole > sizes.back())) sizes.push_back(whole);
    if (bytes >= options.most_bytes) return sizes;
  }
}

struct CollectiveSamples {
  double median_s = 0, spread = 0;
};

/// Warms up until the time stands still, then takes samples of some milliseconds each.
CollectiveSamples time_collective(GpuGroup& group, CollectiveKind kind, std::int64_t bytes,
                                  bool is_quick) {
  constexpr int most_warm_ups = 20, most_repeats = 1000;
  constexpr double is_steady = 0.02;
  const double sample_s = is_quick ? 1e-3 : 3e-3;
  const auto repeats_for = [&](double one_s) {
    return static_cast<int>(
        std::clamp(std::ceil(sample_s / std::max(one_s, 1e-7)), 1.0, double{most_repeats}));
  };
  double last_s = group.seconds_of(kind, bytes, 1);
  for (int i = 0; i < most_warm_ups; ++i) {
    const double now_s = group.seconds_of(kind, bytes, repeats_for(last_s));
    const bool stands_still = std::fabs(now_s - last_s) < is_steady * last_s;
    last_s = now_s;
    if (stands_still) break;
  }
  std::vector<double> samples_s(is_quick ? 5 : 11);
  for (double& sample : samples_s) sample = group.seconds_of(kind, bytes, repeats_for(last_s));
  const double median_s = median_of(samples_s);
  if (!(median_s > 0) || !std::isfinite(median_s))
    fail(ErrorKind::environment, "{} of {} bytes took {} s: the clock of the GPU does not run",
         name_of(kind), bytes, median_s);
  return {median_s, median_deviation_of(samples_s) / median_s};
}

/// The largest spread of all, and what a note says of it.
struct WidestSpread {
  double spread = 0;
  std::string of;

  void add(double one, CollectiveKind kind, int ranks, std::int64_t bytes) {
    if (one <= spread) return;
    spread = one;
    of = fmt::format("{} of {} among {} GPUs", name_of(kind),
                     format_bytes(static_cast<double>(bytes)), ranks);
  }
};

const MeasuredCollective* all_reduce_of(const Cluster& cluster, std::int64_t ranks) {
  for (const MeasuredCollective& one : cluster.collectives) {
    if (one.kind == CollectiveKind::all_reduce && one.ranks == ranks) return &one;
  }
  return nullptr;
}

/// Of groups and sizes that were not measured: what the links reach and what one step takes.
void set_inside(Cluster& cluster, const std::string& source) {
  const auto ranks = static_cast<double>(cluster.devices_per_node);
  const MeasuredCollective& of_all = *all_reduce_of(cluster, cluster.devices_per_node);
  const MeasuredCollective::Point& largest = of_all.points.back();
  ClusterLink& link = cluster.inside;
  link.reached_bytes_per_s = 2 * (ranks - 1) / ranks * largest.bytes / largest.time_s;
  if (link.bytes_per_s < link.reached_bytes_per_s) link.bytes_per_s = link.reached_bytes_per_s;
  link.source = fmt::format("reached: {}, all-reduce of {}{}", source, format_bytes(largest.bytes),
                            link.source.empty() ? "" : "; rate: " + link.source);
  // A ring of n has 2(n - 1) steps: what more ranks take more of few bytes is that of the steps.
  const MeasuredCollective& of_two = *all_reduce_of(cluster, 2);
  const double more_steps = 2 * (ranks - 2);
  const double step_s =
      (of_all.points.front().time_s - of_two.points.front().time_s) / std::max(more_steps, 1.0);
  if (more_steps > 0 && step_s > 0) link.hop_s = step_s;
}

Cluster node_of(Machine machine, std::int64_t devices) {
  try {
    return make_cluster(std::move(machine), devices, 1);
  } catch (const Error& error) {  // its file has no link, which is measured now
    if (error.kind() != ErrorKind::unsupported) throw;
  }
  Cluster cluster = make_cluster(machine, 1, 1);
  cluster.devices_per_node = devices;
  cluster.inside.name = "link";
  return cluster;
}

void note_busy_host(Cluster& cluster) {
  const auto load = recent_load();
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  if (load && *load > cores / 2)
    cluster.assumptions.push_back(fmt::format(
        "the host was busy: {:.1f} threads wanted to run on {} cores, which delays collectives of "
        "few bytes",
        *load, cores));
}

}  // namespace

void check_gpu_group(const std::vector<DeviceInfo>& devices) {
  if (devices.size() < 2)
    fail(ErrorKind::environment, "NCCL needs two GPUs; this host has {}",
         devices.empty() ? "none" : "one");
  for (const DeviceInfo& device : devices) {
    if (device.name != devices.front().name)
      fail(ErrorKind::environment,
           "a node has GPUs of one kind, and these are {} and {}; CUDA_VISIBLE_DEVICES chooses",
           devices.front().name, device.name);
  }
}

Cluster measure_collectives(GpuGroup& group, Machine machine, const CollectiveOptions& options,
                            const CeilingProgress& progress) {
  check_gpu_group(group.devices());
  const auto devices = static_cast<int>(group.devices().size());
  const std::string source = fmt::format("measured by {} on {} {}, {}, {}; medians of {} samples",
                                         group.library(), devices, group.devices().front().name,
                                         this_host(), this_moment(), options.is_quick ? 5 : 11);
  Cluster cluster = node_of(std::move(machine), devices);
  cluster.assumptions.clear();
  cluster.name = fmt::format("{}x{}-measured", devices, cluster.machine.name);
  note_busy_host(cluster);
  WidestSpread widest;
  const std::vector<int> groups = group_sizes(devices);
  std::size_t done = 0;
  for (const int ranks : groups) {
    group.join(ranks, options.most_bytes);
    for (const CollectiveKind kind : all_collectives) {
      if (kind == CollectiveKind::point_to_point && ranks > 2) continue;
      MeasuredCollective measured{.kind = kind, .ranks = ranks, .source = source, .points = {}};
      for (const std::int64_t bytes : sizes_for(ranks, options)) {
        if (progress)
          progress(fmt::format("{} among {} GPUs, {}", name_of(kind), ranks,
                               format_bytes(static_cast<double>(bytes))),
                   static_cast<double>(done) / static_cast<double>(groups.size()));
        const CollectiveSamples samples = time_collective(group, kind, bytes, options.is_quick);
        widest.add(samples.spread, kind, ranks, bytes);
        measured.points.push_back({static_cast<double>(bytes), samples.median_s});
      }
      if (!measured.points.empty()) cluster.collectives.push_back(std::move(measured));
    }
    ++done;
  }
  set_inside(cluster, source);
  if (widest.spread > wide_spread)
    cluster.assumptions.push_back(fmt::format(
        "samples spread by up to {:.0f} % of their median ({}): something else used the "
        "GPUs or their links",
        100 * widest.spread, widest.of));
  return cluster;
}

}  // namespace strata
