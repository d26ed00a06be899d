// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/turned_copy.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/turned_lines.hpp"
#include "strata/measure/cpu/moving/turning.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace strata::cpu_training {
namespace {

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

/// A tile is turned in memory that stays in a cache, so that lines of `from` are read whole
/// and lines of `to` are written whole. Rows and columns are those of `to`.
template <class Element, std::int64_t row_count, std::int64_t column_count>
struct Tile {
  static constexpr std::int64_t rows = row_count, columns = column_count;
  static constexpr std::int64_t before = UnfinishedLines<Element>::longest;
  static constexpr std::int64_t pitch = before + columns;
  static constexpr std::int64_t ahead = 8;
  alignas(64) std::array<Element, rows * pitch> numbers;

  Element* row(std::int64_t r) { return numbers.data() + r * pitch + before; }

  /// row(r)[c] = from[c · from_column + r]; what comes from memory is asked for a few columns
  /// ahead, behind the last one those of the rows from `next` on. All columns of the next tile at
  /// once would be more than a cache holds, where they share few places in it.
  void turn(const Element* from, std::int64_t from_column, std::int64_t height, std::int64_t width,
            bool is_from_memory, std::int64_t next) {
    std::int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (sizeof(Element) == 4) {
      whole_rows = height / 4 * 4;
      whole_columns = width / 4 * 4;
      for (std::int64_t c = 0; c < whole_columns; c += 4) {
        for (std::int64_t k = c + ahead; is_from_memory && k < c + ahead + 4; ++k) {
          if (k < width) {
            fetch(from + k * from_column, height);
          } else if (next != 0 && k - width < width) {
            fetch(from + (k - width) * from_column + next, height);
          }
        }
        for (std::int64_t r = 0; r < whole_rows; r += 4) {
          const auto turned = turned_four(from + c * from_column + r, from_column);
          for (std::int64_t k = 0; k < 4; ++k) {
            std::memcpy(row(r + k) + c, &turned[static_cast<std::size_t>(k)], sizeof(FourNumbers));
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
  const std::int64_t rows = turning.rows, columns = turning.columns, outer = turning.outer;
  const std::int64_t to_row = turning.to_row, to_column = turning.to_column;
  const std::int64_t from_column = turning.from_column;
  const std::int64_t bands = (columns + Block::columns - 1) / Block::columns;
  const PastCaches past(
      to_column == 1 ? outer * rows * columns * static_cast<std::int64_t>(sizeof(Element)) : 0);
  const bool has_unfinished = past.stream != nullptr && bands > 1 &&
                              (to_row * static_cast<std::int64_t>(sizeof(Element)) % 64 != 0 ||
                               reinterpret_cast<std::uintptr_t>(turning.to) % 64 != 0);
  // A band is all rows of some columns.
  const auto turn_band = [&](std::int64_t band, bool is_first, bool is_last, Block& tile,
                             UnfinishedLines<Element>& lines) {
    const auto [x, y] = turning.plane(band / bands);
    const std::int64_t left = band % bands * Block::columns;
    const std::int64_t width = std::min(columns - left, Block::columns);
    for (std::int64_t top = 0; top < rows; top += Block::rows) {
      const std::int64_t height = std::min(rows - top, Block::rows);
      tile.turn(x + top + left * from_column, from_column, height, width, past.stream != nullptr,
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
      return turn_by_lines(workers, turning);
    }
  }
  // Memory gives and takes pieces of several lines faster than single ones.
  turn_then_write<Tile<Element, 128, 64>>(workers, turning);
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
