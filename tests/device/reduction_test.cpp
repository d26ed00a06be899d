// SPDX-License-Identifier: Apache-2.0
// Needs no GPU: the axes of a reduction reach every number of an array once.
#include "strata/measure/cuda/sums/reduce.cuh"

#include <gtest/gtest.h>

namespace strata::cuda::train {
namespace {

/// Every place that some element of the axes has, plus `base`.
std::vector<std::int64_t> places_of(const StridedAxes& axes, std::int64_t base) {
  std::vector<std::int64_t> places = {base};
  for (std::size_t axis = 0; axis < axes.extents.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : places) {
      for (std::int64_t i = 0; i < axes.extents[axis]; ++i)
        next.push_back(place + i * axes.strides[0][axis]);
    }
    places = next;
  }
  return places;
}

TEST(Reduction, reaches_every_number_once) {
  const std::vector<std::int64_t> shape = {2, 3, 4, 5};
  for (unsigned mask = 0; mask < 16; ++mask) {
    const std::vector<bool> is_reduced = {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0,
                                          (mask & 8) != 0};
    const Reduction reduction(shape, is_reduced);
    std::vector<int> times(120);
    for (const std::int64_t result : places_of(reduction.kept, 0)) {
      for (const std::int64_t place : places_of(reduction.reduced, result))
        ++times.at(static_cast<std::size_t>(place));
    }
    EXPECT_EQ(times, std::vector<int>(120, 1)) << mask;
  }
}

TEST(Reduction, needs_scratch_where_it_has_a_layout) {
  const std::vector<std::int64_t> shape = {40, 6, 49, 7};
  const Reduction channels(shape, {true, false, true, true});
  ASSERT_TRUE(channels.layout);
  EXPECT_GE(channels.scratch(), 2 * channels.layout->results());
  const Reduction alternating(shape, {true, false, true, false});
  EXPECT_FALSE(alternating.layout);
  EXPECT_EQ(alternating.scratch(), 0);
}

}  // namespace
}  // namespace strata::cuda::train
