// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/intervals.hpp"
#include "strata/capture/trace_builder.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace strata {
namespace {

constexpr std::int64_t small_copy_bytes = 64 << 10;
constexpr std::array<std::int64_t, 6> size_limits = {1 << 10, 16 << 10, 256 << 10,
                                                     4 << 20, 64 << 20, 1 << 30};
constexpr std::size_t unknown_size = 7;

std::size_t size_class(std::int64_t bytes) {
  if (bytes == unknown_bytes) return unknown_size;
  const auto above = std::upper_bound(size_limits.begin(), size_limits.end(), bytes);
  return static_cast<std::size_t>(above - size_limits.begin());
}

constexpr std::array<std::string_view, 6> copy_kind_names = {"unknown",        "host to device",
                                                             "device to host", "device to device",
                                                             "peer to peer",   "host to host"};
constexpr std::array<std::string_view, 6> place_names = {"unknown", "pageable", "pinned",
                                                         "device",  "managed",  "array"};

/// Follows what is allocated, by address where a free does not say how much.
class MemoryFollower {
 public:
  explicit MemoryFollower(MemoryRow& row) : row_(row) {}

  void see(const MemoryEvent& event) {
    if (event.is_allocation) {
      ++row_.allocations;
      row_.allocated_bytes += std::max<std::int64_t>(0, event.bytes);
      bytes_of_[event.address] = event.bytes;
      now_ += std::max<std::int64_t>(0, event.bytes);
    } else {
      ++row_.frees;
      const auto known = bytes_of_.find(event.address);
      const std::int64_t bytes = event.bytes > 0            ? event.bytes
                                 : known == bytes_of_.end() ? 0
                                                            : known->second;
      if (known != bytes_of_.end()) bytes_of_.erase(known);
      now_ -= bytes;
    }
    // What was there before recording began is in the recorder's sum only.
    row_.peak_bytes = std::max({row_.peak_bytes, now_, event.total_bytes});
  }

 private:
  MemoryRow& row_;
  std::int64_t now_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> bytes_of_;
};

}  // namespace

std::string_view name_of(CopyKind kind) { return copy_kind_names[static_cast<std::size_t>(kind)]; }
std::string_view name_of(MemoryKind place) { return place_names[static_cast<std::size_t>(place)]; }

void add_copy_rows(const TraceInput& input, TraceTables& tables) {
  std::map<std::uint32_t, std::vector<TimeSpan>> kernels;
  for (const KernelRecord& kernel : input.recording.kernels)
    kernels[kernel.device].push_back(kernel.time);
  std::map<std::uint32_t, Coverage> busy;
  for (auto& [device, spans] : kernels) busy.emplace(device, Coverage(std::move(spans)));
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, CopyRow> rows;
  for (const CopyRecord& copy : input.recording.copies) {
    CopyRow& row = rows[{copy.kind, copy.source, copy.destination}];
    const std::int64_t length = copy.time.length_ns();
    row.time.add(length);
    ++row.by_size[size_class(copy.bytes)];
    if (copy.bytes == unknown_bytes) {
      ++row.unknown_calls;
    } else {
      row.bytes += copy.bytes;
      row.known_ns += length;
      if (copy.bytes < small_copy_bytes) {
        ++row.small_calls;
        row.small_ns += length;
      }
    }
    const auto device = busy.find(copy.device);
    if (device != busy.end()) row.under_kernels_ns += device->second.within(copy.time);
  }
  for (const RecordedSum& sum : input.recording.sums) {
    if (sum.kind != SumKind::copy || sum.calls <= 0) continue;
    CopyRow& row = rows[{sum.copy, MemoryKind::unknown, MemoryKind::unknown}];
    row.time.add(sum);
    row.unknown_calls += sum.calls;
    row.by_size[unknown_size] += sum.calls;
  }
  for (auto& [key, row] : rows) {
    std::tie(row.kind, row.source, row.destination) = key;
    tables.by_copy.push_back(row);
  }
}

void add_memory_rows(const TraceInput& input, TraceTables& tables) {
  std::map<std::pair<std::uint32_t, bool>, std::size_t> at;
  std::vector<MemoryRow>& rows = tables.memory;
  for (const MemoryEvent& event : input.recording.memory) {
    const auto [known, is_new] =
        at.emplace(std::pair(event.device, event.is_framework), rows.size());
    if (!is_new) continue;
    rows.push_back(
        {.device = event.device == unknown_device ? std::nullopt : std::optional(event.device),
         .is_framework = event.is_framework});
  }
  std::vector<MemoryFollower> followers;
  followers.reserve(rows.size());
  for (MemoryRow& row : rows) followers.emplace_back(row);
  for (const MemoryEvent& event : input.recording.memory)
    followers[at[{event.device, event.is_framework}]].see(event);
}

}  // namespace strata
