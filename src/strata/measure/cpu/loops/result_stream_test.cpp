// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/result_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace strata::cpu_training {
namespace {

// Any beginning, any lengths: everything arrives, and nothing beside it is touched.
TEST(ResultStream, writes_everything_and_nothing_else) {
  std::uint32_t state = 1;
  const auto random = [&state](std::uint32_t below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<std::int64_t>((state >> 8U) % below);
  };
  for (int trial = 0; trial < 200; ++trial) {
    const std::int64_t first = random(40), total = random(9000);
    std::vector<float> memory(static_cast<std::size_t>(first + total + 40), -1.0F);
    {
      ResultStream<float> stream(memory.data(), first, trial % 4 != 0);
      for (std::int64_t at = 0; at < total;) {
        const std::int64_t length =
            std::min(total - at, random(2) == 0 ? random(40) : random(2049));
        float* const place = stream.next(length);
        std::iota(place, place + length, static_cast<float>(at));
        at += length;
      }
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) - first;
      const float wanted = at >= 0 && at < total ? static_cast<float>(at) : -1.0F;
      ASSERT_EQ(memory[i], wanted) << "place " << at << " of " << total;
    }
  }
}

TEST(ResultStream, copies_and_fills_what_is_longer_than_its_room) {
  std::vector<float> from(10'007), to(20'100, -5.0F);
  std::iota(from.begin(), from.end(), 0.0F);
  {
    ResultStream<float> stream(to.data(), 3, true);
    stream.copy(from.data(), 10'007);
    stream.fill(7.0F, 10'001);
  }
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 3));
  EXPECT_EQ(std::count(to.begin() + 10'010, to.begin() + 20'011, 7.0F), 10'001);
  EXPECT_EQ(std::count(to.begin(), to.end(), -5.0F), 3 + 89);
}

TEST(ResultStream, has_pieces_that_end_with_a_line) {
  if (stream_of<float>() == nullptr) GTEST_SKIP() << "no stores around the caches here";
  alignas(64) std::array<float, 4096> memory{};
  for (const std::int64_t first : {0, 1, 15, 16, 77}) {
    ResultStream<float> stream(memory.data(), first, true);
    std::int64_t made = 0;
    stream.pieces(1000, [&](std::int64_t at, std::int64_t length, float* place) {
      EXPECT_EQ(at, made);
      EXPECT_LE(length, short_piece<float>);
      made += length;
      EXPECT_TRUE(made == 1000 || (first + made) % 16 == 0) << "from " << first << ": " << made;
      std::fill_n(place, length, 1.0F);
    });
    EXPECT_EQ(made, 1000);
  }
}

TEST(ResultStream, is_for_what_no_cache_holds) {
  EXPECT_FALSE(is_beyond_caches(4096));
  EXPECT_TRUE(is_beyond_caches(std::int64_t{1} << 40));
  const AsWithoutCaches guard;
  EXPECT_TRUE(is_beyond_caches(4096));
}

}  // namespace
}  // namespace strata::cpu_training
