// SPDX-License-Identifier: Apache-2.0
// Needs no GPU: layouts of sums against sums that look at every axis.
#include "strata/measure/cuda/sums/sum_layout.cuh"

#include "strata/measure/cuda/index_map.cuh"

#include <gtest/gtest.h>

#include <random>

namespace strata::cuda::train {
namespace {

std::vector<double> sums_by_axes(const std::vector<std::int64_t>& shape,
                                 const std::vector<bool>& is_summed,
                                 const std::vector<double>& numbers) {
  std::vector<std::int64_t> kept;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    kept.push_back(is_summed[axis] ? 1 : shape[axis]);
  const std::vector<std::int64_t> strides = broadcast_strides(kept, shape);
  std::int64_t results = 1;
  for (const std::int64_t extent : kept) results *= extent;
  std::vector<double> sums(static_cast<std::size_t>(results));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t place = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      place += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    sums[static_cast<std::size_t>(place)] += numbers[i];
  }
  return sums;
}

std::vector<double> sums_by_layout(const SumLayout& layout, const std::vector<double>& numbers) {
  std::vector<double> sums(static_cast<std::size_t>(layout.results()));
  std::size_t at = 0;
  for (std::int64_t batch = 0; batch < layout.batches; ++batch) {
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      for (std::int64_t channel = 0; channel < layout.channels; ++channel) {
        for (std::int64_t i = 0; i < layout.inner; ++i)
          sums[static_cast<std::size_t>(batch * layout.channels + channel)] += numbers[at++];
      }
    }
  }
  return sums;
}

TEST(SumLayout, sums_what_the_axes_say) {
  std::mt19937 random(1);
  int without = 0;
  for (int i = 0; i < 500; ++i) {
    std::vector<std::int64_t> shape(1 + random() % 5);
    std::vector<bool> is_summed(shape.size());
    std::size_t count = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = 1 + random() % 4;
      is_summed[axis] = random() % 2 == 0;
      count *= static_cast<std::size_t>(shape[axis]);
    }
    const std::optional<SumLayout> layout = sum_layout(shape, is_summed);
    if (!layout) {
      ++without;
      continue;
    }
    ASSERT_TRUE(layout->batches == 1 || layout->inner == 1);
    std::vector<double> numbers(count);
    for (double& number : numbers) number = static_cast<double>(random() % 1000);
    ASSERT_EQ(sums_by_layout(*layout, numbers), sums_by_axes(shape, is_summed, numbers));
  }
  EXPECT_LT(without, 100);  // most have one
}

TEST(SumLayout, has_none_where_axes_change_too_often) {
  const std::vector<std::int64_t> shape = {2, 3, 4, 5};
  EXPECT_FALSE(sum_layout(shape, {true, false, true, false}));
  EXPECT_FALSE(sum_layout(shape, {false, true, false, true}));
  EXPECT_TRUE(sum_layout(shape, {true, false, false, true}));
  EXPECT_TRUE(sum_layout(shape, {false, true, true, false}));
}

}  // namespace
}  // namespace strata::cuda::train
