// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/strided_copy.hpp"

#include "strata/base/error.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

namespace strata::cpu_training {
namespace {

std::int64_t written_bytes(const Walk& walk, std::size_t element) {
  return walk.rows() * walk.row_length() * static_cast<std::int64_t>(element);
}

/// Where the rows to come lie: rows that are short and far apart come too late otherwise, because
/// processors foresee only what lies in one page.
template <class Element>
class RowsAhead {
 public:
  explicit RowsAhead(const Walk& walk) : length_(walk.row_length()) {
    const std::int64_t bytes = walk.row_length() * static_cast<std::int64_t>(sizeof(Element));
    constexpr std::int64_t bytes_ahead = 4096;
    if (walk.step(1) != 1 || bytes > bytes_ahead || walk.shape().size() < 2) return;
    distance_ = bytes_ahead / bytes * walk.strides(1)[walk.shape().size() - 2];
  }
  void fetch_after(const Element* row) const {
    if (distance_ != 0) fetch(row + distance_, length_);
  }

 private:
  std::int64_t length_, distance_ = 0;
};

template <class Element>
void copy_rows(const Workers& workers, const Walk& walk, const Element* from, Element* to) {
  const std::int64_t to_step = walk.step(0), from_step = walk.step(1);
  const PastCaches past(written_bytes(walk, sizeof(Element)));
  const RowsAhead<Element> ahead(walk);
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      Element* const y = to + at[0];
      const Element* const x = from + at[1];
      if (to_step == 1 && from_step == 1) {
        ahead.fetch_after(x);
        past.copy(y, x, length * static_cast<std::int64_t>(sizeof(Element)));
      } else if (to_step == 1 && from_step == 0) {
        std::array<Element, static_cast<std::size_t>(longest_piece)> same;
        std::fill_n(same.begin(), length, *x);
        past.copy(y, same.data(), length * static_cast<std::int64_t>(sizeof(Element)));
      } else if (to_step == 1) {
        std::array<Element, static_cast<std::size_t>(longest_piece)> row;
        for (std::int64_t i = 0; i < length; ++i)
          row[static_cast<std::size_t>(i)] = x[i * from_step];
        past.copy(y, row.data(), length * static_cast<std::int64_t>(sizeof(Element)));
      } else {
        for (std::int64_t i = 0; i < length; ++i) y[i * to_step] = x[i * from_step];
      }
    });
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

/// A tile is turned in memory that stays in the first cache, so that lines of `from` are read whole
/// and lines of `to` are written whole.
template <class Element>
struct Tile {
  static constexpr std::int64_t rows = 32, columns = 64;  // of `to`
  alignas(64) std::array<Element, rows * columns> numbers;

  /// numbers[r][c] = from[c · from_column + r]; where `next` lies is fetched meanwhile.
  void turn(const Element* from, std::int64_t from_column, std::int64_t row_count,
            std::int64_t column_count, std::int64_t next) {
    std::int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (sizeof(Element) == 4) {
      whole_rows = row_count / 4 * 4;
      whole_columns = column_count / 4 * 4;
      for (std::int64_t c = 0; c < whole_columns; c += 4) {
        for (std::int64_t k = c; next != 0 && k < c + 4; ++k) {
          fetch(from + k * from_column + next, row_count);
        }
        for (std::int64_t r = 0; r < whole_rows; r += 4) {
          turn_four(from + c * from_column + r, from_column, numbers.data() + r * columns + c,
                    columns);
        }
      }
    }
    for (std::int64_t c = 0; c < column_count; ++c) {
      for (std::int64_t r = c < whole_columns ? whole_rows : 0; r < row_count; ++r) {
        numbers[static_cast<std::size_t>(r * columns + c)] = from[c * from_column + r];
      }
    }
  }
};

/// Rows of one become columns of the other, tile by tile.
template <class Element>
void turn(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
          Element* to) {
  using Block = Tile<Element>;
  const Sizes& shape = walk.shape();
  const std::int64_t columns = shape.back(), rows = shape[axis];
  const std::int64_t bands = (columns + Block::columns - 1) / Block::columns;
  const std::int64_t to_row = walk.strides(0)[axis], to_column = walk.step(0);
  const std::int64_t from_column = walk.step(1);
  const PastCaches past(to_column == 1 ? written_bytes(walk, sizeof(Element)) : 0);
  // A band is all rows of some columns.
  const auto turn_band = [&](std::int64_t band, Block& tile) {
    std::int64_t rest = band / bands, to_at = 0, from_at = 0;
    for (std::size_t i = shape.size() - 1; i-- > 0;) {
      if (i == axis) continue;
      to_at += rest % shape[i] * walk.strides(0)[i];
      from_at += rest % shape[i] * walk.strides(1)[i];
      rest /= shape[i];
    }
    const std::int64_t left = band % bands * Block::columns;
    const std::int64_t width = std::min(columns - left, Block::columns);
    for (std::int64_t top = 0; top < rows; top += Block::rows) {
      const std::int64_t height = std::min(rows - top, Block::rows);
      tile.turn(from + from_at + top + left * from_column, from_column, height, width,
                top + Block::rows < rows ? Block::rows : 0);
      for (std::int64_t r = 0; r < height; ++r) {
        const Element* const row = tile.numbers.data() + r * Block::columns;
        Element* const y = to + to_at + (top + r) * to_row + left * to_column;
        if (to_column == 1) {
          past.copy(y, row, width * static_cast<std::int64_t>(sizeof(Element)));
        } else {
          for (std::int64_t c = 0; c < width; ++c) y[c * to_column] = row[c];
        }
      }
    }
  };
  const std::int64_t outer = walk.rows() / rows;
  const std::int64_t least =
      std::max<std::int64_t>(1, numbers_per_part / (rows * std::min(columns, Block::columns)));
  workers.ranges(outer * bands, least, [&](std::int64_t begin, std::int64_t end) {
    Block tile;
    for (std::int64_t band = begin; band < end; ++band) turn_band(band, tile);
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

void copy_into_zeros(const Workers& workers, const Box& box, const Placed& from, void* to) {
  const std::size_t last = box.whole.size() - 1;
  const std::int64_t width = box.whole[last], left = box.begin[last], length = box.shape[last];
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows *= box.whole[axis];
  const bool is_beyond = is_beyond_caches(rows * width * 4);
  // Where the row lies in `from`; nothing of it may be there.
  const auto source = [&](std::int64_t row) -> const float* {
    std::int64_t place = from.offset;
    for (std::size_t axis = last; axis-- > 0;) {
      const std::int64_t at = row % box.whole[axis] - box.begin[axis];
      if (at < 0 || at >= box.shape[axis]) return nullptr;
      place += at * from.strides[axis];
      row /= box.whole[axis];
    }
    return static_cast<const float*>(from.numbers) + place;
  };
  workers.ranges(rows, std::max<std::int64_t>(1, numbers_per_part / width),
                 [&](std::int64_t begin, std::int64_t end) {
                   ResultStream<float> result(static_cast<float*>(to), begin * width, is_beyond);
                   for (std::int64_t row = begin; row < end; ++row) {
                     const float* const x = length > 0 ? source(row) : nullptr;
                     if (x == nullptr) {
                       result.fill(0.0F, width);
                       continue;
                     }
                     result.fill(0.0F, left);
                     result.copy(x, length);
                     result.fill(0.0F, width - left - length);
                   }
                 });
}

void fill_bytes_with_zero(const Workers& workers, void* to, std::int64_t bytes) {
  const bool is_beyond = is_beyond_caches(bytes) && bytes % 4 == 0;
  if (is_beyond) {
    return workers.ranges(bytes / 4, numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
      ResultStream<float>(static_cast<float*>(to), begin, true).fill(0.0F, end - begin);
    });
  }
  workers.ranges(bytes, 4 * numbers_per_part, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<char*>(to) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace strata::cpu_training
