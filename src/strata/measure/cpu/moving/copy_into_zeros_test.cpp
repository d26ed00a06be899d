// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/copy_into_zeros.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Copies a tensor into zeros, so many numbers behind a whole line, and compares each number.
void expect_between_zeros(const Workers& workers, const Box& box, std::int64_t behind) {
  std::int64_t count = 1, whole = 1;
  for (std::size_t axis = 0; axis < box.shape.size(); ++axis) {
    count *= box.shape[axis];
    whole *= box.whole[axis];
  }
  constexpr std::int64_t line = 16;
  std::vector<float> from(static_cast<std::size_t>(count));
  std::iota(from.begin(), from.end(), 1.0F);
  std::vector<float> room(static_cast<std::size_t>(whole + behind + 2 * line), 77);
  const auto beyond =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(room.data()) % 64 / sizeof(float));
  const std::int64_t first = (line - beyond) % line + behind;
  std::vector<float> expected = room;
  std::fill_n(expected.begin() + first, whole, 0.0F);
  const Sizes strides = strides_of(box.whole);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, place = first;
    for (std::size_t axis = box.shape.size(); axis-- > 0;) {
      place += (rest % box.shape[axis] + box.begin[axis]) * strides[axis];
      rest /= box.shape[axis];
    }
    expected[static_cast<std::size_t>(place)] = from[static_cast<std::size_t>(i)];
  }
  copy_into_zeros(workers, box, {from.data(), strides_of(box.shape)}, room.data() + first);
  ASSERT_EQ(room, expected);
}

TEST(CopyIntoZeros, numbers_stand_between_zeros) {
  std::mt19937 random(5);
  const Workers workers(2);
  for (int round = 0; round < 300; ++round) {
    Box box;
    const std::size_t axes = 1 + random() % 4;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const bool is_padded = axis + 2 >= axes || round % 5 == 0;
      const auto below = [&](std::uint32_t most) {
        return static_cast<std::int64_t>(is_padded ? random() % most : 0);
      };
      const std::int64_t longest = axis + 1 == axes ? 90 : 9;
      box.shape.push_back(1 + static_cast<std::int64_t>(random()) % longest);
      box.begin.push_back(below(round % 3 == 0 ? 40 : 4));
      box.whole.push_back(box.begin[axis] + box.shape[axis] + below(4));
    }
    expect_between_zeros(workers, box, static_cast<std::int64_t>(random() % 16));
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
}  // namespace strata::cpu_training
