// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/numbers_of_cupti.hpp"
#include "strata/capture/sqlite_cells.hpp"
#include "strata/capture/sqlite_recording_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

/// What `nsys export --type sqlite` writes. Tables come and go with its versions and with what was
/// traced, and so do their columns: what is missing is unknown, not an error.
namespace strata {
namespace {

constexpr std::string_view kernel_table = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view copy_table = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view fill_table = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view call_table = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::size_t most_targets = 100'000;

/// A thread's number holds its process: 8 bits of hardware, 8 of the machine, 24 each.
std::int64_t pid_in(std::int64_t global) { return (global >> 24) & 0xffffff; }
std::uint32_t tid_in(std::int64_t global) { return static_cast<std::uint32_t>(global & 0xffffff); }

/// Nsight Systems counts kinds of memory from 0.
MemoryKind nsight_place(std::int64_t number) { return memory_place_of_cupti(number + 1); }

/// "cudaLaunchKernel_v7000" and "cudaMemcpyAsync_ptsz" are the same calls as without.
std::string_view without_call_suffix(std::string_view name) {
  const std::size_t suffix = name.rfind("_v");
  const bool is_version = suffix != name.npos && suffix + 2 < name.size() &&
                          std::all_of(name.begin() + static_cast<std::ptrdiff_t>(suffix) + 2,
                                      name.end(), [](char c) { return c >= '0' && c <= '9'; });
  // cuMemAlloc_v2 is the driver's own name of a call.
  if (is_version && name.starts_with("cuda")) name = name.substr(0, suffix);
  for (const std::string_view tail : {"_ptsz", "_ptds"}) {
    if (name.ends_with(tail)) name.remove_suffix(tail.size());
  }
  return name;
}

class NsightReader {
 public:
  explicit NsightReader(const Database& database) : database_(database) {}

  std::vector<Recording> read() {
    read_strings();
    read_kernels();
    read_copies();
    read_fills();
    read_calls();
    read_syncs();
    read_nvtx();
    read_memory();
    if (recordings_.empty()) fail(ErrorKind::input, "nothing of CUDA or NVTX is recorded in it");
    read_target();
    std::vector<Recording> recordings;
    for (auto& [pid, recording] : recordings_) {
      recording.process.pid = pid;
      recording.process.source_format = "Nsight Systems SQLite";
      check_recording(recording);
      sort_by_start(recording);
      recordings.push_back(std::move(recording));
    }
    return recordings;
  }

 private:
  Recording& of_process(std::int64_t global) {
    if (recordings_.size() > most_targets) fail(ErrorKind::input, "too many processes");
    return recordings_[pid_in(global)];
  }

  void read_strings() {
    TableRows rows(database_, "StringIds", {"id", "value"});
    while (rows.next()) strings_[rows.number_or(0, -1)] = rows.text(1);
  }

  NameId string_of(Recording& recording, const TableRows& rows, int column) {
    const auto found = strings_.find(rows.number_or(column, -1));
    if (found == strings_.end()) rows.refuse("its name is not in the table StringIds");
    return recording.names.id_of(found->second);
  }

  void read_kernels() {
    TableRows rows(database_, kernel_table,
                   {"start", "end", "globalPid", "demangledName", "deviceId", "streamId",
                    "correlationId", "graphNodeId", "gridX", "gridY", "gridZ", "blockX", "blockY",
                    "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"});
    while (rows.next()) {
      Recording& recording = of_process(rows.number_or(2, 0));
      recording.kernels.push_back(
          {.time = cupti_time(rows),
           .correlation = cupti_key(rows, 6),
           .graph_node = cupti_key(rows, 7),
           .name = string_of(recording, rows, 3),
           .device = cupti_count(rows, 4, unknown_device),
           .stream = cupti_count(rows, 5, 0),
           .grid = {cupti_count(rows, 8, 0), cupti_count(rows, 9, 0), cupti_count(rows, 10, 0)},
           .block = {cupti_count(rows, 11, 0), cupti_count(rows, 12, 0), cupti_count(rows, 13, 0)},
           .registers = cupti_count(rows, 14, unknown_count),
           .static_shared_bytes = cupti_count(rows, 15, unknown_count),
           .dynamic_shared_bytes = cupti_count(rows, 16, unknown_count)});
    }
  }

  void read_copies() {
    TableRows rows(database_, copy_table,
                   {"start", "end", "globalPid", "bytes", "copyKind", "srcKind", "dstKind",
                    "deviceId", "dstDeviceId", "streamId", "correlationId", "graphNodeId"});
    while (rows.next()) {
      const CopyKind kind = copy_kind_of_cupti(rows.number_or(4, 0));
      of_process(rows.number_or(2, 0))
          .copies.push_back({.time = cupti_time(rows),
                             .bytes = cupti_bytes(rows, 3),
                             .correlation = cupti_key(rows, 10),
                             .graph_node = cupti_key(rows, 11),
                             .device = cupti_count(rows, 7, unknown_device),
                             .peer_device = kind == CopyKind::peer_to_peer
                                                ? cupti_count(rows, 8, unknown_device)
                                                : unknown_device,
                             .stream = cupti_count(rows, 9, 0),
                             .kind = kind,
                             .source = nsight_place(rows.number_or(5, -1)),
                             .destination = nsight_place(rows.number_or(6, -1))});
    }
  }

  void read_fills() {
    TableRows rows(database_, fill_table,
                   {"start", "end", "globalPid", "bytes", "deviceId", "streamId", "correlationId",
                    "graphNodeId"});
    while (rows.next()) {
      of_process(rows.number_or(2, 0))
          .fills.push_back({.time = cupti_time(rows),
                            .bytes = cupti_bytes(rows, 3),
                            .correlation = cupti_key(rows, 6),
                            .graph_node = cupti_key(rows, 7),
                            .device = cupti_count(rows, 4, unknown_device),
                            .stream = cupti_count(rows, 5, 0)});
    }
  }

  void read_calls() {
    TableRows rows(database_, call_table, {"start", "end", "globalTid", "correlationId", "nameId"});
    while (rows.next()) {
      const std::int64_t thread = rows.number_or(2, 0);
      const auto name = strings_.find(rows.number_or(4, -1));
      if (name == strings_.end()) rows.refuse("its name is not in the table StringIds");
      Recording& recording = of_process(thread);
      recording.calls.push_back(
          {.time = cupti_time(rows),
           .correlation = cupti_key(rows, 3),
           .name = recording.names.id_of(without_call_suffix(name->second)),
           .thread = tid_in(thread),
           .kind = name->second.starts_with("cuda") ? ApiKind::runtime : ApiKind::driver});
    }
  }

  void read_syncs() {
    TableRows rows(
        database_, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        {"start", "end", "globalPid", "syncType", "deviceId", "streamId", "correlationId"});
    while (rows.next()) {
      of_process(rows.number_or(2, 0))
          .syncs.push_back({.time = cupti_time(rows),
                            .correlation = cupti_key(rows, 6),
                            .device = cupti_count(rows, 4, unknown_device),
                            .stream = cupti_count(rows, 5, 0),
                            .kind = sync_kind_of_cupti(rows.number_or(3, 0))});
    }
  }

  void read_nvtx() {
    constexpr std::int64_t push_pop = 59;
    constexpr std::int64_t start_end = 60;
    constexpr std::int64_t domain_created = 75;
    std::map<std::int64_t, std::string> domains;
    TableRows names(database_, "NVTX_EVENTS", {"eventType", "domainId", "text", "textId"});
    while (names.next()) {
      if (names.number(0) != domain_created) continue;
      const auto text = strings_.find(names.number_or(3, -1));
      domains[names.number_or(1, 0)] =
          text == strings_.end() ? std::string(names.text(2)) : text->second;
    }
    TableRows rows(database_, "NVTX_EVENTS",
                   {"start", "end", "globalTid", "eventType", "domainId", "text", "textId"});
    while (rows.next()) {
      const std::int64_t type = rows.number_or(3, 0);
      if ((type != push_pop && type != start_end) || !rows.number(1)) continue;
      Recording& recording = of_process(rows.number_or(2, 0));
      const auto text = strings_.find(rows.number_or(6, -1));
      const auto domain = domains.find(rows.number_or(4, 0));
      recording.ranges.push_back(
          {.time = cupti_time(rows),
           .name = recording.names.id_of(text == strings_.end() ? rows.text(5)
                                                                : std::string_view(text->second)),
           .domain = domain == domains.end() ? 0 : recording.names.id_of(domain->second),
           .thread = tid_in(rows.number_or(2, 0)),
           .kind = RangeKind::nvtx});
    }
  }

  void read_memory() {
    TableRows rows(
        database_, "CUDA_GPU_MEMORY_USAGE_EVENTS",
        {"start", "globalPid", "address", "bytes", "deviceId", "memKind", "memoryOperationType"});
    while (rows.next()) {
      const std::int64_t at = rows.number_or(0, 0);
      if (at < -last_cupti_ns || at > last_cupti_ns) rows.refuse("'start' is out of reach");
      of_process(rows.number_or(1, 0))
          .memory.push_back({.at_ns = at,
                             .address = cupti_key(rows, 2),
                             .bytes = std::max<std::int64_t>(0, cupti_bytes(rows, 3)),
                             .device = cupti_count(rows, 4, unknown_device),
                             .place = nsight_place(rows.number_or(5, -1)),
                             .is_allocation = rows.number_or(6, 0) == 0});
    }
  }

  void read_target() {
    std::vector<RecordedDevice> devices;
    TableRows rows(
        database_, "TARGET_INFO_GPU",
        {"cuDevice", "id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor",
         "threadsPerWarp", "maxWarpsPerSm", "maxRegistersPerSm", "maxShmemPerSm"});
    const auto whole = [&](int column) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(rows.number_or(column, 0), 0, 0x7fffffff));
    };
    while (rows.next() && devices.size() < most_targets) {
      RecordedDevice device;
      device.id = static_cast<std::uint32_t>(rows.number(0) ? whole(0) : whole(1));
      device.name = printable(rows.text(2));
      device.memory_bytes = std::max<std::int64_t>(0, rows.number_or(3, 0));
      device.multiprocessors = whole(4);
      device.compute_major = whole(5);
      device.compute_minor = whole(6);
      device.warp_size = whole(7);
      device.max_threads_per_multiprocessor = static_cast<std::int32_t>(
          std::min<std::int64_t>(std::int64_t{whole(7)} * whole(8), 0x7fffffff));
      device.registers_per_multiprocessor = whole(9);
      device.shared_bytes_per_multiprocessor = whole(10);
      devices.push_back(std::move(device));
    }
    TableRows processes(database_, "PROCESSES", {"globalPid", "name"});
    while (processes.next()) {
      const auto found = recordings_.find(pid_in(processes.number_or(0, -1)));
      if (found != recordings_.end()) found->second.process.command = printable(processes.text(1));
    }
    for (auto& [pid, recording] : recordings_) recording.process.devices = devices;
  }

  const Database& database_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::int64_t, Recording> recordings_;  ///< by process
};

}  // namespace

bool is_nsight_systems(const Database& database) {
  if (!database.has_table("StringIds")) return false;
  return database.has_table(kernel_table) || database.has_table(copy_table) ||
         database.has_table(call_table) || database.has_table("NVTX_EVENTS");
}

std::vector<Recording> read_nsight_systems(const Database& database) {
  return NsightReader(database).read();
}

}  // namespace strata
