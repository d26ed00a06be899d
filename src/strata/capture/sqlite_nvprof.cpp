// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/capture/call_names.hpp"
#include "strata/capture/numbers_of_cupti.hpp"
#include "strata/capture/readable_symbol.hpp"
#include "strata/capture/sqlite_cells.hpp"
#include "strata/capture/sqlite_recording_read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>

/// What `nvprof -o FILE` writes (and nvvp opens): CUPTI's records as they are, names of kernels by
/// number and mangled, calls by CUPTI's numbers. A file is of one process.
namespace strata {
namespace {

constexpr std::string_view nvprof_kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view nvprof_concurrent = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";
constexpr std::string_view nvprof_copies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view nvprof_peer_copies = "CUPTI_ACTIVITY_KIND_MEMCPY2";
constexpr std::string_view nvprof_runtime = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view nvprof_driver = "CUPTI_ACTIVITY_KIND_DRIVER";
constexpr std::size_t most_nvprof_devices = 1000;

class NvprofDatabase {
 public:
  explicit NvprofDatabase(const Database& database) : database_(database) {}

  std::vector<Recording> read() {
    recording_.process.source_format = "nvprof SQLite";
    read_strings();
    read_kernels(nvprof_concurrent);
    const bool ran_at_once = !recording_.kernels.empty();
    read_kernels(nvprof_kernels);
    // Records of the other kind are of kernels that nvprof ran one after the other.
    recording_.process.kernels_were_serialised = !ran_at_once && !recording_.kernels.empty();
    read_copies(nvprof_copies);
    read_copies(nvprof_peer_copies);
    read_fills();
    read_calls(nvprof_runtime, ApiKind::runtime);
    read_calls(nvprof_driver, ApiKind::driver);
    read_devices();
    if (TableRows(database_, "CUPTI_ACTIVITY_KIND_MARKER", {"timestamp"}).next())
      recording_.notes.emplace_back("NVTX ranges of nvprof's files are not read");
    if (recording_.kernels.empty() && recording_.copies.empty() && recording_.calls.empty())
      fail(ErrorKind::input, "no kernel, copy or call is recorded in it");
    check_recording(recording_);
    sort_by_start(recording_);
    std::vector<Recording> recordings;
    recordings.push_back(std::move(recording_));
    return recordings;
  }

 private:
  void read_strings() {
    TableRows rows(database_, "StringTable", {"_id_", "value"});
    while (rows.next()) strings_[rows.number_or(0, -1)] = rows.text(1);
  }

  /// Demangled once for each name, not for each launch.
  NameId kernel_name(const TableRows& rows, int column) {
    const std::int64_t number = rows.number_or(column, -1);
    const auto known = kernel_names_.find(number);
    if (known != kernel_names_.end()) return known->second;
    const auto text = strings_.find(number);
    if (text == strings_.end()) rows.refuse("its name is not in the table StringTable");
    const NameId name = recording_.names.id_of(readable_symbol(text->second));
    kernel_names_.emplace(number, name);
    return name;
  }

  void read_kernels(std::string_view table) {
    TableRows rows(database_, table,
                   {"start", "end", "name", "deviceId", "streamId", "correlationId", "gridX",
                    "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
                    "staticSharedMemory", "dynamicSharedMemory"});
    while (rows.next()) {
      recording_.kernels.push_back(
          {.time = cupti_time(rows),
           .correlation = cupti_key(rows, 5),
           .name = kernel_name(rows, 2),
           .device = cupti_count(rows, 3, unknown_device),
           .stream = cupti_count(rows, 4, 0),
           .grid = {cupti_count(rows, 6, 0), cupti_count(rows, 7, 0), cupti_count(rows, 8, 0)},
           .block = {cupti_count(rows, 9, 0), cupti_count(rows, 10, 0), cupti_count(rows, 11, 0)},
           .registers = cupti_count(rows, 12, unknown_count),
           .static_shared_bytes = cupti_count(rows, 13, unknown_count),
           .dynamic_shared_bytes = cupti_count(rows, 14, unknown_count)});
    }
  }

  void read_copies(std::string_view table) {
    TableRows rows(database_, table,
                   {"start", "end", "bytes", "copyKind", "srcKind", "dstKind", "deviceId",
                    "dstDeviceId", "streamId", "correlationId"});
    const bool is_peer = table == nvprof_peer_copies;
    while (rows.next()) {
      const CopyKind kind =
          is_peer ? CopyKind::peer_to_peer : copy_kind_of_cupti(rows.number_or(3, 0));
      recording_.copies.push_back(
          {.time = cupti_time(rows),
           .bytes = cupti_bytes(rows, 2),
           .correlation = cupti_key(rows, 9),
           .device = cupti_count(rows, 6, unknown_device),
           .peer_device = is_peer ? cupti_count(rows, 7, unknown_device) : unknown_device,
           .stream = cupti_count(rows, 8, 0),
           .kind = kind,
           .source = memory_place_of_cupti(rows.number_or(4, 0)),
           .destination = memory_place_of_cupti(rows.number_or(5, 0))});
    }
  }

  void read_fills() {
    TableRows rows(database_, "CUPTI_ACTIVITY_KIND_MEMSET",
                   {"start", "end", "bytes", "deviceId", "streamId", "correlationId"});
    while (rows.next()) {
      recording_.fills.push_back({.time = cupti_time(rows),
                                  .bytes = cupti_bytes(rows, 2),
                                  .correlation = cupti_key(rows, 5),
                                  .device = cupti_count(rows, 3, unknown_device),
                                  .stream = cupti_count(rows, 4, 0)});
    }
  }

  void read_calls(std::string_view table, ApiKind kind) {
    TableRows rows(database_, table,
                   {"start", "end", "cbid", "processId", "threadId", "correlationId"});
    while (rows.next()) {
      if (recording_.process.pid == 0) recording_.process.pid = rows.number_or(3, 0);
      // Threads are 64-bit handles, of which CUPTI keeps 32; all that counts is which are the same.
      recording_.calls.push_back(
          {.time = cupti_time(rows),
           .correlation = cupti_key(rows, 5),
           .name = recording_.names.id_of(call_name_of_cupti(kind, rows.number_or(2, -1))),
           .thread = static_cast<std::uint32_t>(rows.number_or(4, 0)),
           .kind = kind});
    }
  }

  void read_devices() {
    TableRows rows(
        database_, "CUPTI_ACTIVITY_KIND_DEVICE",
        {"id", "name", "globalMemorySize", "numMultiprocessors", "computeCapabilityMajor",
         "computeCapabilityMinor", "numThreadsPerWarp", "maxWarpsPerMultiprocessor",
         "maxRegistersPerMultiprocessor", "maxSharedMemoryPerMultiprocessor"});
    const auto whole = [&](int column) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(rows.number_or(column, 0), 0, 0x7fffffff));
    };
    std::vector<RecordedDevice>& devices = recording_.process.devices;
    while (rows.next() && devices.size() < most_nvprof_devices) {
      RecordedDevice device;
      device.id = cupti_count(rows, 0, unknown_device);
      const auto name = strings_.find(rows.number_or(1, -1));
      device.name = printable(name == strings_.end() ? rows.text(1) : name->second);
      device.memory_bytes = std::max<std::int64_t>(0, rows.number_or(2, 0));
      device.multiprocessors = whole(3);
      device.compute_major = whole(4);
      device.compute_minor = whole(5);
      device.warp_size = whole(6);
      device.max_threads_per_multiprocessor = static_cast<std::int32_t>(
          std::min<std::int64_t>(std::int64_t{whole(6)} * whole(7), 0x7fffffff));
      device.registers_per_multiprocessor = whole(8);
      device.shared_bytes_per_multiprocessor = whole(9);
      devices.push_back(std::move(device));
    }
  }

  const Database& database_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::int64_t, NameId> kernel_names_;
  Recording recording_;
};

}  // namespace

bool is_nvprof(const Database& database) {
  if (!database.has_table("StringTable")) return false;
  return database.has_table(nvprof_kernels) || database.has_table(nvprof_concurrent) ||
         database.has_table(nvprof_copies) || database.has_table(nvprof_runtime);
}

std::vector<Recording> read_nvprof(const Database& database) {
  return NvprofDatabase(database).read();
}

}  // namespace strata
