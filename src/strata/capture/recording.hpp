// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/name_table.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What was recorded of one process that used a GPU, whoever recorded it: strata capture, the
/// PyTorch profiler, Nsight Systems, Nsight Compute. Flat arrays of rows of fixed size, names by
/// number, so that millions of kernels fit.
///
/// Times are nanoseconds of one clock, the same for host and device; `clock_is_unix` says whether
/// that clock counts from 1970. Rows need not be in order until `sort_by_start`.
namespace strata {

/// Stands for a number that the recorder did not write.
inline constexpr std::uint32_t unknown_device = 0xffffffffU;
inline constexpr std::int64_t unknown_bytes = -1;
inline constexpr std::uint32_t unknown_count = 0xffffffffU;  ///< registers, shared memory

struct TimeSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  std::int64_t length_ns() const { return end_ns - start_ns; }
  bool operator==(const TimeSpan&) const = default;
};

struct KernelRecord {
  TimeSpan time = {};
  std::uint64_t correlation = 0;  ///< of the call that launched it; 0: not known
  std::uint64_t graph_node = 0;   ///< of the CUDA graph that it is a node of; 0: of none
  NameId name = 0;                ///< readable (demangled)
  NameId origin = 0;              ///< what the recorder says it belongs to, as XLA names its ranges
                                  ///< (xla_names.hpp); 0: it says nothing
  std::uint32_t device = unknown_device;
  std::uint32_t stream = 0;
  std::array<std::uint32_t, 3> grid = {};  ///< zeros: not known
  std::array<std::uint32_t, 3> block = {};
  std::uint32_t registers = unknown_count;  ///< per thread
  std::uint32_t static_shared_bytes = unknown_count;
  std::uint32_t dynamic_shared_bytes = unknown_count;  ///< where only a sum is known, it is here
  /// Of a collective: the larger of what a rank hands over and what it gets. Below 0: not known.
  std::int64_t message_bytes = unknown_bytes;
};

/// Blocks of a grid, or threads of a block; an extent that was not written counts as 1. Nothing:
/// the first was not written, or there are more than 64 bits hold, which no GPU launches.
inline std::optional<std::int64_t> launched_count(const std::array<std::uint32_t, 3>& extents) {
  if (extents[0] == 0) return std::nullopt;
  std::int64_t all = 1;
  for (const std::uint32_t extent : extents) {
    if (__builtin_mul_overflow(all, std::max(1U, extent), &all)) return std::nullopt;
  }
  return all;
}

enum class MemoryKind : std::uint8_t { unknown, pageable, pinned, device, managed, array };
enum class CopyKind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer_to_peer,
  host_to_host
};

struct CopyRecord {
  TimeSpan time = {};
  std::int64_t bytes = unknown_bytes;
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t device = unknown_device;
  std::uint32_t peer_device = unknown_device;  ///< where it goes to, between two devices
  std::uint32_t stream = 0;
  CopyKind kind = CopyKind::unknown;
  MemoryKind source = MemoryKind::unknown;
  MemoryKind destination = MemoryKind::unknown;
};

struct FillRecord {  ///< a memset
  TimeSpan time = {};
  std::int64_t bytes = unknown_bytes;
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t device = unknown_device;
  std::uint32_t stream = 0;
};

struct MemoryEvent {
  std::int64_t at_ns = 0;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  ///< of a free: what is freed; unknown_bytes: by its address
  std::int64_t total_bytes = unknown_bytes;  ///< allocated after it, where the recorder says so
  std::uint32_t device = unknown_device;     ///< unknown_device for memory of the host
  MemoryKind place = MemoryKind::device;
  bool is_allocation = true;
  bool is_framework = false;  ///< by a framework's own allocator, inside what it asked CUDA for
};

enum class ApiKind : std::uint8_t { runtime, driver };

struct ApiRecord {
  TimeSpan time = {};
  std::uint64_t correlation = 0;
  NameId name = 0;  ///< "cudaLaunchKernel"; of the runtime without the version suffix "_v7000"
  std::uint32_t thread = 0;
  ApiKind kind = ApiKind::runtime;
};

enum class SyncKind : std::uint8_t { unknown, event, stream_waits_event, stream, context };

struct SyncRecord {
  TimeSpan time = {};
  std::uint64_t correlation = 0;
  std::uint32_t device = unknown_device;
  std::uint32_t stream = 0;
  SyncKind kind = SyncKind::unknown;
};

/// Who opened a range of time on a thread.
enum class RangeKind : std::uint8_t {
  nvtx,
  user,       ///< record_function of PyTorch, "ProfilerStep#3"
  framework,  ///< an operator of a framework, "aten::conv2d"
  call        ///< a function of the program (a Python call)
};

struct RangeRecord {
  TimeSpan time = {};
  std::uint64_t id = 0;  ///< sequence number that ties backward to forward; 0: none
  NameId name = 0;
  NameId domain = 0;  ///< NVTX domain; empty: the default one
  std::uint32_t thread = 0;
  RangeKind kind = RangeKind::nvtx;
  bool is_backward = false;  ///< known to belong to the backward pass
  NameId inputs = 0;  ///< sizes of an operator's inputs, "32,3,8,8;64,3,3,3"; 0: not recorded
};

/// Time that the recorder itself took.
struct OverheadRecord {
  TimeSpan time = {};
  NameId name = 0;  ///< "buffer flush"
  std::uint32_t thread = 0;
};

/// Counters of kernels: `values[kernel × names.size() + column]`, NaN where there is none. Kernels
/// are in the order of Recording::kernels. Empty: no counters were read.
struct RecordedCounters {
  std::vector<NameId> names;  ///< "dram__bytes_read.sum"
  std::vector<NameId> units;  ///< as many; base units: "byte", "ns", "%"
  std::vector<double> values;
};

/// What a profiler added up over launches, copies or calls of one name, of which it kept none.
enum class SumKind : std::uint8_t { kernel, copy, fill, call };
struct RecordedSum {
  NameId name = 0;
  SumKind kind = SumKind::kernel;
  std::uint32_t device = unknown_device;
  CopyKind copy = CopyKind::unknown;  ///< of copies
  std::int64_t calls = 0;
  std::int64_t total_ns = 0;
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;
};

/// A counter that a profiler added up over the launches of a kernel on a device.
struct RecordedMetric {
  NameId kernel = 0;
  NameId name = 0;  ///< as the profiler calls it: "flop_count_dp"
  NameId unit = 0;  ///< "%", "B/s"; 0: a plain number
  std::uint32_t device = unknown_device;
  std::int64_t launches = 0;
  double least = 0;
  double most = 0;
  double mean = 0;
};

struct RecordedDevice {
  std::uint32_t id = 0;
  std::string name = {};
  std::int64_t memory_bytes = 0;  ///< 0: not known, as everything that follows
  std::int32_t multiprocessors = 0;
  std::int32_t compute_major = 0;
  std::int32_t compute_minor = 0;
  std::int32_t warp_size = 0;
  std::int32_t max_threads_per_multiprocessor = 0;
  std::int32_t registers_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_multiprocessor = 0;
};

/// Which process, where, and who wrote it down. Empty and 0 where it is not known.
struct ProcessInfo {
  std::int64_t pid = 0;
  std::int64_t rank = -1;  ///< of a distributed job; -1: not known
  std::string host;
  std::string command;
  std::string date;           ///< ISO 8601
  std::string source_format;  ///< "Kineto JSON", "Nsight Systems SQLite", "strata capture", …
  std::string ending;         ///< how recording ended, when it did not end as it should
  bool clock_is_unix = false;
  bool kernels_were_serialised = false;  ///< counters were read: durations hold, gaps do not
  bool has_times = true;                 ///< start and end mean something (not in Nsight Compute's)
  std::vector<RecordedDevice> devices;
};

struct Recording {
  ProcessInfo process;
  NameTable names;
  std::vector<KernelRecord> kernels;
  std::vector<CopyRecord> copies;
  std::vector<FillRecord> fills;
  std::vector<MemoryEvent> memory;
  std::vector<ApiRecord> calls;
  std::vector<SyncRecord> syncs;
  std::vector<RangeRecord> ranges;
  std::vector<OverheadRecord> overheads;
  RecordedCounters counters;
  std::vector<RecordedSum> sums;        ///< of a summary, which has no single records
  std::vector<RecordedMetric> metrics;  ///< likewise
  std::int64_t lost_records = 0;        ///< that the recorder had no room for
  std::vector<std::string> notes;       ///< what a reader left out, for people
};

/// What every reader promises: ends are not before starts, and no sum of times or bytes of a table
/// needs more than 64 bits. Errors (input) name the table.
void check_recording(const Recording& recording);

/// Every array by start (ranges of equal start: the longer first), counters with their kernels.
void sort_by_start(Recording& recording);

/// From the first start to the last end of all that a device did; of calls and ranges where it did
/// nothing. {0, 0} of an empty recording.
TimeSpan device_span(const Recording& recording);

}  // namespace strata
