// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/four_vectors.hpp"
#include "strata/measure/cpu/loops/walk.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

/// What ways of turning planes share.
namespace strata::cpu_training {

using FourNumbers __attribute__((vector_size(16))) = std::uint32_t;

/// Turns 4 × 4 numbers: the vector r has from[c · from_column + r] for each c.
STRATA_INLINE std::array<FourNumbers, 4> turned_four(const std::uint32_t* from,
                                                     std::int64_t from_column) {
  FourNumbers a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + from_column, sizeof b);
  std::memcpy(&c, from + 2 * from_column, sizeof c);
  std::memcpy(&d, from + 3 * from_column, sizeof d);
  const FourNumbers ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const FourNumbers ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const FourNumbers cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const FourNumbers cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
          __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
          __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
}

/// Rows and columns are those of `to`; rows are columns of `from`.
template <class Element>
struct Turning {
  const Walk& walk;
  std::size_t axis;
  const Element* from;
  Element* to;
  std::int64_t columns = walk.shape().back(), rows = walk.shape()[axis];
  std::int64_t outer = walk.rows() / rows;
  std::int64_t to_row = walk.strides(0)[axis], to_column = walk.step(0);
  std::int64_t from_column = walk.step(1);

  /// Where row 0 and column 0 lie, for an index of the other axes.
  std::pair<const Element*, Element*> plane(std::int64_t index) const {
    const Sizes& shape = walk.shape();
    std::int64_t to_at = 0, from_at = 0;
    for (std::size_t i = shape.size() - 1; i-- > 0;) {
      if (i == axis) continue;
      to_at += index % shape[i] * walk.strides(0)[i];
      from_at += index % shape[i] * walk.strides(1)[i];
      index /= shape[i];
    }
    return {from + from_at, to + to_at};
  }
};

}  // namespace strata::cpu_training
