// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace strata {

/// Free bytes of every step; takes from a range of steps and tells the least in a range, both in
/// logarithmic time. A tree over the steps: each node has the least of its range without what was
/// taken from ranges above it. Ranges are walked from their two outer neighbours up, so there is a
/// leaf before the first step and one behind the last.
class FreeRoom {
 public:
  static constexpr std::int64_t plenty = INT64_MAX / 2;

  void reset(const std::vector<std::int64_t>& occupied_bytes, std::int64_t capacity_bytes) {
    leaves_ = 1;
    while (leaves_ < occupied_bytes.size() + 2) leaves_ *= 2;
    least_.assign(2 * leaves_, plenty);
    taken_.assign(2 * leaves_, 0);
    for (std::size_t step = 0; step < occupied_bytes.size(); ++step)
      least_[leaves_ + 1 + step] = capacity_bytes - occupied_bytes[step];
    for (std::size_t node = leaves_ - 1; node > 0; --node) pull(node);
  }

  /// The least of the steps [first, end); a large number when there are none.
  std::int64_t least(std::size_t first, std::size_t end) const {
    if (first >= end) return plenty;
    std::size_t left = leaves_ + first;
    std::size_t right = leaves_ + end + 1;
    std::int64_t least_left = plenty;
    std::int64_t least_right = plenty;
    while ((left ^ right) != 1) {
      if (left % 2 == 0) least_left = std::min(least_left, least_[left + 1]);
      if (right % 2 == 1) least_right = std::min(least_right, least_[right - 1]);
      left /= 2;
      right /= 2;
      least_left -= taken_[left];
      least_right -= taken_[right];
    }
    std::int64_t least = std::min(least_left, least_right);
    while (left > 1) least -= taken_[left /= 2];
    return least;
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
    if (first >= end || bytes == 0) return;
    std::size_t left = leaves_ + first;
    std::size_t right = leaves_ + end + 1;
    while ((left ^ right) != 1) {
      if (left % 2 == 0) take_from(left + 1, bytes);
      if (right % 2 == 1) take_from(right - 1, bytes);
      left /= 2;
      right /= 2;
      pull(left);
      pull(right);
    }
    while (left > 1) pull(left /= 2);
  }

 private:
  void take_from(std::size_t node, std::int64_t bytes) {
    least_[node] -= bytes;
    taken_[node] += bytes;
  }
  void pull(std::size_t node) {
    least_[node] = std::min(least_[2 * node], least_[2 * node + 1]) - taken_[node];
  }

  std::size_t leaves_ = 1;
  std::vector<std::int64_t> least_;  // by node, the root is 1
  std::vector<std::int64_t> taken_;  // by node: from all of its range
};

}  // namespace strata
