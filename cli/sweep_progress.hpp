// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace strata {

/// "1,204 of 5,868 points   31 %   9,870 points/s   0:12 left": one line on standard error that is
/// written over, only where standard error is a terminal.
class ProgressLine {
 public:
  /// `done` points are there from an earlier run: they say nothing of the rate.
  ProgressLine(std::int64_t done, std::int64_t total);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  const std::int64_t done_before_;
  const std::int64_t total_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
};

/// "45 s", "3:05 min", "2:10 h": for people who wait.
std::string waiting_time(double seconds);

}  // namespace strata
