// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/moving/turned_lines.hpp"

#include "strata/measure/cpu/training/loops/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t numbers_of_line = 16;

/// So many numbers further a line begins.
std::int64_t to_next_line(const std::uint32_t* y) {
  const auto beyond =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y) / 4 % numbers_of_line);
  return (numbers_of_line - beyond) % numbers_of_line;
}

/// So many vectors of each of four rows, one row after the other.
template <std::size_t vectors>
STRATA_INLINE void turn_four(const std::uint32_t* from, std::int64_t from_column, std::uint32_t* to,
                             std::int64_t to_row) {
  std::array<std::array<FourNumbers, 4>, vectors> turned;
  for (std::size_t k = 0; k < vectors; ++k) {
    turned[k] = turned_four(from + static_cast<std::int64_t>(4 * k) * from_column, from_column);
  }
  for (std::size_t r = 0; r < 4; ++r, to += to_row) {
    for (std::size_t k = 0; k < vectors; ++k) {
      std::memcpy(to + 4 * k, &turned[k][r], sizeof(FourNumbers));
    }
  }
}

/// A part that is no whole lines, or not of four rows.
[[gnu::noinline]] void turn_part(const std::uint32_t* from, std::int64_t from_column,
                                 std::uint32_t* to, std::int64_t to_row, std::int64_t height,
                                 std::int64_t width) {
  std::int64_t r = 0;
  for (; r + 4 <= height; r += 4) {
    std::int64_t c = 0;
    for (; c + 4 <= width; c += 4) {
      turn_four<1>(from + c * from_column + r, from_column, to + r * to_row + c, to_row);
    }
    for (; c < width; ++c) {
      for (std::int64_t k = r; k < r + 4; ++k) to[k * to_row + c] = from[c * from_column + k];
    }
  }
  for (; r < height; ++r) {
    for (std::int64_t c = 0; c < width; ++c) to[r * to_row + c] = from[c * from_column + r];
  }
}

// Straight from where the numbers lie: a line of `to` is made of sixteen columns, and lines of
// `from` stay in the first cache until all of their numbers are written.

constexpr std::int64_t rows_of_floor = 64;

/// Whether sixteen columns have room in the first cache: those a multiple of 8 KB apart share few
/// places there.
bool can_turn_in_place(const Turning<std::uint32_t>& turning) {
  constexpr std::int64_t apart = 8192 / sizeof(std::uint32_t);
  return turning.to_row % numbers_of_line == 0 && turning.from_column % apart != 0;
}

/// Lines of some rows, four by four. A function of its own, which has a register for all it needs:
/// what it kept in memory it would store between lines.
[[gnu::noinline]] void turn_lines(const std::uint32_t* x, std::int64_t from_column,
                                  std::uint32_t* y, std::int64_t to_row, std::int64_t rows,
                                  std::int64_t lines) {
  for (; lines > 0; --lines, y += numbers_of_line) {
    // Of what comes next, a column each time.
    const std::uint32_t* next = x + numbers_of_line * from_column;
    for (std::int64_t r = 0; r < rows; r += 4, next += from_column) {
      for (std::int64_t k = 0; k < rows_of_floor; k += numbers_of_line) {
        __builtin_prefetch(next + k, 0, 3);
      }
      turn_four<4>(x + r, from_column, y + r * to_row, to_row);
    }
    x += numbers_of_line * from_column;
  }
}

/// Some rows of a plane.
void turn_rows(const std::uint32_t* from, std::int64_t from_column, std::uint32_t* to,
               std::int64_t to_row, std::int64_t height, std::int64_t columns) {
  const std::int64_t fours = height / 4 * 4, first = std::min(to_next_line(to), columns);
  const std::int64_t lines = (columns - first) / numbers_of_line;
  const std::int64_t last = first + lines * numbers_of_line;
  turn_lines(from + first * from_column, from_column, to + first, to_row, fours, lines);
  const auto rest = [&](std::int64_t top, std::int64_t left, std::int64_t right) {
    if (left == right || top == height) return;
    turn_part(from + left * from_column + top, from_column, to + top * to_row + left, to_row,
              height - top, right - left);
  };
  rest(0, 0, first);
  rest(0, last, columns);
  rest(fours, first, last);
}

void turn_in_place(const Workers& workers, const Turning<std::uint32_t>& turning) {
  const std::int64_t floors = (turning.rows + rows_of_floor - 1) / rows_of_floor;
  const std::int64_t numbers = turning.columns * std::min(turning.rows, rows_of_floor);
  workers.ranges(turning.outer * floors, numbers_per_part / numbers,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t index = begin; index < end; ++index) {
                     const auto [x, y] = turning.plane(index / floors);
                     const std::int64_t top = index % floors * rows_of_floor;
                     turn_rows(x + top, turning.from_column, y + top * turning.to_row,
                               turning.to_row, std::min(turning.rows - top, rows_of_floor),
                               turning.columns);
                   }
                 });
}

// By way of other memory: tile by tile, each gathered before it is turned on its way into `to`.
// There must be long times without stores that meet a line in the cache, such as those that gather.

/// Where a tile lies, and how much of it there is.
struct TilePlace {
  const std::uint32_t* from;
  std::uint32_t* to;
  std::int64_t height, width;
  std::int64_t before, behind;  // columns of the plane
};

/// A tile of what is copied, as it lies there: rows of `to` are columns here. Rows that begin at
/// different places of their lines are of different kinds; those of one kind lie side by side.
class GatheredTile {
 public:
  static constexpr std::int64_t rows = 64, columns = 256;

  explicit GatheredTile(const Turning<std::uint32_t>& turning)
      : from_column_(turning.from_column), to_row_(turning.to_row) {
    while (kinds_ < most_kinds && kinds_ * to_row_ % numbers_of_line != 0) kinds_ *= 2;
    constexpr std::int64_t few = 4 * numbers_of_line;
    if (kinds_ * to_row_ % numbers_of_line == 0 && turning.columns >= few) return;
    kinds_ = 1;  // there are too many, or few whole lines
    has_lines_ = false;
  }

  /// The tile that comes next is fetched meanwhile.
  void gather(const TilePlace& place, const TilePlace& next) {
    if (kinds_ == 1) return gather_kinds<1>(place, next);
    kinds_ == 2 ? gather_kinds<2>(place, next) : gather_kinds<4>(place, next);
  }

  void write(const TilePlace& place) const {
    if (kinds_ == 1) return write_kinds<1>(place);
    kinds_ == 2 ? write_kinds<2>(place) : write_kinds<4>(place);
  }

 private:
  static constexpr std::int64_t most_kinds = 4;
  static constexpr std::int64_t pitch = rows + 16;  // neighbours are not in the same set of a cache

  std::int64_t to_line(const TilePlace& place, std::int64_t kind) const {
    return has_lines_ ? to_next_line(place.to + kind * to_row_) : 0;
  }

  /// Columns of the next tile that are in lines of this one.
  std::int64_t columns_more(const TilePlace& place) const {
    std::int64_t most = 0;
    for (std::int64_t kind = 0; kind < kinds_; ++kind) {
      most = std::max(most, to_line(place, kind));
    }
    return std::min(most, place.behind);
  }

  template <std::int64_t kinds>
  void gather_kinds(const TilePlace& place, const TilePlace& next) {
    const auto [x, to, height, own_width, before, behind] = place;
    const std::int64_t width = own_width + columns_more(place), from_column = from_column_;
    const std::int64_t next_width = next.width + (next.width > 0 ? columns_more(next) : 0);
    for (std::int64_t c = 0; c < width; ++c) {
      if (c < next_width) fetch(next.from + c * from_column, next.height);
      const std::uint32_t* const column = x + c * from_column;
      std::uint32_t* const sorted = numbers_.data() + c * pitch;
      height == rows ? sort<kinds>(column, sorted, rows) : sort<kinds>(column, sorted, height);
    }
  }

  /// A column, rows of one kind after those of another.
  template <std::int64_t kinds>
  STRATA_INLINE static void sort(const std::uint32_t* column, std::uint32_t* sorted,
                                 std::int64_t height) {
    if constexpr (kinds == 1) {
      std::memcpy(sorted, column, static_cast<std::size_t>(height) * sizeof *column);
      return;
    }
    std::int64_t r = 0;
    for (; r < height / kinds; ++r) {
      for (std::int64_t kind = 0; kind < kinds; ++kind) {
        sorted[kind * (rows / kinds) + r] = column[kinds * r + kind];
      }
    }
    for (std::int64_t kind = 0; kind < height % kinds; ++kind) {
      sorted[kind * (rows / kinds) + r] = column[kinds * r + kind];
    }
  }

  [[gnu::noinline]] static void write_lines(const std::uint32_t* from, std::uint32_t* to,
                                            std::int64_t to_row, std::int64_t height,
                                            std::int64_t lines) {
    for (std::int64_t r = 0; r < height; r += 4, from += 4, to += 4 * to_row) {
      for (std::int64_t i = 0; i < lines; ++i) {
        turn_four<4>(from + i * numbers_of_line * pitch, pitch, to + i * numbers_of_line, to_row);
      }
    }
  }

  /// Rows of one kind: where their numbers are and go, and their columns.
  struct Kind {
    const std::uint32_t* from;
    std::uint32_t* to;
    std::int64_t to_row, height;
    std::int64_t begin, first_line, last_line, end;
  };
  template <std::int64_t kinds>
  Kind kind_of(const TilePlace& place, std::int64_t kind) const {
    const std::int64_t to_first = to_line(place, kind);
    const std::int64_t end = place.width + std::min(to_first, place.behind);
    const std::int64_t first_line = std::min(to_first, end);
    return {.from = numbers_.data() + kind * (rows / kinds),
            .to = place.to + kind * to_row_,
            .to_row = kinds * to_row_,
            .height = (place.height - kind + kinds - 1) / kinds,
            .begin = place.before == 0 ? 0 : first_line,
            .first_line = first_line,
            .last_line = end - (end - first_line) % numbers_of_line,
            .end = end};
  }

  /// Whole lines of four rows each, and then what is left.
  template <std::int64_t kinds>
  void write_kinds(const TilePlace& place) const {
    for (std::int64_t kind = 0; kind < kinds; ++kind) {
      const Kind k = kind_of<kinds>(place, kind);
      write_lines(k.from + k.first_line * pitch, k.to + k.first_line, k.to_row, k.height / 4 * 4,
                  (k.last_line - k.first_line) / numbers_of_line);
    }
    for (std::int64_t kind = 0; kind < kinds; ++kind) {
      const Kind k = kind_of<kinds>(place, kind);
      const auto rest = [&](std::int64_t top, std::int64_t left, std::int64_t right) {
        if (left == right || top == k.height) return;
        turn_part(k.from + left * pitch + top, pitch, k.to + top * k.to_row + left, k.to_row,
                  k.height - top, right - left);
      };
      rest(0, k.begin, k.first_line);
      rest(0, k.last_line, k.end);
      rest(k.height / 4 * 4, k.first_line, k.last_line);
    }
  }

  std::int64_t from_column_, to_row_;
  std::int64_t kinds_ = 1;
  bool has_lines_ = true;
  alignas(64) std::array<std::uint32_t, (columns + numbers_of_line - 1) * pitch> numbers_;
};

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
    const std::int64_t width = std::min(columns - left, Tile::columns);
    return TilePlace{x + top + left * from_column,
                     y + top * to_row + left,
                     std::min(rows - top, Tile::rows),
                     width,
                     left,
                     columns - left - width};
  };
  const std::int64_t least =
      numbers_per_part / (std::min(rows, Tile::rows) * std::min(columns, Tile::columns));
  workers.ranges(outer * bands * floors, least, [&](std::int64_t begin, std::int64_t end) {
    Tile tile(turning);
    TilePlace place = place_of(begin);
    for (std::int64_t index = begin; index < end; ++index) {
      const TilePlace next = index + 1 < end ? place_of(index + 1) : TilePlace{};
      tile.gather(place, next);
      tile.write(place);
      place = next;
    }
  });
}

}  // namespace

void turn_by_lines(const Workers& workers, const Turning<std::uint32_t>& turning) {
  can_turn_in_place(turning) ? turn_in_place(workers, turning)
                             : gather_then_write(workers, turning);
}

}  // namespace strata::cpu_training
