// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/strided_copy.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Copies a tensor into one whose axes are in another order, so many numbers behind a whole line,
/// and compares each number.
template <class Element>
void expect_turned(const Workers& workers, const std::vector<std::int64_t>& extents,
                   const std::vector<std::size_t>& order, std::int64_t behind = 1) {
  Sizes shape, turned;
  for (const std::int64_t extent : extents) shape.push_back(extent);
  for (const std::size_t axis : order) turned.push_back(extents[axis]);
  const Sizes from_strides = strides_of(shape), turned_strides = strides_of(turned);
  Sizes to_strides = shape;
  for (std::size_t i = 0; i < order.size(); ++i) to_strides[order[i]] = turned_strides[i];
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  constexpr std::int64_t line = 64 / sizeof(Element);
  std::vector<Element> from(static_cast<std::size_t>(count));
  std::vector<Element> room(from.size() + 2 * line + static_cast<std::size_t>(behind), Element(77));
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(room.data()) % 64 /
                                                sizeof(Element));
  const std::int64_t first = (line - beyond) % line + behind;  // of those that are written
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<Element>(i * 2654435761U);
  copy_strided(workers, sizeof(Element), shape, {from.data(), from_strides},
               {room.data(), to_strides, first});
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(room.size()); ++i) {
    if (i >= first && i < first + count) continue;
    ASSERT_EQ(room[static_cast<std::size_t>(i)], Element(77)) << i - first;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, place = first;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      place += rest % extents[axis] * to_strides[axis];
      rest /= extents[axis];
    }
    ASSERT_EQ(room[static_cast<std::size_t>(place)], from[static_cast<std::size_t>(i)]) << i;
  }
}

TEST(StridedCopy, any_order_of_axes_has_every_number) {
  std::mt19937 random(21);
  const Workers workers(2);
  for (int round = 0; round < 120; ++round) {
    std::vector<std::int64_t> extents;
    const std::size_t axes = 2 + random() % 3;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t most = axes == 2 ? 400 : i + 1 == axes ? 140 : 24;
      extents.push_back(1 + static_cast<std::int64_t>(random()) % most);
    }
    std::vector<std::size_t> order(axes);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const auto large = round % 3 != 0 ? std::make_unique<AsWithoutCaches>() : nullptr;
    switch (round % 4) {
      case 0: expect_turned<std::uint8_t>(workers, extents, order); break;
      case 1: expect_turned<std::uint16_t>(workers, extents, order); break;
      case 2: expect_turned<std::uint64_t>(workers, extents, order); break;
      default: expect_turned<std::uint32_t>(workers, extents, order); break;
    }
    if (HasFatalFailure()) return;
  }
}

// Rows of whole lines, of halves, of quarters and of anything, that begin with a line or do not;
// columns that share few places in a cache; several tiles and less than one, low and high.
TEST(StridedCopy, planes_are_turned_whatever_their_lines) {
  const Workers workers(2);
  for (const std::int64_t columns : {5, 40, 64, 72, 272, 264, 268, 270}) {
    for (const std::int64_t rows : {1, 3, 70, 130, 262, 1024, 1030, 2048}) {
      if (rows == 2048 && columns != 40 && columns != 264) continue;
      if ((rows == 1024 || rows == 1030) && columns != 64 && columns != 272) continue;
      for (const std::int64_t behind : {0, 1, 8, 12}) {
        expect_turned<std::uint32_t>(workers, {2, columns, rows}, {0, 2, 1}, behind);
        if (HasFatalFailure()) FAIL() << columns << ", " << rows << ", " << behind;
      }
    }
  }
}

// As attention's heads part and come together, of lengths that go into groups of rows or do not.
TEST(StridedCopy, rows_of_several_sequences_go_where_they_belong) {
  const Workers workers(2);
  for (const std::int64_t length : {16, 64, 100, 300}) {
    for (const std::int64_t words : {23, 64, 131}) {
      expect_turned<std::uint32_t>(workers, {3, 4, words, length}, {0, 2, 1, 3});
      expect_turned<std::uint64_t>(workers, {4, words, length}, {1, 0, 2});
      expect_turned<std::uint8_t>(workers, {2, 4, words, length}, {2, 0, 1, 3});
      if (HasFatalFailure()) FAIL() << words << " words of " << length;
    }
  }
}

TEST(StridedCopy, pairs_go_to_planes_and_come_back) {
  const Workers workers(2);
  for (const PairPlanes& p : {PairPlanes{2, 3, 5, 8}, PairPlanes{1, 7, 4, 17},
                              PairPlanes{3, 2, 9, 40}, PairPlanes{2, 70, 16, 33}}) {
    if (!can_move_pairs(p)) GTEST_SKIP() << "no vector code";
    for (const bool is_large : {false, true}) {
      const auto large = is_large ? std::make_unique<AsWithoutCaches>() : nullptr;
      const std::int64_t count = p.batch * p.channels * p.height * p.width * 4;
      std::vector<float> wide(static_cast<std::size_t>(count)), deep(wide.size() + 1, 77);
      std::iota(wide.begin(), wide.end(), 0.5F);
      split_into_planes(workers, p, wide.data(), deep.data());
      EXPECT_EQ(deep.back(), 77);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t column = i % (2 * p.width), row = i / (2 * p.width) % (2 * p.height);
        const std::int64_t plane = i / (4 * p.width * p.height);
        const std::int64_t n = plane / p.channels, c = plane % p.channels;
        const std::int64_t block = row % 2 * 2 + column % 2;
        const std::int64_t to =
            (((n * 4 + block) * p.channels + c) * p.height + row / 2) * p.width + column / 2;
        ASSERT_EQ(deep[static_cast<std::size_t>(to)], wide[static_cast<std::size_t>(i)]) << i;
      }
      std::vector<float> back(wide.size() + 1, 77);
      join_planes(workers, p, deep.data(), back.data());
      EXPECT_EQ(back.back(), 77);
      back.pop_back();
      EXPECT_EQ(back, wide);
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
