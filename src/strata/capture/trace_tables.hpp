// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/kernel_class.hpp"
#include "strata/capture/recording.hpp"
#include "strata/capture/recording_cost.hpp"
#include "strata/gpu/occupancy.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a recording adds up to: kernels, their classes and layers, calls, copies, memory, and what
/// each device did when it ran no kernel. Plain data; docs/recordings.md says how each is found.
namespace strata {

/// How often and how long.
struct Durations {
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;

  void add(std::int64_t length_ns);
  void add(const RecordedSum& sum);
  double mean_ns() const {
    return calls == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(calls);
  }
};

/// What counters say of a kernel: the mean over its launches, by their time.
struct KernelCounters {
  std::optional<double> load_efficiency;    ///< bytes asked for, of the sectors that were moved
  std::optional<double> shared_efficiency;  ///< bytes moved, of what the wavefronts could move
  std::optional<double> warp_efficiency;    ///< threads that were active in an instruction
};

struct KernelRow {
  std::string name;
  KernelClass kernel_class;
  Durations time;
  KernelRecord longest;                ///< the launch that took longest: its grid, block, registers
  std::optional<Occupancy> occupancy;  ///< of that launch
  std::int64_t few_blocks_calls = 0;   ///< launches with fewer blocks than multiprocessors
  std::int64_t few_blocks_ns = 0;
  KernelCounters counters;
};

struct ClassRow {
  std::string name;
  std::string algorithm;
  Durations time;
};

struct LayerRow {
  std::string layer;
  std::string pass;
  std::string kernel_class;  ///< that of most of its time
  Durations time;
};

struct ApiRow {
  std::string name;
  ApiKind kind = ApiKind::runtime;
  Durations time;
};

/// Copies of one direction between the same kinds of memory.
struct CopyRow {
  CopyKind kind = CopyKind::unknown;
  MemoryKind source = MemoryKind::unknown;
  MemoryKind destination = MemoryKind::unknown;
  Durations time;
  std::int64_t bytes = 0;          ///< of those of which it is known
  std::int64_t known_ns = 0;       ///< the time of those
  std::int64_t unknown_calls = 0;  ///< without a size
  std::array<std::int64_t, 8> by_size =
      {};  ///< calls: below 1 K, 16 K, 256 K, 4 M, 64 M, 1 G, more; last: size not known
  std::int64_t small_calls = 0;  ///< below 64 K
  std::int64_t small_ns = 0;
  std::int64_t under_kernels_ns = 0;  ///< of the time, while a kernel ran on that device

  double bytes_per_s() const {
    return known_ns > 0 ? 1e9 * static_cast<double>(bytes) / static_cast<double>(known_ns) : 0;
  }
};

/// One kind of collective (all_reduce, all_gather, …), over all devices.
struct CollectiveRow {
  std::string name;
  Durations time;
  std::int64_t exposed_ns = 0;   ///< of the time, while no other kernel ran on that device
  std::int64_t known_calls = 0;  ///< whose size is recorded
  std::int64_t known_ns = 0;     ///< the time of those
  std::int64_t bytes = 0;        ///< of those: what a rank hands over or gets, the larger

  double bytes_per_s() const {
    return known_ns > 0 ? 1e9 * static_cast<double>(bytes) / static_cast<double>(known_ns) : 0;
  }
};

/// Memory of one device, or of the host.
struct MemoryRow {
  std::optional<std::uint32_t> device;  ///< nothing: the host
  bool is_framework = false;            ///< as the framework's allocator hands it out
  std::int64_t peak_bytes = 0;
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
  std::int64_t allocated_bytes = 0;  ///< in all: the churn
};

/// Why no kernel ran.
enum class IdleCause : std::uint8_t {
  launch,  ///< the call that launches the next kernel is under way, or made
  queued,  ///< it was launched long before, and waited for something that is not recorded
  copy,    ///< a copy or a fill ran
  sync,    ///< the thread that launches next waited for the device
  input,   ///< that thread waited for a batch of data
  host,    ///< that thread did something else
  unknown  ///< who launches next is not recorded
};
inline constexpr std::size_t idle_causes = 7;
std::string_view name_of(IdleCause cause);

struct DeviceRow {
  std::uint32_t device = unknown_device;
  std::string name;
  std::int64_t kernels = 0;
  std::int64_t span_ns = 0;         ///< from the first kernel's start to the last one's end
  std::int64_t kernel_sum_ns = 0;   ///< each kernel's time added up
  std::int64_t kernel_busy_ns = 0;  ///< at least one kernel ran
  std::int64_t concurrent_ns = 0;   ///< at least two
  std::size_t most_at_once = 0;
  std::int64_t copy_busy_ns = 0;  ///< at least one copy ran
  std::int64_t copies_at_once_ns = 0;
  std::int64_t copy_exposed_ns = 0;  ///< a copy ran, and no kernel
  std::int64_t collective_busy_ns = 0;
  std::int64_t collective_exposed_ns = 0;  ///< a collective ran, and no other kernel
  std::int64_t gaps = 0;
  std::int64_t longest_gap_ns = 0;
  std::array<std::int64_t, idle_causes> idle_ns = {};  ///< by cause; adds up to span − busy

  std::int64_t all_idle_ns() const { return span_ns - kernel_busy_ns; }
};

struct StepTimes {
  std::size_t count = 0;
  std::string how;
  std::int64_t least_ns = 0;
  std::int64_t median_ns = 0;
  std::int64_t most_ns = 0;
};

/// A counter of a kernel over all its launches and devices.
struct MetricRow {
  std::string kernel;
  std::string metric;
  std::string unit;  ///< "%", "B/s"; empty: a plain number
  std::int64_t launches = 0;
  double least = 0;
  double most = 0;
  double mean = 0;
};

struct TraceTables {
  ProcessInfo process;
  TimeSpan span;  ///< of all that devices did
  Durations kernels;
  std::vector<KernelRow> by_kernel;  ///< longest first, as all that follow
  std::vector<ClassRow> by_class;
  std::vector<LayerRow> by_layer;
  std::vector<ApiRow> by_api;
  std::vector<CopyRow> by_copy;
  std::vector<CollectiveRow> by_collective;
  std::vector<MetricRow> by_metric;  ///< as the profiler added them up; in its order
  std::vector<MemoryRow> memory;
  std::vector<DeviceRow> devices;
  StepTimes steps;
  std::int64_t fills = 0;
  std::int64_t fills_ns = 0;
  std::int64_t overhead_ns = 0;                 ///< of the recorder itself, as it says
  std::optional<RecordingCost> recording_cost;  ///< as it was measured elsewhere
  std::int64_t lost_records = 0;
  std::int64_t launched_ns = 0;  ///< of the kernels' time, that whose launch is recorded
  std::vector<std::string> notes;
};

TraceTables make_trace_tables(const Recording& recording);

std::string_view name_of(CopyKind kind);
std::string_view name_of(MemoryKind place);

/// How many warps of a multiprocessor the launch can fill; nothing where the device or the launch
/// is not described.
std::optional<Occupancy> occupancy_of(const KernelRecord& kernel, const RecordedDevice& device);

const RecordedDevice* device_of(const ProcessInfo& process, std::uint32_t device);

}  // namespace strata
