// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace strata {

/// Free bytes of every step; takes from a range of steps and tells the least in a range, both in
/// logarithmic time. A tree over the steps: each node has the least of its range without what was
/// taken from ranges above it.
class FreeRoom {
 public:
  explicit FreeRoom(const std::vector<std::int64_t>& free) : size_(free.size()) {
    leaves_ = 1;
    while (leaves_ < size_) leaves_ *= 2;
    least_.assign(2 * leaves_, INT64_MAX / 2);
    taken_.assign(leaves_, 0);
    std::copy(free.begin(), free.end(), least_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t node = leaves_ - 1; node > 0; --node) pull(node);
  }

  /// The least of the steps [first, end); a large number when there are none.
  std::int64_t least(std::size_t first, std::size_t end) const {
    if (first >= end) return INT64_MAX / 2;
    return least(1, 0, leaves_, first, end);
  }

  /// The first of the steps [first, end) that has less than that; `end` when all have it.
  std::size_t first_below(std::size_t first, std::size_t end, std::int64_t bytes) const {
    while (first < end && least(first, end) < bytes) {
      if (end - first == 1) return first;
      const std::size_t middle = (first + end) / 2;
      if (least(first, middle) < bytes) {
        end = middle;
      } else {
        first = middle;
      }
    }
    return end;
  }

  /// Takes bytes from the steps [first, end); negative: gives them back.
  void take(std::size_t first, std::size_t end, std::int64_t bytes) {
    if (first < end && bytes != 0) take(1, 0, leaves_, first, end, bytes);
  }

 private:
  void pull(std::size_t node) {
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]) - taken_[node];
  }

  std::int64_t least(std::size_t node, std::size_t low, std::size_t high, std::size_t first,
                     std::size_t end) const {
    if (first <= low && high <= end) return least_[node];
    const std::size_t middle = (low + high) / 2;
    std::int64_t found = INT64_MAX / 2;
    if (first < middle) found = least(2 * node, low, middle, first, end);
    if (end > middle) found = std::min(found, least(2 * node + 1, middle, high, first, end));
    return found - taken_[node];
  }

  void take(std::size_t node, std::size_t low, std::size_t high, std::size_t first, std::size_t end,
            std::int64_t bytes) {
    if (first <= low && high <= end) {
      least_[node] -= bytes;
      if (node < leaves_) taken_[node] += bytes;
      return;
    }
    const std::size_t middle = (low + high) / 2;
    if (first < middle) take(2 * node, low, middle, first, end, bytes);
    if (end > middle) take(2 * node + 1, middle, high, first, end, bytes);
    pull(node);
  }

  std::size_t size_ = 0;
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> least_;  // by node, the root is 1
  std::vector<std::int64_t> taken_;  // by inner node: from all of its range
};

}  // namespace strata
