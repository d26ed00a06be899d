// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Places buffers with known lifetimes in one block of memory, so that buffers that live at the
/// same time do not overlap.
namespace strata {

/// From one moment to another, both included.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t bytes = 0;
};

struct Placement {
  std::vector<std::int64_t> offsets;  ///< of every lifetime, in their order
  std::int64_t bytes = 0;             ///< that all of it takes
};

/// Every offset is a multiple of `alignment`. Finding the smallest block is NP-hard; of several
/// orders in which things are put into the gap that fits best (the largest first, the longest
/// lived first, as they come), the best result is taken.
Placement placed(std::span<const Lifetime> lifetimes, std::int64_t alignment);

/// The peak of the live bytes, with sizes rounded up to the alignment: no placement takes less.
std::int64_t most_live_bytes(std::span<const Lifetime> lifetimes, std::int64_t alignment);

}  // namespace strata
