// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

namespace strata {

/// Mean of numbers that may be missing; nothing where all are.
class Mean {
 public:
  void add(const std::optional<double>& value, double weight = 1) {
    if (!value || !(weight > 0)) return;
    sum_ += weight * *value;
    weight_ += weight;
    least_ = count_ == 0 ? *value : std::min(least_, *value);
    most_ = count_ == 0 ? *value : std::max(most_, *value);
    ++count_;
  }
  std::size_t count() const { return count_; }
  bool is_there() const { return count_ > 0; }
  double value() const { return sum_ / weight_; }
  double least() const { return least_; }
  double most() const { return most_; }

 private:
  double sum_ = 0, weight_ = 0, least_ = 0, most_ = 0;
  std::size_t count_ = 0;
};

}  // namespace strata
