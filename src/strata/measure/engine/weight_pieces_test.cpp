// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/weight_pieces.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace strata::test {
namespace {

TEST(WeightPieces, gates_in_a_row_are_one_copy) {
  const std::vector<WeightPiece> gates = {
      {0, 8, 108, 8}, {0, 0, 100, 8}, {1, 0, 116, 4}, {0, 16, 200, 8}};
  const std::vector<WeightPiece> expected = {{0, 0, 100, 16}, {0, 16, 200, 8}, {1, 0, 116, 4}};
  EXPECT_EQ(joined_pieces(gates), expected);
  EXPECT_TRUE(joined_pieces({}).empty());
}

// Byte by byte, the same copies.
TEST(WeightPieces, joining_changes_no_byte) {
  using Copies = std::map<std::int64_t, std::pair<std::size_t, std::int64_t>>;
  const auto copies_of = [](const std::vector<WeightPiece>& pieces) {
    Copies copies;
    for (const WeightPiece& piece : pieces) {
      for (std::int64_t i = 0; i < piece.bytes; ++i)
        copies[piece.space_byte + i] = {piece.tensor, piece.at_byte + i};
    }
    return copies;
  };
  std::mt19937 random(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<WeightPiece> pieces;
    std::map<std::size_t, std::int64_t> ends;
    std::int64_t space = 0;
    for (int i = 0; i < 12; ++i) {
      const std::size_t tensor = random() % 3;
      const auto bytes = static_cast<std::int64_t>(1 + random() % 5);
      space += static_cast<std::int64_t>(random() % 2);
      pieces.push_back({tensor, ends[tensor], space, bytes});
      ends[tensor] += bytes;
      space += bytes;
    }
    const Copies expected = copies_of(pieces);
    std::shuffle(pieces.begin(), pieces.end(), random);
    const std::vector<WeightPiece> joined = joined_pieces(pieces);
    EXPECT_EQ(copies_of(joined), expected);
    EXPECT_LE(joined.size(), pieces.size());
  }
}

}  // namespace
}  // namespace strata::test
