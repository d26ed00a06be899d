// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_records.hpp"

#include "strata/capture/log_windows.hpp"
#include "strata/capture/numbers_of_cupti.hpp"
#include "strata/capture/readable_symbol.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace strata {
namespace {

/// The record, when the bytes hold one.
template <class Record>
bool copy_record(std::span<const char> bytes, Record& record) {
  if (bytes.size() < sizeof(Record)) return false;
  std::memcpy(&record, bytes.data(), sizeof(Record));
  return true;
}

/// "cudaLaunchKernel_v7000" without the version.
std::string_view without_version(std::string_view name) {
  const std::size_t end = name.rfind("_v");
  if (end == std::string_view::npos || end + 2 == name.size()) return name;
  const std::string_view digits = name.substr(end + 2);
  const bool is_version =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_version ? name.substr(0, end) : name;
}

constexpr std::uint64_t latest_log_ns = std::uint64_t{1} << 62;  // the year 2116

std::int64_t log_bytes(std::uint64_t bytes) {
  return bytes < latest_log_ns ? static_cast<std::int64_t>(bytes) : unknown_bytes;
}

}  // namespace

LogRecords::LogRecords(Recording& recording, const LogPage& page)
    : recording_(recording), clock_offset_ns_(0) {
  if (page.unix_ns < latest_log_ns && page.recorder_ns < latest_log_ns)
    clock_offset_ns_ =
        static_cast<std::int64_t>(page.unix_ns) - static_cast<std::int64_t>(page.recorder_ns);
}

std::int64_t LogRecords::time(std::uint64_t recorder_ns) {
  const std::int64_t at =
      static_cast<std::int64_t>(std::min(recorder_ns, latest_log_ns)) + clock_offset_ns_;
  last_ns_ = std::max(last_ns_, at);
  return at;
}

bool LogRecords::span(std::uint64_t start_ns, std::uint64_t end_ns, TimeSpan& out) {
  if (end_ns < start_ns || end_ns >= latest_log_ns) return false;
  out = {time(start_ns), time(end_ns)};
  return true;
}

NameId LogRecords::name(std::uint32_t id) {
  if (id == 0) return 0;
  const auto [entry, is_new] = names_.try_emplace(id, NameId{0});
  if (is_new) entry->second = recording_.names.id_of(texts_[id]);
  return entry->second;
}

NameId LogRecords::kernel_name(std::uint32_t id) {
  const auto [entry, is_new] = kernel_names_.try_emplace(id, NameId{0});
  if (is_new) entry->second = recording_.names.id_of(readable_symbol(texts_[id]));
  return entry->second;
}

NameId LogRecords::call_name(std::uint32_t id, ApiKind kind) {
  if (kind == ApiKind::driver) return name(id);
  const auto [entry, is_new] = call_names_.try_emplace(id, NameId{0});
  if (is_new) entry->second = recording_.names.id_of(without_version(texts_[id]));
  return entry->second;
}

bool LogRecords::add(LogHead head, std::span<const char> bytes) {
  switch (head.kind) {
    case LogKind::name:
    case LogKind::info: return add_text(head, bytes);
    case LogKind::kernel: return add_kernel(bytes);
    case LogKind::copy: return add_copy(bytes);
    case LogKind::fill: return add_fill(bytes);
    case LogKind::memory: return add_memory(bytes);
    case LogKind::runtime: return add_call(bytes, ApiKind::runtime);
    case LogKind::driver: return add_call(bytes, ApiKind::driver);
    case LogKind::sync: return add_sync(bytes);
    case LogKind::marker: return add_marker(bytes);
    case LogKind::overhead: return add_overhead(bytes);
    case LogKind::device: return add_device(bytes);
    case LogKind::counted: return add_counted(bytes);
    case LogKind::context: {
      LogContext context;
      if (!copy_record(bytes, context)) return false;
      devices_of_contexts_[context.head.value] = context.device;
      return true;
    }
    case LogKind::window: {
      LogWindow window;
      if (!copy_record(bytes, window)) return false;
      window_marks_.emplace_back(time(window.at_ns), window.head.value != 0);
      return true;
    }
    case LogKind::lost: {
      LogLost lost;
      if (!copy_record(bytes, lost) || lost.records > latest_log_ns) return false;
      std::int64_t& sum = lost.head.value == 1 ? untimed_ : lost_;
      const auto records = static_cast<std::int64_t>(lost.records);
      if (sum > static_cast<std::int64_t>(latest_log_ns) - records)
        return false;  // nobody loses more
      sum += records;
      return true;
    }
    default: return true;  // of a later program
  }
}

bool LogRecords::add_text(LogHead head, std::span<const char> bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof head + sizeof length) return false;
  std::memcpy(&length, bytes.data() + sizeof head, sizeof length);
  const std::span<const char> body = bytes.subspan(sizeof head + sizeof length);
  if (length > body.size()) return false;
  const std::string_view text(body.data(), static_cast<std::size_t>(length));
  if (head.kind == LogKind::info) return add_info(head, text);
  texts_[head.value] = text;
  names_.erase(head.value);
  kernel_names_.erase(head.value);
  call_names_.erase(head.value);
  return true;
}

bool LogRecords::add_info(LogHead head, std::string_view text) {
  switch (static_cast<LogInfo>(head.value)) {
    case LogInfo::command: recording_.process.command = text; break;
    case LogInfo::host: recording_.process.host = text; break;
    case LogInfo::note: recording_.notes.emplace_back(text); break;
    case LogInfo::counters:
      counter_names_.clear();
      while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) counter_names_.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
      }
      break;
    default: break;
  }
  return true;
}

bool LogRecords::add_kernel(std::span<const char> bytes) {
  LogKernel kernel;
  TimeSpan when;
  if (!copy_record(bytes, kernel) || !span(kernel.start_ns, kernel.end_ns, when)) return false;
  recording_.kernels.push_back({.time = when,
                                .correlation = kernel.correlation,
                                .graph_node = kernel.graph_node,
                                .name = kernel_name(kernel.head.value),
                                .device = kernel.device,
                                .stream = kernel.stream,
                                .grid = kernel.grid,
                                .block = kernel.block,
                                .registers = kernel.registers,
                                .static_shared_bytes = kernel.static_shared_bytes,
                                .dynamic_shared_bytes = kernel.dynamic_shared_bytes});
  return true;
}

bool LogRecords::add_copy(std::span<const char> bytes) {
  LogCopy copy;
  TimeSpan when;
  if (!copy_record(bytes, copy) || !span(copy.start_ns, copy.end_ns, when)) return false;
  recording_.copies.push_back({.time = when,
                               .bytes = log_bytes(copy.bytes),
                               .correlation = copy.correlation,
                               .graph_node = copy.graph_node,
                               .device = copy.device,
                               .peer_device = copy.peer_device,
                               .stream = copy.stream,
                               .kind = copy_kind_of_cupti(copy.head.value & 0xff),
                               .source = memory_place_of_cupti(copy.head.value >> 8 & 0xff),
                               .destination = memory_place_of_cupti(copy.head.value >> 16 & 0xff)});
  return true;
}

bool LogRecords::add_fill(std::span<const char> bytes) {
  LogFill fill;
  TimeSpan when;
  if (!copy_record(bytes, fill) || !span(fill.start_ns, fill.end_ns, when)) return false;
  recording_.fills.push_back({.time = when,
                              .bytes = log_bytes(fill.bytes),
                              .correlation = fill.correlation,
                              .graph_node = fill.graph_node,
                              .device = fill.device,
                              .stream = fill.stream});
  return true;
}

bool LogRecords::add_memory(std::span<const char> bytes) {
  LogMemory memory;
  if (!copy_record(bytes, memory)) return false;
  const MemoryKind place = memory_place_of_cupti(memory.head.value >> 8 & 0xff);
  const bool is_host = place == MemoryKind::pageable || place == MemoryKind::pinned;
  recording_.memory.push_back({.at_ns = time(memory.at_ns),
                               .address = memory.address,
                               .bytes = log_bytes(memory.bytes),
                               .device = is_host ? unknown_device : memory.device,
                               .place = place,
                               .is_allocation = (memory.head.value & 0xff) != 2});
  return true;
}

bool LogRecords::add_call(std::span<const char> bytes, ApiKind kind) {
  LogCall call;
  TimeSpan when;
  if (!copy_record(bytes, call) || !span(call.start_ns, call.end_ns, when)) return false;
  recording_.calls.push_back({.time = when,
                              .correlation = call.correlation,
                              .name = call_name(call.head.value, kind),
                              .thread = call.thread,
                              .kind = kind});
  return true;
}

bool LogRecords::add_sync(std::span<const char> bytes) {
  LogSync sync;
  TimeSpan when;
  if (!copy_record(bytes, sync) || !span(sync.start_ns, sync.end_ns, when)) return false;
  recording_.syncs.push_back({.time = when,
                              .correlation = sync.correlation,
                              .stream = sync.stream,
                              .kind = sync_kind_of_cupti(sync.head.value)});
  sync_contexts_.push_back(sync.context);
  return true;
}

bool LogRecords::add_marker(std::span<const char> bytes) {
  LogMarker marker;
  if (!copy_record(bytes, marker)) return false;
  const std::int64_t at = time(marker.at_ns);
  if (marker.part == MarkerPart::begin) {
    open_ranges_[marker.id] = {at, name(marker.head.value), name(marker.domain), marker.thread};
  } else if (marker.part == MarkerPart::end) {
    const auto open = open_ranges_.find(marker.id);
    if (open == open_ranges_.end()) return true;  // it began before recording did
    const OpenRange& range = open->second;
    recording_.ranges.push_back({.time = {range.start_ns, std::max(at, range.start_ns)},
                                 .name = range.name,
                                 .domain = range.domain,
                                 .thread = range.thread});
    open_ranges_.erase(open);
  } else if (marker.part == MarkerPart::instant) {
    recording_.ranges.push_back({.time = {at, at},
                                 .name = name(marker.head.value),
                                 .domain = name(marker.domain),
                                 .thread = marker.thread});
  }
  return true;
}

bool LogRecords::add_overhead(std::span<const char> bytes) {
  LogOverhead overhead;
  TimeSpan when;
  if (!copy_record(bytes, overhead) || !span(overhead.start_ns, overhead.end_ns, when))
    return false;
  recording_.overheads.push_back(
      {.time = when, .name = name(overhead.head.value), .thread = overhead.thread});
  return true;
}

bool LogRecords::add_device(std::span<const char> bytes) {
  LogDevice device;
  if (!copy_record(bytes, device)) return false;
  std::vector<RecordedDevice>& devices = recording_.process.devices;
  const auto same = std::find_if(devices.begin(), devices.end(), [&](const RecordedDevice& one) {
    return one.id == device.head.value;
  });
  if (same != devices.end()) return true;
  const auto small = [](std::uint32_t number) {
    return static_cast<std::int32_t>(number & 0x7fffffffU);
  };
  devices.push_back(
      {.id = device.head.value,
       .name = std::string(recording_.names.text(name(device.name))),
       .memory_bytes = std::max<std::int64_t>(log_bytes(device.memory_bytes), 0),
       .multiprocessors = small(device.multiprocessors),
       .compute_major = small(device.compute_major),
       .compute_minor = small(device.compute_minor),
       .warp_size = small(device.warp_size),
       .max_threads_per_multiprocessor = small(std::min(device.warps_per_multiprocessor, 1U << 15) *
                                               std::min(device.warp_size, 1U << 15)),
       .registers_per_multiprocessor = small(device.registers_per_multiprocessor),
       .shared_bytes_per_multiprocessor = device.shared_bytes_per_multiprocessor});
  return true;
}

bool LogRecords::add_counted(std::span<const char> bytes) {
  LogCounted counted;
  if (!copy_record(bytes, counted)) return false;
  const std::size_t values = counter_names_.size();
  if (counted.values != values || bytes.size() != sizeof counted + values * sizeof(double))
    return false;
  // In the order of launches; there are no times.
  recording_.kernels.push_back(
      {.correlation = counted.launch + 1, .name = kernel_name(counted.head.value)});
  std::vector<double> numbers(values);
  std::memcpy(numbers.data(), bytes.data() + sizeof counted, values * sizeof(double));
  recording_.counters.values.insert(recording_.counters.values.end(), numbers.begin(),
                                    numbers.end());
  return true;
}

void LogRecords::finish() {
  for (std::size_t i = 0; i < recording_.syncs.size(); ++i) {
    const auto device = devices_of_contexts_.find(sync_contexts_[i]);
    if (device != devices_of_contexts_.end()) recording_.syncs[i].device = device->second;
  }
  for (const auto& [id, range] : open_ranges_) {
    recording_.ranges.push_back({.time = {range.start_ns, std::max(last_ns_, range.start_ns)},
                                 .name = range.name,
                                 .domain = range.domain,
                                 .thread = range.thread});
  }
  open_ranges_.clear();
  const bool is_counted = !recording_.counters.values.empty();
  if (is_counted) {
    for (const std::string& counter : counter_names_) {
      recording_.counters.names.push_back(recording_.names.id_of(counter));
      recording_.counters.units.push_back(0);
    }
    recording_.process.has_times = false;
    recording_.process.kernels_were_serialised = true;
  }
  std::vector<TimeSpan> windows;
  for (const auto& [at, opens] : window_marks_) {
    if (opens) {
      windows.push_back({at, std::numeric_limits<std::int64_t>::max()});
    } else if (!windows.empty()) {
      windows.back().end_ns = std::max(at, windows.back().start_ns);
    }
  }
  if (!windows.empty() && !is_counted) keep_windows(recording_, windows);
}

}  // namespace strata
