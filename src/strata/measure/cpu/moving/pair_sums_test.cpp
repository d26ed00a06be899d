// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/pair_sums.hpp"

#include "strata/measure/cpu/moving/layout_loops.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata::cpu_training {
namespace {

TEST(PairSums, are_those_of_two_by_two_numbers) {
  if (layout_loops() == nullptr) GTEST_SKIP() << "no vector code";
  for (const bool is_beyond : {false, true}) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      for (const std::int64_t rows : {1, 2, 9}) {
        std::vector<float> x(static_cast<std::size_t>(4 * rows * width));
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101);
        std::vector<float> y(static_cast<std::size_t>(rows * width) + 4, -9);
        {
          ResultStream<float> result(y.data(), 3, is_beyond);  // not at a line
          sum_pairs(x.data(), 0.25F, width, rows, result);
        }
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t i = 0; i < width; ++i) {
            const float* const pair = x.data() + row * 4 * width + 2 * i;
            const float wanted = pair[0] + pair[1] + pair[2 * width] + pair[2 * width + 1];
            ASSERT_EQ(y[static_cast<std::size_t>(3 + row * width + i)], 0.25F * wanted)
                << width << ' ' << row << ' ' << i;
          }
        }
        EXPECT_EQ(y[2], -9) << "wrote before its numbers";
        EXPECT_EQ(y[static_cast<std::size_t>(rows * width) + 3], -9) << "wrote behind its numbers";
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
