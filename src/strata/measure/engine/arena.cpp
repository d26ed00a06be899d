// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/arena.hpp"

#include "strata/base/checked.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace strata {
namespace {

std::int64_t aligned(std::int64_t bytes, std::int64_t alignment) {
  return checked_mul(checked_add(bytes, alignment - 1) / alignment, alignment);
}

struct PlacedItem {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The lowest of the smallest gaps that fit, among what lives at the same time. `items` are sorted
/// by where they begin.
std::int64_t best_gap(const std::vector<PlacedItem>& items, const Lifetime& wanted,
                      std::int64_t bytes) {
  std::int64_t free_from = 0;
  std::int64_t best = -1;
  std::int64_t best_size = std::numeric_limits<std::int64_t>::max();
  for (const PlacedItem& item : items) {
    if (item.last < wanted.first || wanted.last < item.first) continue;
    const std::int64_t gap = item.begin - free_from;
    if (gap >= bytes && gap < best_size) {
      best = free_from;
      best_size = gap;
    }
    free_from = std::max(free_from, item.end);
  }
  return best >= 0 ? best : free_from;
}

Placement placed_in_order(std::span<const Lifetime> lifetimes,
                          const std::vector<std::size_t>& order, std::int64_t alignment) {
  Placement placement;
  placement.offsets.resize(lifetimes.size());
  std::vector<PlacedItem> items;
  items.reserve(lifetimes.size());
  for (const std::size_t index : order) {
    const Lifetime& lifetime = lifetimes[index];
    const std::int64_t bytes = aligned(lifetime.bytes, alignment);
    const std::int64_t begin = best_gap(items, lifetime, bytes);
    const PlacedItem item{begin, checked_add(begin, bytes), lifetime.first, lifetime.last};
    const auto place = std::upper_bound(
        items.begin(), items.end(), item,
        [](const PlacedItem& a, const PlacedItem& b) { return a.begin < b.begin; });
    items.insert(place, item);
    placement.offsets[index] = begin;
    placement.bytes = std::max(placement.bytes, item.end);
  }
  return placement;
}

}  // namespace

Placement placed(std::span<const Lifetime> lifetimes, std::int64_t alignment) {
  std::vector<std::size_t> as_they_come(lifetimes.size());
  std::iota(as_they_come.begin(), as_they_come.end(), std::size_t{0});
  std::vector<std::size_t> largest_first = as_they_come;
  std::stable_sort(largest_first.begin(), largest_first.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  // Activations wait for backward in reverse: the longest lived lie at the bottom, as in a stack.
  std::vector<std::size_t> longest_first = as_they_come;
  std::stable_sort(longest_first.begin(), longest_first.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].last - lifetimes[a].first > lifetimes[b].last - lifetimes[b].first;
  });

  const std::int64_t least = most_live_bytes(lifetimes, alignment);
  Placement best = placed_in_order(lifetimes, largest_first, alignment);
  for (const std::vector<std::size_t>* order : {&longest_first, &as_they_come}) {
    if (best.bytes == least) break;
    Placement other = placed_in_order(lifetimes, *order, alignment);
    if (other.bytes < best.bytes) best = std::move(other);
  }
  return best;
}

std::int64_t most_live_bytes(std::span<const Lifetime> lifetimes, std::int64_t alignment) {
  std::map<std::size_t, std::int64_t> changes;
  for (const Lifetime& lifetime : lifetimes) {
    const std::int64_t bytes = aligned(lifetime.bytes, alignment);
    changes[lifetime.first] += bytes;
    changes[lifetime.last + 1] -= bytes;
  }
  std::int64_t live = 0;
  std::int64_t most = 0;
  for (const auto& [moment, change] : changes) {
    live = checked_add(live, change);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace strata
