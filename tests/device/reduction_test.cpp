// SPDX-License-Identifier: Apache-2.0
// Needs no GPU: the axes of a reduction reach every number of an array once.
#include "strata/measure/cuda/kernels/reduce.cuh"

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

TEST(Reduction, knows_columns) {
  const std::vector<std::int64_t> matrix = {300, 72}, batches = {12, 1, 40, 136};
  const Reduction of_rows(matrix, {true, false});
  ASSERT_TRUE(of_rows.columns);
  EXPECT_EQ(of_rows.columns->rows, 300);
  EXPECT_EQ(of_rows.columns->columns, 72);
  const Reduction of_batches(batches, {false, false, true, false});
  ASSERT_TRUE(of_batches.columns);
  EXPECT_EQ(of_batches.columns->batches, 12);
  EXPECT_EQ(of_batches.columns->rows, 40);
  EXPECT_EQ(of_batches.columns->columns, 136);
  EXPECT_FALSE(Reduction(matrix, {false, true}).columns);
  EXPECT_FALSE(Reduction(matrix, {true, true}).columns);
}

TEST(Reduction, knows_planes) {
  const std::vector<std::int64_t> image = {8, 6, 5, 7};
  const Reduction of_channels(image, {true, false, true, true});
  ASSERT_TRUE(of_channels.planes);
  EXPECT_EQ(of_channels.planes->rows, 8);
  EXPECT_EQ(of_channels.planes->channels, 6);
  EXPECT_EQ(of_channels.planes->inner, 35);
  const Reduction of_all(image, {true, true, true, true});
  ASSERT_TRUE(of_all.planes);
  EXPECT_EQ(of_all.planes->inner, 8 * 6 * 5 * 7);
  EXPECT_FALSE(Reduction(image, {false, true, false, true}).planes);
  EXPECT_FALSE(Reduction(image, {true, false, true, false}).planes);
}

TEST(Reduction, counts_the_memory_of_its_parts) {
  const std::vector<std::int64_t> image = {128, 6, 56, 56};
  const Reduction of_channels(image, {true, false, true, true});
  EXPECT_TRUE(of_channels.is_by_cub());
  EXPECT_GT(of_channels.splits(), 1);
  EXPECT_GE(of_channels.scratch_bytes(DType::fp32), of_channels.splits() * 6 * 4);
  EXPECT_GE(of_channels.scratch_bytes(DType::fp64), of_channels.splits() * 6 * 8);
  const std::vector<std::int64_t> short_rows = {4100, 3};
  EXPECT_FALSE(Reduction(short_rows, {false, true}).is_by_cub());
}

}  // namespace
}  // namespace strata::cuda::train
