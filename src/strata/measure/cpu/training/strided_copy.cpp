// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/strided_copy.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t turn_tile = 32;

template <class Element>
void copy_rows(const Workers& workers, const Walk& walk, const Element* from, Element* to) {
  const std::int64_t to_step = walk.step(0), from_step = walk.step(1);
  walk.each_piece(workers, [&](const Walk::Offsets& at, std::int64_t length) {
    Element* const y = to + at[0];
    const Element* const x = from + at[1];
    if (to_step == 1 && from_step == 1) {
      std::memcpy(y, x, static_cast<std::size_t>(length) * sizeof(Element));
    } else if (to_step == 1 && from_step == 0) {
      std::fill(y, y + length, *x);
    } else {
      for (std::int64_t i = 0; i < length; ++i) y[i * to_step] = x[i * from_step];
    }
  });
}

/// The axis, other than the last, whose neighbours lie side by side in `from`.
std::optional<std::size_t> axis_to_turn(const Walk& walk) {
  if (walk.step(1) == 1 || walk.step(1) == 0) return std::nullopt;
  for (std::size_t axis = 0; axis + 1 < walk.shape().size(); ++axis) {
    if (walk.strides(1)[axis] == 1) return axis;
  }
  return std::nullopt;
}

/// Turns 4 × 4 numbers: to[r · to_row + c] = from[c · from_column + r].
void turn_four(const std::uint32_t* from, std::int64_t from_column, std::uint32_t* to,
               std::int64_t to_row) {
  using Four __attribute__((vector_size(16))) = std::uint32_t;
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + from_column, sizeof b);
  std::memcpy(&c, from + 2 * from_column, sizeof c);
  std::memcpy(&d, from + 3 * from_column, sizeof d);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[4] = {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
                        __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
                        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
                        __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
  for (std::int64_t r = 0; r < 4; ++r) std::memcpy(to + r * to_row, &rows[r], sizeof rows[r]);
}

/// to[r · to_row + c · to_column] = from[c · from_column + r]
template <class Element>
void turn_tile_of(const Element* from, std::int64_t from_column, Element* to, std::int64_t to_row,
                  std::int64_t to_column, std::int64_t rows, std::int64_t columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(Element) == 4) {
    if (to_column == 1) {
      whole_rows = rows / 4 * 4;
      whole_columns = columns / 4 * 4;
    }
    for (std::int64_t r = 0; r < whole_rows; r += 4) {
      for (std::int64_t c = 0; c < whole_columns; c += 4) {
        turn_four(from + c * from_column + r, from_column, to + r * to_row + c, to_row);
      }
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[r * to_row + c * to_column] = from[c * from_column + r];
    }
  }
}

/// Rows of one become columns of the other, tile by tile, so that lines of the cache are
/// used whole.
template <class Element>
void turn(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
          Element* to) {
  const Sizes& shape = walk.shape();
  const std::int64_t columns = shape.back(), rows = shape[axis];
  const std::int64_t tiles = (rows + turn_tile - 1) / turn_tile;
  const std::int64_t to_row = walk.strides(0)[axis], to_column = walk.step(0);
  const std::int64_t from_column = walk.step(1);
  const std::int64_t outer = walk.rows() / rows;
  const auto turn_band = [&](std::int64_t band) {
    std::int64_t rest = band / tiles, to_at = 0, from_at = 0;
    for (std::size_t i = shape.size() - 1; i-- > 0;) {
      if (i == axis) continue;
      to_at += rest % shape[i] * walk.strides(0)[i];
      from_at += rest % shape[i] * walk.strides(1)[i];
      rest /= shape[i];
    }
    const std::int64_t first = band % tiles * turn_tile, last = std::min(rows, first + turn_tile);
    for (std::int64_t left = 0; left < columns; left += turn_tile) {
      const std::int64_t right = std::min(columns, left + turn_tile);
      turn_tile_of(from + from_at + first + left * from_column, from_column,
                   to + to_at + first * to_row + left * to_column, to_row, to_column, last - first,
                   right - left);
    }
  };
  workers.ranges(outer * tiles, std::max<std::int64_t>(1, numbers_per_part / (turn_tile * columns)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t band = begin; band < end; ++band) turn_band(band);
                 });
}

/// The axes in the order in which `to` lies in memory, so that it is written in order.
Walk walk_of(const Sizes& shape, const Placed& from, const Placed& to) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(to.strides[a]) > std::abs(to.strides[b]);
  });
  Sizes extents, to_strides, from_strides;
  for (const std::size_t axis : order) {
    extents.push_back(shape[axis]);
    to_strides.push_back(to.strides[axis]);
    from_strides.push_back(from.strides[axis]);
  }
  return {extents, {to_strides, from_strides}};
}

template <class Element>
void copy_elements(const Workers& workers, const Sizes& shape, const Placed& from,
                   const Placed& to) {
  const Walk walk = walk_of(shape, from, to);
  const Element* const x = static_cast<const Element*>(from.numbers) + from.offset;
  Element* const y = static_cast<Element*>(to.numbers) + to.offset;
  if (const auto axis = axis_to_turn(walk)) {
    turn(workers, walk, *axis, x, y);
  } else {
    copy_rows(workers, walk, x, y);
  }
}

}  // namespace

void copy_strided(const Workers& workers, std::int64_t element_bytes, const Sizes& shape,
                  const Placed& from, const Placed& to) {
  for (const std::int64_t extent : shape) {
    if (extent <= 0) return;
  }
  switch (element_bytes) {
    case 1: return copy_elements<std::uint8_t>(workers, shape, from, to);
    case 2: return copy_elements<std::uint16_t>(workers, shape, from, to);
    case 4: return copy_elements<std::uint32_t>(workers, shape, from, to);
    case 8: return copy_elements<std::uint64_t>(workers, shape, from, to);
    default: fail(ErrorKind::internal, "elements of {} bytes", element_bytes);
  }
}

void fill_bytes_with_zero(const Workers& workers, void* to, std::int64_t bytes) {
  workers.ranges(bytes, 4 * numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace strata::cpu_training
