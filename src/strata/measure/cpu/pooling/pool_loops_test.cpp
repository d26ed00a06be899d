// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/pool_loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr float without_end = std::numeric_limits<float>::infinity();

std::vector<PoolLoops<float>> both_pool_loops() {
  return {pool_loops<float>(), PlainPoolLoops<float>::table()};
}

/// Few different numbers, so that many are equal; −∞ and what is not a number among them.
std::vector<float> mixed_numbers(std::mt19937& random, std::size_t count) {
  const std::vector<float> some = {-without_end, -1, 0, 1, 2, std::nanf("")};
  std::discrete_distribution<std::size_t> any({9, 5, 5, 5, 5, 1});
  std::vector<float> numbers(count);
  for (float& number : numbers) number = some[any(random)];
  return numbers;
}

struct Windows {
  std::vector<std::vector<float>> numbers;
  std::vector<WindowRow<float>> rows;

  Windows(std::mt19937& random, const WindowShape& shape) {
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      numbers.push_back(mixed_numbers(random, 600));
      rows.push_back({numbers.back().data(), static_cast<std::int32_t>((row + 1) * shape.taps)});
    }
  }
};

void expect_largest(const Windows& windows, const WindowShape& shape, std::int64_t count) {
  const std::vector<std::int32_t> defaults(static_cast<std::size_t>(count + room_behind_rows), 1);
  for (const PoolLoops<float>& loops : both_pool_loops()) {
    std::vector<float> most(static_cast<std::size_t>(count + 1), 77);
    std::vector<std::uint8_t> which(static_cast<std::size_t>(count + room_behind_rows));
    loops.largest(windows.rows.data(), shape, defaults.data(), most.data(), which.data(), count);
    EXPECT_EQ(most.back(), 77) << "nothing is written behind " << count;
    for (std::int64_t i = 0; i < count; ++i) {
      float best = -without_end;
      std::int64_t tap = windows.rows[0].first + 1;
      for (std::int64_t k = 0; k < shape.rows * shape.taps; ++k) {
        const float value =
            windows.numbers[static_cast<std::size_t>(k / shape.taps)][static_cast<std::size_t>(
                i * shape.stride + k % shape.taps * shape.dilation)];
        // PyTorch's rule.
        if (value > best || std::isnan(value)) best = value, tap = shape.taps + k;
      }
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(std::isnan(most[at]), std::isnan(best));
      if (!std::isnan(best)) {
        ASSERT_EQ(most[at], best);
      }
      ASSERT_EQ(which[at], tap) << i << " of " << count << ", stride " << shape.stride;
    }
  }
}

TEST(PoolLoops, the_first_of_equals_wins_and_what_is_not_a_number_wins_over_all) {
  std::mt19937 random(3);
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t dilation : {1, 2}) {
      for (const std::int64_t taps : {1, 2, 3}) {
        const WindowShape shape{4 - taps, taps, dilation, stride};
        for (std::int64_t count = 1; count < 72; count += 3) {
          expect_largest(Windows(random, shape), shape, count);
        }
      }
    }
  }
}

TEST(PoolLoops, sums_of_windows_are_those_of_doubles) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  for (const std::int64_t stride : {1, 2, 3}) {
    for (std::int64_t count = 1; count < 72; ++count) {
      const WindowShape shape{2, 3, 1 + count % 2, stride};
      Windows windows(random, shape);
      for (auto& row : windows.numbers) {
        for (float& number : row) number = normal(random);
      }
      const std::vector<float> shares(static_cast<std::size_t>(count + room_behind_rows), 0.5F);
      for (const PoolLoops<float>& loops : both_pool_loops()) {
        std::vector<float> y(static_cast<std::size_t>(count + 1), 77);
        loops.sum(windows.rows.data(), shape, shares.data(), 0.25F, y.data(), count);
        EXPECT_EQ(y.back(), 77);
        for (std::int64_t i = 0; i < count; ++i) {
          double wanted = 0;
          for (const auto& row : windows.numbers) {
            for (std::int64_t k = 0; k < 3; ++k) {
              wanted += static_cast<double>(
                  row[static_cast<std::size_t>(i * stride + k * shape.dilation)]);
            }
          }
          ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(i)]), wanted / 8, 1e-5);
        }
      }
    }
  }
}

// Outputs o go to stride · o + tap − 1, as in windows of three with padding; the row is the second
// of its windows, and half of the maxima lay in the first.
TEST(PoolLoops, gradients_go_to_the_taps_that_were_picked) {
  std::mt19937 random(5);
  for (const std::int64_t stride : {1, 2, 3}) {
    std::vector<SpreadShift> shifts;
    std::vector<std::int64_t> begin = {0};
    for (std::int64_t phase = 0; phase < stride; ++phase) {
      for (std::int32_t tap = 0; tap < 3; ++tap) {
        const std::int64_t apart = phase + 1 - tap;
        if (apart % stride == 0) shifts.push_back({phase, apart / stride, tap});
      }
      begin.push_back(static_cast<std::int64_t>(shifts.size()));
    }
    for (std::int64_t count = 1; count < 140; ++count) {
      const std::int64_t outputs = (count + stride) / stride, margin = 4;
      std::vector<float> gradients(static_cast<std::size_t>(margin + count + room_behind_rows));
      std::vector<std::uint8_t> which(gradients.size());
      std::vector<double> wanted(static_cast<std::size_t>(count));
      for (std::int64_t o = 0; o < outputs; ++o) {
        const auto at = static_cast<std::size_t>(margin + o);
        gradients[at] = static_cast<float>(random() % 1000) / 8;
        which[at] = static_cast<std::uint8_t>(random() % 6);
        const std::int64_t place = o * stride + which[at] % 3 - 1;
        if (which[at] >= 3 && place >= 0 && place < count) {
          wanted[static_cast<std::size_t>(place)] += static_cast<double>(gradients[at]);
        }
      }
      const SpreadRow<float> row{gradients.data() + margin, which.data() + margin, 3};
      for (const PoolLoops<float>& loops : both_pool_loops()) {
        std::vector<float> dx(static_cast<std::size_t>(count + 1), 77);
        loops.spread(&row, 1, {shifts.data(), begin.data(), stride}, dx.data(), count);
        EXPECT_EQ(dx.back(), 77);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          ASSERT_EQ(static_cast<double>(dx[i]), wanted[i]) << i << " of " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
