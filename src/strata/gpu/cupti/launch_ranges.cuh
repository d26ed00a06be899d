// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cupti/functions.cuh"
#include "strata/gpu/range_counters.hpp"

#include <exception>
#include <string>
#include <vector>

namespace strata::cupti {

/// Cuts the ranges of a work at each kernel that it launches: CUPTI tells of a launch before it
/// happens, and then the range before it is closed and the next one opened. As long as this lives
/// it is the process' subscriber.
class LaunchRanges {
 public:
  struct Range {
    std::string name;    ///< of the work
    std::string kernel;  ///< empty: it launched none
  };

  LaunchRanges();
  ~LaunchRanges();
  LaunchRanges(const LaunchRanges&) = delete;
  LaunchRanges& operator=(const LaunchRanges&) = delete;

  /// Runs the work once, its ranges cut, with `marks` told of each piece.
  void split(RangeMarks& marks, const CountedWork& work);
  /// Of the last run, in order.
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  class SplitMarks;
  static void CUPTIAPI see_launch(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                  const void* data);
  void launch(const char* kernel);

  CUpti_SubscriberHandle subscriber_ = nullptr;
  SplitMarks* current_ = nullptr;  // while a work runs
  std::vector<Range> ranges_;
  std::exception_ptr problem_;  // of a callback, from which nothing may be thrown
};

}  // namespace strata::cupti
