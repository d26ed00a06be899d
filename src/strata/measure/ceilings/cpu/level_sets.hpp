// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/measure/ceilings/cpu/topology.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// Which sizes show which level of memory, and what must hold between the levels of one machine.
namespace strata::cpu {

/// Bytes of a level that belong to one core when all of them work.
std::int64_t share_of_core(const CacheLevel& cache, int threads);

/// Bytes that each thread runs over so that the level of that index serves them: more than the
/// levels inside hold, less than it holds. Never empty.
std::vector<std::int64_t> sets_for_level(std::span<const CacheLevel> caches, std::size_t index,
                                         int threads);

/// Bytes for each thread such that none of them is in a cache when it is met again: together
/// `times_caches` all last-level caches, at least 4; at most half of what is available.
struct OuterArrays {
  std::int64_t bytes_per_thread = 0;
  bool is_too_small = false;  ///< memory was short
};
OuterArrays outer_arrays(std::span<const CacheLevel> caches, int threads, int times_caches,
                         std::optional<std::int64_t> available_bytes);

/// 2^k from `least` to at most `most`, and every `factor`-th.
std::vector<std::int64_t> rising_sets(std::int64_t least, std::int64_t most, std::int64_t factor);

/// Takes the best of the mixes as the level's bandwidth.
void set_envelope(MemoryLevel& level);

/// A level that came out slower than one further out was disturbed: its bandwidth is taken away,
/// for a machine that contradicts itself is refused. Returns what to say of it.
std::vector<std::string> drop_disturbed_levels(std::vector<MemoryLevel>& levels);

}  // namespace strata::cpu
