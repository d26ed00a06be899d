// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/moving/turned_copy.hpp"

#include "strata/measure/cpu/training/loops/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace strata::cpu_training {
namespace {

using Four __attribute__((vector_size(16))) = std::uint32_t;

/// Turns 4 × 4 numbers: the vector r has from[c · from_column + r] for each c.
std::array<Four, 4> turned_four(const std::uint32_t* from, std::int64_t from_column) {
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + from_column, sizeof b);
  std::memcpy(&c, from + 2 * from_column, sizeof c);
  std::memcpy(&d, from + 3 * from_column, sizeof d);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  return {__builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5),
          __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7),
          __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5),
          __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7)};
}

/// What two ways of turning share: rows and columns are those of `to`, in bands of some columns.
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
          const auto turned = turned_four(from + c * from_column + r, from_column);
          for (std::int64_t k = 0; k < 4; ++k) {
            std::memcpy(row(r + k) + c, &turned[static_cast<std::size_t>(k)], sizeof(Four));
          }
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

/// Tile by tile, each turned before its rows are written.
template <class Block, class Element>
void turn_then_write(const Workers& workers, const Turning<Element>& turning) {
  const auto& [walk, axis, from, to, columns, rows, outer, to_row, to_column, from_column] =
      turning;
  const std::int64_t bands = (columns + Block::columns - 1) / Block::columns;
  const PastCaches past(
      to_column == 1 ? outer * rows * columns * static_cast<std::int64_t>(sizeof(Element)) : 0);
  const bool has_unfinished = past.stream != nullptr && bands > 1 &&
                              (to_row * static_cast<std::int64_t>(sizeof(Element)) % 64 != 0 ||
                               reinterpret_cast<std::uintptr_t>(to) % 64 != 0);
  // A band is all rows of some columns.
  const auto turn_band = [&](std::int64_t band, bool is_first, bool is_last, Block& tile,
                             UnfinishedLines<Element>& lines) {
    const auto [x, y] = turning.plane(band / bands);
    const std::int64_t left = band % bands * Block::columns;
    const std::int64_t width = std::min(columns - left, Block::columns);
    for (std::int64_t top = 0; top < rows; top += Block::rows) {
      const std::int64_t height = std::min(rows - top, Block::rows);
      tile.turn(x + top + left * from_column, from_column, height, width,
                top + Block::rows < rows ? Block::rows : 0);
      for (std::int64_t r = 0; r < height; ++r) {
        Element* const row = tile.row(r);
        Element* const place = y + (top + r) * to_row + left * to_column;
        if (to_column == 1) {
          lines.write(past, top + r, row, width, place, is_first, is_last);
        } else {
          for (std::int64_t c = 0; c < width; ++c) place[c * to_column] = row[c];
        }
      }
    }
  };
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

/// Where a tile lies, and how much of it there is.
struct TilePlace {
  const std::uint32_t* from;
  std::uint32_t* to;
  std::int64_t height, width;
};

/// A tile of what is copied, as it lies there: rows of `to` are columns here.
struct GatheredTile {
  static constexpr std::int64_t rows = 64, columns = 256;
  static constexpr std::int64_t pitch = rows + 16;  // neighbours are not in the same set of a cache
  alignas(64) std::array<std::uint32_t, columns * pitch> numbers;

  /// The tile that comes next is fetched meanwhile.
  void gather(const TilePlace& place, const TilePlace& next, std::int64_t from_column) {
    for (std::int64_t c = 0; c < place.width; ++c) {
      if (c < next.width) fetch(next.from + c * from_column, next.height);
      const std::uint32_t* const x = place.from + c * from_column;
      std::uint32_t* const y = numbers.data() + c * pitch;
      if (place.height == rows) {
        std::memcpy(y, x, rows * sizeof *x);
      } else {
        std::memcpy(y, x, static_cast<std::size_t>(place.height) * sizeof *x);
      }
    }
  }

  /// Four rows at once, a line of each after the other.
  void write(const TilePlace& place, std::int64_t to_row) const {
    const auto& [from, to, height, width] = place;
    const std::int64_t whole_rows = height / 4 * 4;
    for (std::int64_t r = 0; r < whole_rows; r += 4) {
      std::int64_t c = 0;
      for (; c + 16 <= width; c += 16) write_four<4>(r, c, to, to_row);
      for (; c + 4 <= width; c += 4) write_four<1>(r, c, to, to_row);
      write_rest(to, to_row, r, r + 4, c, width);
    }
    write_rest(to, to_row, whole_rows, height, 0, width);
  }

 private:
  /// So many vectors of each of four rows.
  template <std::size_t vectors>
  void write_four(std::int64_t row, std::int64_t column, std::uint32_t* to,
                  std::int64_t to_row) const {
    const std::uint32_t* const from = numbers.data() + column * pitch + row;
    std::array<std::array<Four, 4>, vectors> turned;
    for (std::size_t k = 0; k < vectors; ++k) turned[k] = turned_four(from + 4 * k * pitch, pitch);
    std::uint32_t* place = to + row * to_row + column;
    for (std::size_t r = 0; r < 4; ++r, place += to_row) {
      for (std::size_t k = 0; k < vectors; ++k) {
        std::memcpy(place + 4 * k, &turned[k][r], sizeof(Four));
      }
    }
  }
  void write_rest(std::uint32_t* to, std::int64_t to_row, std::int64_t top, std::int64_t bottom,
                  std::int64_t left, std::int64_t right) const {
    for (std::int64_t r = top; r < bottom; ++r) {
      for (std::int64_t c = left; c < right; ++c) {
        to[r * to_row + c] = numbers[static_cast<std::size_t>(c * pitch + r)];
      }
    }
  }
};

/// Tile by tile, each gathered before it is turned on its way into `to`. For processors that write
/// without fetching first what they write whole, once they have seen a long stretch of it, until a
/// store meets a line in the cache: there must be long times without such stores. (Four stretches
/// at once are as good as one, if each gets a whole line in turn.)
void gather_then_write(const Workers& workers, const Turning<std::uint32_t>& turning) {
  using Tile = GatheredTile;
  const auto& [walk, axis, from, to, columns, rows, outer, to_row, to_column, from_column] =
      turning;
  const std::int64_t bands = (columns + Tile::columns - 1) / Tile::columns;
  const std::int64_t floors = (rows + Tile::rows - 1) / Tile::rows;
  const auto place_of = [&](std::int64_t index) {
    const std::int64_t top = index % floors * Tile::rows;
    const std::int64_t left = index / floors % bands * Tile::columns;
    const auto [x, y] = turning.plane(index / floors / bands);
    return TilePlace{x + top + left * from_column, y + top * to_row + left,
                     std::min(rows - top, Tile::rows), std::min(columns - left, Tile::columns)};
  };
  const std::int64_t least =
      numbers_per_part / (std::min(rows, Tile::rows) * std::min(columns, Tile::columns));
  workers.ranges(outer * bands * floors, least, [&](std::int64_t begin, std::int64_t end) {
    Tile tile;
    TilePlace place = place_of(begin);
    for (std::int64_t index = begin; index < end; ++index) {
      const TilePlace next = index + 1 < end ? place_of(index + 1) : TilePlace{};
      tile.gather(place, next, from_column);
      tile.write(place, to_row);
      place = next;
    }
  });
}

}  // namespace

std::optional<std::size_t> axis_to_turn(const Walk& walk) {
  if (walk.step(1) == 1 || walk.step(1) == 0) return std::nullopt;
  for (std::size_t axis = 0; axis + 1 < walk.shape().size(); ++axis) {
    if (walk.strides(1)[axis] == 1) return axis;
  }
  return std::nullopt;
}

template <class Element>
void copy_turned(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
                 Element* to) {
  const Turning<Element> turning{walk, axis, from, to};
  const bool has_stores_past_caches = vector_loops<float>().stream != nullptr;
  if constexpr (sizeof(Element) == 4) {
    if (!has_stores_past_caches && turning.to_column == 1) {
      return gather_then_write(workers, turning);
    }
  }
  turn_then_write<Tile<Element, 32, 64>>(workers, turning);
}

template void copy_turned(const Workers&, const Walk&, std::size_t, const std::uint8_t*,
                          std::uint8_t*);
template void copy_turned(const Workers&, const Walk&, std::size_t, const std::uint16_t*,
                          std::uint16_t*);
template void copy_turned(const Workers&, const Walk&, std::size_t, const std::uint32_t*,
                          std::uint32_t*);
template void copy_turned(const Workers&, const Walk&, std::size_t, const std::uint64_t*,
                          std::uint64_t*);

}  // namespace strata::cpu_training
