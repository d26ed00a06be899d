// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/walk.hpp"

#include <gtest/gtest.h>

#include <array>

namespace strata::cpu_training {
namespace {

/// Offsets of all numbers in the order of memory, of the whole tensor and of one repeated along its
/// middle axis.
std::vector<std::array<std::int64_t, 2>> all_offsets(const Sizes& shape, const Sizes& repeated) {
  std::vector<std::array<std::int64_t, 2>> offsets;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        offsets.push_back({static_cast<std::int64_t>(offsets.size()),
                           i * repeated[0] + j * repeated[1] + k * repeated[2]});
      }
    }
  }
  return offsets;
}

// In parts that begin and end anywhere, and in pieces of any length.
TEST(Walk, goes_through_every_number_in_order) {
  const Sizes shape = {3, 4, 10};
  for (const Sizes& other : {Sizes{3, 1, 10}, Sizes{1, 4, 1}, Sizes{3, 4, 10}, Sizes{1, 1, 10}}) {
    const Sizes repeated = broadcast_strides(other, shape);
    const auto wanted = all_offsets(shape, repeated);
    for (const std::int64_t longest : {1, 3, 10, 16, 1000}) {
      Walk walk(shape, {strides_of(shape), repeated});
      walk.set_longest_piece(longest);
      for (std::int64_t part = 1; part <= walk.pieces(); ++part) {
        std::vector<std::array<std::int64_t, 2>> found;
        for (std::int64_t begin = 0; begin < walk.pieces(); begin += part) {
          walk.each_piece(begin, std::min(begin + part, walk.pieces()),
                          [&](const Walk::Offsets& at, std::int64_t length) {
                            EXPECT_LE(length, longest);
                            for (std::int64_t i = 0; i < length; ++i) {
                              found.push_back({at[0] + i * walk.step(0), at[1] + i * walk.step(1)});
                            }
                          });
        }
        ASSERT_EQ(found, wanted) << "pieces of " << longest << ", parts of " << part;
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
