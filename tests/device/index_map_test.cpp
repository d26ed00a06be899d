// SPDX-License-Identifier: Apache-2.0
// Needs no GPU: what the kernels compute places with, against plain arithmetic.
#include "strata/measure/cuda/kernels/index_map.cuh"

#include <gtest/gtest.h>

#include <random>

namespace strata::cuda::train {
namespace {

TEST(IndexMap, divides_as_division_does) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> divisors = {1, 2, 3, 7, 49, 64, 65535, 65536, 0x7FFFFFFF};
  for (int i = 0; i < 200; ++i)
    divisors.push_back(static_cast<std::uint32_t>(1 + random() % (1u << (1 + i % 31))));
  for (const std::uint32_t divisor : divisors) {
    const FastDivisor fast(divisor);
    std::vector<std::uint32_t> numbers = {0, 1, divisor - 1, divisor, 0x7FFFFFFF};
    for (int i = 0; i < 200; ++i)
      numbers.push_back(static_cast<std::uint32_t>(random() & 0x7FFFFFFF));
    for (const std::uint32_t number : numbers)
      ASSERT_EQ(fast.quotient(number), number / divisor) << number << " / " << divisor;
  }
}

/// Where element n is, axis by axis.
std::int64_t place_of(const StridedAxes& axes, std::size_t operand, std::int64_t n) {
  std::int64_t place = 0;
  for (std::size_t axis = axes.extents.size(); axis-- > 0;) {
    place += n % axes.extents[axis] * axes.strides[operand][axis];
    n /= axes.extents[axis];
  }
  return place;
}

TEST(IndexMap, merging_axes_moves_no_element) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    StridedAxes axes;
    const std::size_t count = random() % 6;
    std::vector<std::int64_t> inner;  // a part of it, so that some axes are runs and some are not
    for (std::size_t axis = 0; axis < count; ++axis) {
      axes.extents.push_back(static_cast<std::int64_t>(1 + random() % 4));
      inner.push_back(random() % 3 == 0 ? 1 : axes.extents.back());
    }
    axes.strides = {dense_strides(axes.extents), broadcast_strides(inner, axes.extents)};
    const StridedAxes merged = axes.merged();
    EXPECT_LE(merged.extents.size(), axes.extents.size());
    ASSERT_EQ(merged.elements(), axes.elements());
    const IndexMap<2> map(merged);
    for (std::int64_t n = 0; n < axes.elements(); ++n) {
      std::int64_t places[2] = {};
      map.add_places(static_cast<std::uint32_t>(n), places, 2);
      EXPECT_EQ(places[0], n);
      EXPECT_EQ(places[1], place_of(axes, 1, n));
    }
  }
}

TEST(IndexMap, repeats_axes_as_numpy_does) {
  const std::vector<std::int64_t> shape = {3, 1, 5}, target = {2, 3, 4, 5};
  EXPECT_EQ(broadcast_strides(shape, target), (std::vector<std::int64_t>{0, 5, 0, 1}));
  EXPECT_EQ(dense_strides(target), (std::vector<std::int64_t>{60, 20, 5, 1}));
}

}  // namespace
}  // namespace strata::cuda::train
