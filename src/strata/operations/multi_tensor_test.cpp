// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/multi_tensor.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

/// Piece by piece, as PyTorch's loop goes.
std::int64_t piece_by_piece(const std::vector<std::int64_t>& sizes, std::int64_t most_tensors) {
  std::int64_t launches = 0, tensors = 0, pieces = 0;
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    ++tensors;
    const std::int64_t all = (size + 65535) / 65536;
    for (std::int64_t piece = 0; piece < all; ++piece) {
      ++pieces;
      const bool is_last = piece == all - 1;
      if ((tensors == most_tensors && is_last) || pieces == 320) {
        ++launches;
        pieces = 0;
        tensors = is_last ? 0 : 1;
      }
    }
  }
  return launches + (pieces != 0 ? 1 : 0);
}

TEST(MultiTensor, launches_as_often_as_its_loop_piece_by_piece) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::int64_t> sizes(random() % 300);
    for (std::int64_t& size : sizes) {
      const std::int64_t limit = std::int64_t{1} << (random() % 26);
      size = static_cast<std::int64_t>(random()) % limit;
    }
    EXPECT_EQ(multi_tensor_launches(sizes, 1), piece_by_piece(sizes, 110));
    EXPECT_EQ(multi_tensor_launches(sizes, 2), piece_by_piece(sizes, 64));
    EXPECT_EQ(multi_tensor_launches(sizes, 9), piece_by_piece(sizes, 30));
  }
}

// The profiler saw three kernels for the eight weights of a perceptron on an H200.
TEST(MultiTensor, of_large_weights_launches_by_their_pieces) {
  const std::vector<std::int64_t> mlp = {4096L * 1024, 4096, 4096L * 4096, 4096,
                                         4096L * 4096, 4096, 1000L * 4096, 1000};
  EXPECT_EQ(multi_tensor_launches(mlp, 1), 3);
  EXPECT_EQ(multi_tensor_launches(mlp, 2), 3);
}

}  // namespace
}  // namespace strata
