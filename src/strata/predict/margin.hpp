// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata {

/// By how much a capacity may grow before a decision changes. The planner notes how many bytes more
/// each failed test of room needed. If the capacity grows by less than the smallest of them, every
/// test has the same result as before, and so has the decision.
class Margin {
 public:
  void grow_needed(std::int64_t missing_bytes) { bytes_ = std::min(bytes_, missing_bytes); }
  /// The outcome is the same for any capacity that is larger by less than this.
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = INT64_MAX;
};

}  // namespace strata
