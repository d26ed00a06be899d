// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/correlation_ranges.hpp"

#include <algorithm>

namespace strata {

void CorrelationRanges::begin_part(std::size_t part) {
  const std::lock_guard lock(mutex_);
  part_ = part;
  is_new_.store(true, std::memory_order_release);
}

void CorrelationRanges::saw_call(std::uint32_t correlation) {
  // Nearly every call: the part goes on, and nothing is locked.
  if (correlation == 0 || !is_new_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (!is_new_.load(std::memory_order_relaxed)) return;
  is_new_.store(false, std::memory_order_release);
  const auto at = std::upper_bound(
      firsts_.begin(), firsts_.end(), correlation,
      [](std::uint32_t left, const First& right) { return left < right.correlation; });
  firsts_.insert(at, {correlation, part_});
}

std::optional<std::size_t> CorrelationRanges::part_of(std::uint32_t correlation) const {
  const std::lock_guard lock(mutex_);
  const auto after = std::upper_bound(
      firsts_.begin(), firsts_.end(), correlation,
      [](std::uint32_t left, const First& right) { return left < right.correlation; });
  if (after == firsts_.begin()) return std::nullopt;
  return std::prev(after)->part;
}

}  // namespace strata
