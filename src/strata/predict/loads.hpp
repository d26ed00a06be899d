// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <span>
#include <vector>

namespace strata {

/// A value that a step must have on chip and that does not stay from its use before.
struct Load {
  std::uint32_t use = 0;
  StepId eligible_at = 0;  ///< may be issued ahead of its step from this step on
  bool is_issued = false;
  double arrives_s = 0;
};

/// The loads of a plan, by step and, within a step, by value.
class Loads {
 public:
  /// `compute_s` is the time each step computes; the prefetch that goes by a list looks at it.
  Loads(const AccessList& list, const Plan& plan, const std::vector<double>& compute_s,
        double bytes_per_s, Prefetch prefetch);

  std::span<Load> of(StepId step) {
    return {loads_.data() + first_[step], first_[step + 1] - first_[step]};
  }
  std::int64_t smallest_bytes() const { return smallest_bytes_; }

 private:
  std::vector<Load> loads_;
  std::vector<std::uint32_t> first_;  // of each step, and the end
  std::int64_t smallest_bytes_ = INT64_MAX;
};

}  // namespace strata
