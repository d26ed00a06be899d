// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/counter_plan.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Counters of a GPU, range by range: work of this process is repeated until every counter has
/// been read, and each stretch of it between push and pop gets its values. Times are never taken
/// here: counting slows the work.
namespace strata {

/// Told by the work where its ranges begin and end. Ranges do not nest; names may come twice.
class RangeMarks {
 public:
  virtual ~RangeMarks() = default;
  virtual void push(std::string_view name) = 0;
  virtual void pop() = 0;
};

/// Work that can be repeated: it does the same, with the same ranges, each time. It waits for the
/// device before it returns.
using CountedWork = std::function<void(RangeMarks& marks)>;

struct RangeCounts {
  std::string range;
  CounterValues values;
  std::string kernel = {};  ///< where each launch is a range of its own
};

struct CounterTable {
  std::string chip;
  std::string preset;
  std::vector<CounterColumn> columns;
  std::vector<RangeCounts> ranges;  ///< in the order in which they were pushed
  std::vector<AbsentColumn> absent;
};

/// What counting takes, known before the first run.
struct CounterCost {
  int sessions = 0;
  int passes = 0;       ///< runs of the work, all sessions together; one more without counters
  int sass_passes = 0;  ///< of them, with patched kernels
};
/// "3 sessions, 9 runs, 1 of them with patched kernels that take up to 100 times as long".
std::string to_text(const CounterCost& cost);
/// From the time of one run and the ranges in it, by what the library itself took on an H200;
/// kernels that are patched may take longer.
double least_seconds(const CounterCost& cost, double run_s, std::size_t ranges);

class RangeCounters {
 public:
  virtual ~RangeCounters() = default;
  virtual const std::string& chip() const = 0;
  virtual CounterPlan plan(std::string_view preset) const = 0;
  virtual CounterCost cost(const CounterPlan& plan) const = 0;
  /// Errors (environment) of the profiler; internal when the work is not the same each time.
  virtual CounterTable count(const CounterPlan& plan, const CountedWork& work) = 0;
  /// The same with each kernel apart: a range of the work that launches several becomes as many,
  /// each with the copies and fills before its kernel. Errors (environment) where that cannot be.
  virtual CounterTable count_kernels(const CounterPlan& plan, const CountedWork& work);
};

/// Counters of the GPU whose context is current in this thread. Errors (environment) say why not:
/// no CUPTI in this build or here, permission, another profiler, a kind of device without.
std::unique_ptr<RangeCounters> open_range_counters(int device);

}  // namespace strata
