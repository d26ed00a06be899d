// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace strata {
namespace {

constexpr std::int64_t test_alignment = 16;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + test_alignment - 1) / test_alignment * test_alignment;
}

// Byte by byte and moment by moment, independent of how gaps are found.
void expect_nothing_overlaps(const std::vector<Lifetime>& lifetimes, const Placement& placement) {
  std::size_t moments = 0;
  for (const Lifetime& lifetime : lifetimes) moments = std::max(moments, lifetime.last + 1);
  for (std::size_t moment = 0; moment < moments; ++moment) {
    std::vector<int> owners(static_cast<std::size_t>(placement.bytes), 0);
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
      const Lifetime& lifetime = lifetimes[i];
      if (moment < lifetime.first || moment > lifetime.last) continue;
      EXPECT_EQ(placement.offsets[i] % test_alignment, 0);
      ASSERT_LE(placement.offsets[i] + lifetime.bytes, placement.bytes);
      for (std::int64_t byte = 0; byte < lifetime.bytes; ++byte)
        ASSERT_EQ(owners[static_cast<std::size_t>(placement.offsets[i] + byte)]++, 0)
            << "moment " << moment << ", item " << i;
    }
  }
}

TEST(Arena, never_lets_two_live_things_overlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto between = [&](std::size_t least, std::size_t most) {
      return std::uniform_int_distribution<std::size_t>(least, most)(random);
    };
    std::vector<Lifetime> lifetimes(between(1, 30));
    for (Lifetime& lifetime : lifetimes) {
      lifetime.first = between(0, 20);
      lifetime.last = lifetime.first + between(0, 10);
      lifetime.bytes = static_cast<std::int64_t>(between(1, 200));
    }
    const Placement placement = placed(lifetimes, test_alignment);
    expect_nothing_overlaps(lifetimes, placement);
    const std::int64_t least = most_live_bytes(lifetimes, test_alignment);
    EXPECT_GE(placement.bytes, least);
    EXPECT_LE(static_cast<double>(placement.bytes), 1.35 * static_cast<double>(least));
  }
}

TEST(Arena, counts_what_lives_at_once) {
  const std::vector<Lifetime> lifetimes = {{0, 3, 100}, {1, 2, 50}, {3, 5, 20}};
  EXPECT_EQ(most_live_bytes(lifetimes, test_alignment), rounded_up(100) + rounded_up(50));
  EXPECT_EQ(most_live_bytes(lifetimes, 1), 150);
}

// The shape of training: what forward leaves is taken up in reverse.
TEST(Arena, wastes_nothing_on_a_stack) {
  std::vector<Lifetime> lifetimes;
  std::mt19937 random(3);
  constexpr std::size_t depth = 40;
  for (std::size_t i = 0; i < depth; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() % 1000 + 1);
    lifetimes.push_back({i, 2 * depth - i, bytes});
  }
  EXPECT_EQ(placed(lifetimes, test_alignment).bytes, most_live_bytes(lifetimes, test_alignment));
}

TEST(Arena, of_nothing_is_empty) { EXPECT_EQ(placed({}, test_alignment).bytes, 0); }

}  // namespace
}  // namespace strata
