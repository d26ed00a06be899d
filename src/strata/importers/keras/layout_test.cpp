// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/layout.hpp"

#include <gtest/gtest.h>

namespace strata::keras {
namespace {

TEST(KerasLayout, channels_go_before_space) {
  const Shape batch = {2, 5, 7, 3};
  EXPECT_EQ(stored_shape(batch, 0), batch);
  EXPECT_EQ(stored_shape(batch, 1), (Shape{2, 3, 5, 7}));
  const Shape film = {2, 9, 5, 7, 3};
  EXPECT_EQ(stored_shape(film, 2), (Shape{2, 9, 3, 5, 7}));
}

TEST(KerasLayout, both_ways_are_inverse) {
  for (std::size_t rank = 1; rank <= most_axes; ++rank) {
    Shape shape;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      shape.push_back(static_cast<std::int64_t>(axis) + 10);
    }
    for (std::size_t channels_at = 0; channels_at < rank; ++channels_at) {
      EXPECT_EQ(keras_shape(stored_shape(shape, channels_at), channels_at), shape);
      const Axes there = permutation_between(rank, 0, channels_at);
      for (std::size_t axis = 0; axis < rank; ++axis) {
        EXPECT_EQ(stored_shape(shape, channels_at)[axis], shape[there[axis]]);
      }
    }
  }
}

TEST(KerasLayout, axes_of_extent_one_move_freely) {
  const Axes channels_last = permutation_between(4, 1, 0);
  EXPECT_FALSE(moves_nothing(channels_last, {2, 3, 5, 7}));
  EXPECT_TRUE(moves_nothing(channels_last, {2, 3, 1, 1}));
  EXPECT_TRUE(moves_nothing(channels_last, {2, 1, 5, 7}));
  EXPECT_TRUE(moves_nothing({0, 1, 2}, {2, 3, 4}));
}

}  // namespace
}  // namespace strata::keras
