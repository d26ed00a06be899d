// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/level_sets.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cpu {
namespace {

constexpr std::int64_t smallest_set = 8 << 10;
constexpr std::int64_t smallest_arrays = std::int64_t{192} << 20;  // where no cache is known
constexpr std::int64_t least_times_caches = 4;

}  // namespace

std::int64_t share_of_core(const CacheLevel& cache, int threads) {
  return cache.bytes / std::clamp<std::int64_t>(cache.cores_sharing, 1, std::max(threads, 1));
}

std::vector<std::int64_t> sets_for_level(std::span<const CacheLevel> caches, std::size_t index,
                                         int threads) {
  const std::int64_t share = share_of_core(caches[index], threads);
  if (index == 0) return {std::max(share / 4, smallest_set), std::max(share / 2, smallest_set)};
  const std::int64_t inside = share_of_core(caches[index - 1], threads);
  std::vector<std::int64_t> sets;
  for (const std::int64_t part : {8, 4, 2}) {
    if (share / part >= 2 * inside) sets.push_back(share / part);
  }
  // A cache that is hardly larger than the one inside it: both together hold this.
  if (sets.empty()) sets.push_back(inside + share / 2);
  return sets;
}

OuterArrays outer_arrays(std::span<const CacheLevel> caches, int threads, int times_caches,
                         std::optional<std::int64_t> available_bytes) {
  std::int64_t last_level = 0;
  if (!caches.empty()) last_level = caches.back().bytes * caches.back().instances;
  const std::int64_t wanted = std::max(times_caches * last_level, smallest_arrays);
  OuterArrays arrays{wanted / threads, false};
  if (available_bytes && wanted > *available_bytes / 2) {
    const std::int64_t most = *available_bytes / 2;
    arrays.bytes_per_thread = std::max<std::int64_t>(most / threads, 1 << 20);
    arrays.is_too_small = most < least_times_caches * last_level;
  }
  return arrays;
}

std::vector<std::int64_t> rising_sets(std::int64_t least, std::int64_t most, std::int64_t factor) {
  std::vector<std::int64_t> sets;
  std::int64_t set = 1;
  while (set < least) set *= 2;
  for (; set <= most; set *= factor) sets.push_back(set);
  return sets;
}

void set_envelope(MemoryLevel& level) {
  const auto best = std::max_element(level.mixes.begin(), level.mixes.end(),
                                     [](const MixBandwidth& a, const MixBandwidth& b) {
                                       return a.bytes_per_s.value < b.bytes_per_s.value;
                                     });
  if (best == level.mixes.end()) return;
  level.bandwidth_bytes_per_s = best->bytes_per_s;
  if (auto& evidence = level.bandwidth_bytes_per_s->evidence)
    evidence->notes.push_back(fmt::format("the best of its access mixes: {}", name_of(best->mix)));
}

std::vector<std::string> drop_disturbed_levels(std::vector<MemoryLevel>& levels) {
  std::vector<std::string> said;
  double outside = 0;  // the best further out
  std::string_view where;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    if (!level->bandwidth_bytes_per_s) continue;
    const double rate = level->bandwidth_bytes_per_s->value;
    if (rate < outside) {
      said.push_back(fmt::format(
          "{} came out slower ({}) than {} ({}), which cannot be: its bandwidth is left out; "
          "measure again when nothing else runs",
          level->name, format_bytes_per_s(rate, 4), where, format_bytes_per_s(outside, 4)));
      level->bandwidth_bytes_per_s.reset();
      level->mixes.clear();
      continue;
    }
    outside = rate;
    where = level->name;
  }
  return said;
}

}  // namespace strata::cpu
