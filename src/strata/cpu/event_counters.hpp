// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

/// Counters of the CPU through Linux' perf_event. Virtual machines and careful administrators often
/// withhold them: then there is a reason instead.
namespace strata::cpu {

/// What all threads of this process did, outside the kernel. Nothing: the CPU does not count it.
struct EventCounts {
  std::optional<std::int64_t> cycles;
  std::optional<std::int64_t> instructions;
  std::optional<std::int64_t> cache_references;  ///< of the last level
  std::optional<std::int64_t> cache_misses;
  /// Counters were shared with others, and the numbers are scaled up from the time they ran.
  bool is_estimated = false;
};

/// Of the threads that there are when it is opened, and those that they start.
class EventCounters {
 public:
  virtual ~EventCounters() = default;
  virtual void start() = 0;  ///< from 0
  virtual EventCounts stop() = 0;
};

/// Null, and why in `problem`, where no counter can be had at all.
std::unique_ptr<EventCounters> open_event_counters(std::string& problem);

/// What an error of perf_event_open means and what helps. `paranoid` is what the kernel says in
/// /proc/sys/kernel/perf_event_paranoid; nothing: it does not say.
std::string event_problem_text(int error, std::optional<std::int64_t> paranoid);

}  // namespace strata::cpu
