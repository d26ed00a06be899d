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
    // So many rows on, which may be past the end of the next axes.
    std::int64_t rows = bytes_ahead / bytes;
    for (std::size_t axis = walk.shape().size() - 1; axis-- > 0 && rows > 0;) {
      distance_ += rows % walk.shape()[axis] * walk.strides(1)[axis];
      rows /= walk.shape()[axis];
    }
  }
  void fetch_after(const Element* row) const {
    if (distance_ != 0) fetch(row + distance_, length_);
  }

 private:
  std::int64_t length_, distance_ = 0;
};

/// Rows that lie side by side on both sides, by a loop over the last axis but one whose places stay
/// in registers: what is written between the rows of a result and read again soon, such as the
/// places of a walk, waits behind them on its way to the caches.
template <class Element>
void copy_short_rows(const Workers& workers, const Walk& walk, const Element* from, Element* to) {
  const Sizes& shape = walk.shape();
  const std::size_t along = shape.size() - 2;
  const std::int64_t rows = shape[along];
  const std::int64_t to_row = walk.strides(0)[along], from_row = walk.strides(1)[along];
  const auto bytes = static_cast<std::size_t>(walk.row_length()) * sizeof(Element);
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / walk.row_length());
  workers.ranges(walk.rows(), least, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t first = row % rows, count = std::min(rows - first, end - row);
      std::int64_t rest = row / rows;
      Element* y = to + first * to_row;
      const Element* x = from + first * from_row;
      for (std::size_t axis = along; axis-- > 0;) {
        y += rest % shape[axis] * walk.strides(0)[axis];
        x += rest % shape[axis] * walk.strides(1)[axis];
        rest /= shape[axis];
      }
      for (std::int64_t i = 0; i < count; ++i, y += to_row, x += from_row) {
        std::memcpy(y, x, bytes);
      }
      row += count;
    }
  });
}

template <class Element>
void copy_rows(const Workers& workers, const Walk& walk, const Element* from, Element* to) {
  const std::int64_t to_step = walk.step(0), from_step = walk.step(1);
  const PastCaches past(written_bytes(walk, sizeof(Element)));
  constexpr std::int64_t short_row = 4096;  // bytes; there are many of them, then
  if (past.stream == nullptr && to_step == 1 && from_step == 1 && walk.shape().size() >= 2 &&
      walk.row_length() * static_cast<std::int64_t>(sizeof(Element)) <= short_row) {
    return copy_short_rows(workers, walk, from, to);
  }
  const RowsAhead<Element> ahead(walk);
  walk.each_part(workers, [&](std::int64_t begin, std::int64_t end) {
    walk.each_piece(begin, end, [&](const Walk::Offsets& at, std::int64_t length) {
      Element* const y = to + at[0];
      const Element* const x = from + at[1];
      if (to_step == 1 && from_step == 1) {
        ahead.fetch_after(x);
        past.copy(y, x, length * static_cast<std::int64_t>(sizeof(Element)));
      } else if (to_step == 1 && from_step == 0) {
        if (past.stream == nullptr) {
          std::fill_n(y, length, *x);
          return;
        }
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

/// What of rows that are no whole lines does not fill its last one, until the next columns come:
/// lines of which parts are written at different times cost several times as much.
template <class Element>
class UnfinishedLines {
 public:
  static constexpr std::int64_t longest = 64 / sizeof(Element);

  /// Up to `most` rows; 0: nothing is kept.
  explicit UnfinishedLines(std::int64_t most)
      : numbers_(static_cast<std::size_t>(most * longest)) {}

  /// Writes `count` numbers that go to y, and before them what was kept of their row, in whole
  /// lines unless they are the last; `row` has room for that before it.
  void write(const PastCaches& past, std::int64_t index, Element* row, std::int64_t count,
             Element* y, bool is_first, bool is_last) {
    if (numbers_.empty()) return past.copy(y, row, count * size);
    Element* const kept = numbers_.data() + index * longest;
    const std::int64_t before = is_first ? 0 : beyond_line(y);
    std::memcpy(row - before, kept, static_cast<std::size_t>(before * size));
    const std::int64_t left = is_last ? 0 : std::min(beyond_line(y + count), before + count);
    const std::int64_t whole = before + count - left;
    past.stream(row - before, y - before, whole * size);
    std::memcpy(kept, row - before + whole, static_cast<std::size_t>(left * size));
  }

 private:
  static constexpr std::int64_t size = sizeof(Element);
  static std::int64_t beyond_line(const Element* y) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y) % 64) / size;
  }
  std::vector<Element> numbers_;
};

/// A tile is turned in memory that stays in the first cache, so that lines of `from` are read whole
/// and lines of `to` are written whole. Rows and columns are those of `to`.
template <class Element, std::int64_t row_count, std::int64_t column_count>
struct Tile {
  static constexpr std::int64_t rows = row_count, columns = column_count;
  static constexpr std::int64_t before = UnfinishedLines<Element>::longest;
  static constexpr std::int64_t pitch = before + columns;
  alignas(64) std::array<Element, rows * pitch> numbers;

  Element* row(std::int64_t r) { return numbers.data() + r * pitch + before; }

  /// row(r)[c] = from[c · from_column + r]; where `next` lies is fetched meanwhile.
  void turn(const Element* from, std::int64_t from_column, std::int64_t height, std::int64_t width,
            std::int64_t next) {
    std::int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (sizeof(Element) == 4) {
      whole_rows = height / 4 * 4;
      whole_columns = width / 4 * 4;
      for (std::int64_t c = 0; c < whole_columns; c += 4) {
        for (std::int64_t k = c; next != 0 && k < c + 4; ++k) {
          fetch(from + k * from_column + next, height);
        }
        for (std::int64_t r = 0; r < whole_rows; r += 4) {
          turn_four(from + c * from_column + r, from_column, row(r) + c, pitch);
        }
      }
    }
    for (std::int64_t c = 0; c < width; ++c) {
      for (std::int64_t r = c < whole_columns ? whole_rows : 0; r < height; ++r) {
        row(r)[c] = from[c * from_column + r];
      }
    }
  }
};

/// Rows of one become columns of the other, tile by tile.
template <class Block, class Element>
void turn_by(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
             Element* to) {
  const Sizes& shape = walk.shape();
  const std::int64_t columns = shape.back(), rows = shape[axis];
  const std::int64_t bands = (columns + Block::columns - 1) / Block::columns;
  const std::int64_t to_row = walk.strides(0)[axis], to_column = walk.step(0);
  const std::int64_t from_column = walk.step(1);
  const PastCaches past(to_column == 1 ? written_bytes(walk, sizeof(Element)) : 0);
  const bool has_unfinished = past.stream != nullptr && bands > 1 &&
                              (to_row * static_cast<std::int64_t>(sizeof(Element)) % 64 != 0 ||
                               reinterpret_cast<std::uintptr_t>(to) % 64 != 0);
  // A band is all rows of some columns.
  const auto turn_band = [&](std::int64_t band, bool is_first, bool is_last, Block& tile,
                             UnfinishedLines<Element>& lines) {
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
        Element* const row = tile.row(r);
        Element* const y = to + to_at + (top + r) * to_row + left * to_column;
        if (to_column == 1) {
          lines.write(past, top + r, row, width, y, is_first, is_last);
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
    UnfinishedLines<Element> lines(has_unfinished ? rows : 0);
    for (std::int64_t band = begin; band < end; ++band) {
      const bool is_first = band == begin || band % bands == 0;
      const bool is_last = band + 1 == end || (band + 1) % bands == 0;
      turn_band(band, is_first, is_last, tile, lines);
    }
  });
}

/// Where stores go through the caches, longer stretches of each row pay: the processor sees that
/// whole lines are written, and does not read them first.
template <class Element>
void turn(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
          Element* to) {
  const bool has_stores_past_caches = vector_loops<float>().stream != nullptr;
  has_stores_past_caches ? turn_by<Tile<Element, 32, 64>>(workers, walk, axis, from, to)
                         : turn_by<Tile<Element, 64, 128>>(workers, walk, axis, from, to);
}

/// The axes in the order in which one of both lies in memory.
Walk walk_in_order_of(const Sizes& by, const Sizes& shape, const Placed& from, const Placed& to) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(by[a]) > std::abs(by[b]); });
  Sizes extents, to_strides, from_strides;
  for (const std::size_t axis : order) {
    extents.push_back(shape[axis]);
    to_strides.push_back(to.strides[axis]);
    from_strides.push_back(from.strides[axis]);
  }
  return {extents, {to_strides, from_strides}};
}

/// `to` is written in order; or `from` is read in order, where rows are copied as they are and the
/// other side then has fewer places at which it goes on.
Walk walk_of(const Sizes& shape, const Placed& from, const Placed& to, std::int64_t element) {
  Walk written = walk_in_order_of(to.strides, shape, from, to);
  constexpr std::int64_t whole_lines = 256;
  if (written.step(0) != 1 || written.step(1) != 1 || written.shape().size() < 2 ||
      written.row_length() * element < whole_lines) {
    return written;
  }
  Walk read = walk_in_order_of(from.strides, shape, from, to);
  const auto places = [](const Walk& walk) { return walk.shape()[walk.shape().size() - 2]; };
  if (read.shape().size() < 2 || read.row_length() != written.row_length()) return written;
  return places(read) < places(written) ? read : written;
}

template <class Element>
void copy_elements(const Workers& workers, const Sizes& shape, const Placed& from,
                   const Placed& to) {
  const Walk walk = walk_of(shape, from, to, sizeof(Element));
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

namespace {

/// Rows of the whole in order: where each lies in what is copied, if it does.
class RowsOfBox {
 public:
  RowsOfBox(const Box& box, const Placed& from, std::int64_t row)
      : box_(box), from_(from), last_(box.whole.size() - 1), index_(box.whole) {
    for (std::size_t axis = last_; axis-- > 0;) {
      index_[axis] = row % box.whole[axis];
      row /= box.whole[axis];
    }
  }
  /// Of the row that is next; null where there is none.
  const float* next() {
    std::int64_t place = from_.offset;
    bool is_there = box_.shape[last_] > 0;
    for (std::size_t axis = 0; axis < last_; ++axis) {
      const std::int64_t at = index_[axis] - box_.begin[axis];
      is_there = is_there && at >= 0 && at < box_.shape[axis];
      place += at * from_.strides[axis];
    }
    for (std::size_t axis = last_; axis-- > 0;) {
      if (++index_[axis] < box_.whole[axis]) break;
      index_[axis] = 0;
    }
    return is_there ? static_cast<const float*>(from_.numbers) + place : nullptr;
  }

 private:
  const Box& box_;
  const Placed& from_;
  std::size_t last_;
  Sizes index_;
};

/// The rows from begin on, each written where it belongs. Places stay in registers for the rows of
/// a plane: see copy_short_rows.
void copy_rows_into_zeros(const Box& box, const Placed& from, std::int64_t begin, std::int64_t end,
                          float* to) {
  const std::size_t last = box.whole.size() - 1, along = last - 1;
  const std::int64_t height = box.whole[along], width = box.whole[last];
  const std::int64_t left = box.begin[last], length = box.shape[last];
  const std::int64_t step = from.strides[along];
  const auto zeros = [](float* y, std::int64_t count) {
    std::memset(y, 0, static_cast<std::size_t>(count) * sizeof(float));
  };
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t first = row % height, stop = std::min(height, first + end - row);
    std::int64_t rest = row / height, place = from.offset;
    bool is_there = length > 0;
    for (std::size_t axis = along; axis-- > 0;) {
      const std::int64_t at = rest % box.whole[axis] - box.begin[axis];
      is_there = is_there && at >= 0 && at < box.shape[axis];
      place += at * from.strides[axis];
      rest /= box.whole[axis];
    }
    // Rows of this plane that hold something.
    const std::int64_t top = is_there ? std::clamp(box.begin[along], first, stop) : stop;
    const std::int64_t low =
        is_there ? std::clamp(box.begin[along] + box.shape[along], top, stop) : stop;
    float* y = to + row * width;
    zeros(y, (top - first) * width);
    y += (top - first) * width;
    if (top < low) {
      const float* x =
          static_cast<const float*>(from.numbers) + place + (top - box.begin[along]) * step;
      if (length == width && step == width) {
        std::memcpy(y, x, static_cast<std::size_t>((low - top) * width) * sizeof(float));
        y += (low - top) * width;
      } else {
        // What is left of one row and what is right of the last lie side by side.
        zeros(y, left);
        y += left;
        for (std::int64_t i = top; i < low; ++i, x += step) {
          std::memcpy(y, x, static_cast<std::size_t>(length) * sizeof(float));
          y += length;
          const std::int64_t between = width - length - (i + 1 < low ? 0 : left);
          for (std::int64_t k = 0; k < between; ++k) y[k] = 0.0F;
          y += between;
        }
      }
    }
    zeros(y, (stop - low) * width);
    row += stop - first;
  }
}

}  // namespace

void copy_into_zeros(const Workers& workers, const Box& box, const Placed& from, void* to) {
  const std::size_t last = box.whole.size() - 1;
  const std::int64_t width = box.whole[last], left = box.begin[last], length = box.shape[last];
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < last; ++axis) rows *= box.whole[axis];
  const bool is_beyond = is_beyond_caches(rows * width * 4);
  const auto write_row = [&](ResultStream<float>& result, const float* x) {
    if (x == nullptr) return result.fill(0.0F, width);
    if (width > ResultStream<float>::longest) {
      result.fill(0.0F, left);
      result.copy(x, length);
      return result.fill(0.0F, width - left - length);
    }
    constexpr std::int64_t ahead = 1024;  // a page: processors foresee no more
    fetch(x + ahead, length);
    float* const row = result.next(width);
    std::fill_n(row, left, 0.0F);
    std::memcpy(row + left, x, static_cast<std::size_t>(length) * sizeof(float));
    std::fill_n(row + left + length, width - left - length, 0.0F);
  };
  const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / width);
  if (vector_loops<float>().stream == nullptr && last > 0) {
    return workers.ranges(rows, least, [&](std::int64_t begin, std::int64_t end) {
      copy_rows_into_zeros(box, from, begin, end, static_cast<float*>(to));
    });
  }
  workers.ranges(rows, least, [&](std::int64_t begin, std::int64_t end) {
    ResultStream<float> result(static_cast<float*>(to), begin * width, is_beyond);
    RowsOfBox sources(box, from, begin);
    for (std::int64_t row = begin; row < end; ++row) write_row(result, sources.next());
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
