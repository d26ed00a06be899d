// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/capture_options.hpp"

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace strata {

enum class WindowChange { none, opens, closes, finishes };

/// Decides when to record: from the beginning or between profiler start and stop, inside ranges of
/// a name, for a number of them, for a time. It is told of events and says whether recording starts
/// or stops. Not thread-safe.
class RecordingWindow {
 public:
  explicit RecordingWindow(const CaptureOptions& options) : options_(options) {}

  WindowChange begin(std::uint64_t now_ns);
  WindowChange profiler(bool is_on, std::uint64_t now_ns);
  WindowChange push(std::uint32_t thread, std::string_view name, std::uint64_t now_ns);
  WindowChange pop(std::uint32_t thread, std::uint64_t now_ns);
  /// Ranges that may end on another thread.
  WindowChange start(std::uint64_t id, std::string_view name, std::uint64_t now_ns);
  WindowChange stop(std::uint64_t id, std::uint64_t now_ns);
  /// Time goes on.
  WindowChange tick(std::uint64_t now_ns);

  bool is_open() const { return is_open_; }
  bool is_finished() const { return is_finished_; }
  /// Whether it must be told of ranges.
  bool watches_ranges() const { return !options_.range.empty(); }
  std::int64_t ranges_seen() const { return seen_; }

 private:
  bool enters(std::string_view name);
  WindowChange leave_range(std::uint64_t now_ns);
  WindowChange update(std::uint64_t now_ns);

  CaptureOptions options_;
  bool is_profiler_on_ = false;
  bool is_in_match_ = false;  ///< a range of the name is open
  bool is_in_range_ = false;  ///< and it is one that is recorded
  bool is_open_ = false;
  bool is_finished_ = false;
  bool has_opened_ = false;
  std::uint64_t opened_ns_ = 0;
  std::int64_t seen_ = 0;
  std::unordered_map<std::uint32_t, std::int64_t> depths_;
  std::uint32_t range_thread_ = 0;
  std::int64_t range_depth_ = -1;  ///< of the push that opened; -1: it was a start
  std::uint64_t range_id_ = 0;
};

}  // namespace strata
