// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace strata {

/// A value that a step must have on chip and that does not stay from its use before.
struct Load {
  std::uint32_t use = 0;
  StepId step = 0;
  std::int64_t bytes = 0;
  StepId eligible_at = 0;  ///< may be issued ahead of its step from this step on
  bool is_issued = false;
  double arrives_s = 0;
};

/// The loads of a plan, by step and, within a step, by value; and which of them may be issued ahead
/// now. The latter are bits, so that the many that may not cost nothing.
class Loads {
 public:
  /// `compute_s` is the time each step computes; the prefetch that goes by a list looks at it.
  Loads(const AccessList& list, const Plan& plan, const std::vector<double>& compute_s,
        double bytes_per_s, const PredictOptions& options);

  std::span<Load> of(StepId step) {
    return {loads_.data() + first_[step], first_[step + 1] - first_[step]};
  }
  /// No eligible load before the end of the window is smaller: with less room there is no use in
  /// looking further.
  std::int64_t smallest_bytes() const { return smallest_bytes_; }
  void set_smallest_bytes(std::int64_t bytes) { smallest_bytes_ = bytes; }

  void mark_issued(Load& load) {
    load.is_issued = true;
    const auto index = static_cast<std::size_t>(&load - loads_.data());
    eligible_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  }

  /// Step `step` is current: what may be issued from it on becomes eligible, and the window in
  /// which loads are looked for ends before `window_end`. Steps in order.
  void advance_to(StepId step, StepId window_end) {
    for (; window_end_ < window_end; ++window_end_) {
      for (const Load& load : of(window_end_))
        smallest_bytes_ = std::min(smallest_bytes_, load.bytes);
    }
    for (; next_ < waiting_.size() && loads_[waiting_[next_]].eligible_at <= step; ++next_) {
      const std::uint32_t index = waiting_[next_];
      if (loads_[index].is_issued) continue;
      eligible_[index / 64] |= std::uint64_t{1} << (index % 64);
      smallest_bytes_ = std::min(smallest_bytes_, loads_[index].bytes);
    }
  }

  /// Calls f(load) for the eligible loads of the steps [first, end), in order, until f is false.
  template <class F>
  void for_each_eligible(StepId first, StepId end, F f) {
    const std::uint32_t last = first_[end];
    for (std::uint32_t at = first_[first]; at < last;) {
      const std::uint64_t bits = eligible_[at / 64] >> (at % 64);
      if (bits == 0) {
        at = (at / 64 + 1) * 64;
        continue;
      }
      at += static_cast<std::uint32_t>(std::countr_zero(bits));
      if (at >= last || !f(loads_[at])) return;
      ++at;
    }
  }

 private:
  std::vector<Load> loads_;
  std::vector<std::uint32_t> first_;    // of each step, and the end
  std::vector<std::uint32_t> waiting_;  // loads by the step from which they are eligible
  std::size_t next_ = 0;                // of those
  std::vector<std::uint64_t> eligible_;
  StepId window_end_ = 0;
  std::int64_t smallest_bytes_ = INT64_MAX;
};

}  // namespace strata
