// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/log_format.hpp"
#include "strata/capture/recording.hpp"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata {

/// Turns the records of a log into the rows of a Recording, one after the other.
class LogRecords {
 public:
  LogRecords(Recording& recording, const LogPage& page);

  /// A whole record, head included. False: it contradicts itself, and nothing behind it counts.
  bool add(LogHead head, std::span<const char> bytes);
  /// Behind the last one: closes what is open, sets devices and counters, leaves out what was
  /// recorded outside of windows.
  void finish();

  std::int64_t lost() const { return lost_; }
  std::int64_t untimed() const { return untimed_; }

 private:
  struct OpenRange {
    std::int64_t start_ns;
    NameId name;
    NameId domain;
    std::uint32_t thread;
  };

  bool add_text(LogHead head, std::span<const char> bytes);
  bool add_kernel(std::span<const char> bytes);
  bool add_copy(std::span<const char> bytes);
  bool add_fill(std::span<const char> bytes);
  bool add_memory(std::span<const char> bytes);
  bool add_call(std::span<const char> bytes, ApiKind kind);
  bool add_sync(std::span<const char> bytes);
  bool add_marker(std::span<const char> bytes);
  bool add_overhead(std::span<const char> bytes);
  bool add_device(std::span<const char> bytes);
  bool add_counted(std::span<const char> bytes);
  bool add_info(LogHead head, std::string_view text);

  /// Nanoseconds since 1970; the largest when it cannot be.
  std::int64_t time(std::uint64_t recorder_ns);
  bool span(std::uint64_t start_ns, std::uint64_t end_ns, TimeSpan& out);
  NameId name(std::uint32_t id);
  NameId kernel_name(std::uint32_t id);
  NameId call_name(std::uint32_t id, ApiKind kind);

  Recording& recording_;
  std::int64_t clock_offset_ns_;
  std::int64_t last_ns_ = 0;
  std::int64_t lost_ = 0;
  std::int64_t untimed_ = 0;
  std::unordered_map<std::uint32_t, std::string> texts_;  ///< names of the log by number
  std::unordered_map<std::uint32_t, NameId> names_;
  std::unordered_map<std::uint32_t, NameId> kernel_names_;
  std::unordered_map<std::uint32_t, NameId> call_names_;
  std::unordered_map<std::uint32_t, std::uint32_t> devices_of_contexts_;
  std::unordered_map<std::uint32_t, OpenRange> open_ranges_;
  std::vector<std::uint32_t> sync_contexts_;  ///< of recording_.syncs
  std::vector<std::string> counter_names_;
  std::vector<std::pair<std::int64_t, bool>> window_marks_;
};

}  // namespace strata
