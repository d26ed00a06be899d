// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/moving/turned_lines.hpp"

#include "strata/measure/cpu/loops/result_stream.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t numbers_of_line = 16;

/// So many numbers before it its line begins.
std::int64_t beyond_line(const std::uint32_t* y) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y) / 4 % numbers_of_line);
}
/// So many numbers further a line begins.
std::int64_t to_next_line(const std::uint32_t* y) {
  return (numbers_of_line - beyond_line(y)) % numbers_of_line;
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

/// Where a tile lies, and how much of it there is.
struct TilePlace {
  const std::uint32_t* from;
  std::uint32_t* to;
  std::int64_t height, width;
  std::int64_t before, behind;  // columns of the plane
};

// Straight from where the numbers lie: a line of `to` is made of sixteen columns, and lines of
// `from` stay in the first cache until all of their numbers are written.

/// How large tiles are, as measured. Of high planes, 32 columns of many rows, so that much of what
/// is read lies side by side; of low ones, few rows of all columns.
struct TileSize {
  static constexpr std::int64_t rows_of_low_tile = 64;

  explicit TileSize(const Turning<std::uint32_t>& turning)
      : room(room_of_columns(turning.from_column)), is_high(turning.rows > 256) {
    if (is_high) {
      constexpr std::int64_t most = 1024;
      const std::int64_t floors = (turning.rows + most - 1) / most;
      rows = whole_lines((turning.rows + floors - 1) / floors);
      columns = std::min<std::int64_t>(32, room);
    } else {
      rows = rows_of_low_tile;
      columns = whole_lines(turning.columns) + numbers_of_line;
    }
  }

  /// So many columns have a line each in the first cache: four of those that share a place there,
  /// of places that repeat after 16 KB.
  static std::int64_t room_of_columns(std::int64_t from_column) {
    constexpr std::int64_t ways = 4, repeat = 16'384 / sizeof(std::uint32_t);
    return ways * repeat / std::gcd(from_column, repeat);
  }
  static std::int64_t whole_lines(std::int64_t numbers) {
    return (numbers + numbers_of_line - 1) / numbers_of_line * numbers_of_line;
  }

  std::int64_t room;
  bool is_high;
  std::int64_t rows = 0, columns = 0;
};

bool can_turn_in_place(const Turning<std::uint32_t>& turning) {
  return turning.to_row % numbers_of_line == 0 && TileSize(turning).room >= numbers_of_line;
}

// Lines of some rows, four by four. Functions of their own, which have a register for all they
// need: what they kept in memory they would store between lines.

/// Of a low tile, one line of all rows after the other; the columns of the next line are fetched
/// meanwhile into the first cache, one in each step.
[[gnu::noinline]] void turn_low_tile(const std::uint32_t* x, std::int64_t from_column,
                                     std::uint32_t* y, std::int64_t to_row, std::int64_t rows,
                                     std::int64_t lines) {
  for (; lines > 0; --lines, y += numbers_of_line) {
    const std::uint32_t* next = x + numbers_of_line * from_column;
    for (std::int64_t r = 0; r < rows; r += 4, next += from_column) {
      for (std::int64_t k = 0; k < TileSize::rows_of_low_tile; k += numbers_of_line) {
        __builtin_prefetch(next + k, 0, 3);
      }
      turn_four<4>(x + r, from_column, y + r * to_row, to_row);
    }
    x += numbers_of_line * from_column;
  }
}

/// Of a high tile, all lines of four rows before the next four. What is read after it, as many rows
/// of the columns from `next` on, is fetched meanwhile into the second cache, in each step as much
/// as is read.
[[gnu::noinline]] void turn_high_tile(const std::uint32_t* x, std::int64_t from_column,
                                      std::uint32_t* y, std::int64_t to_row, std::int64_t rows,
                                      std::int64_t lines, const std::uint32_t* next) {
  constexpr std::int64_t step = 4 * numbers_of_line;
  std::int64_t fetched = 0;
  for (std::int64_t r = 0; r < rows; r += 4) {
    for (std::int64_t i = 0; i < lines; ++i) {
      for (std::int64_t k = 0; k < step; k += numbers_of_line) {
        __builtin_prefetch(next + fetched + k, 0, 2);
      }
      fetched += step;
      if (fetched >= rows) {
        fetched = 0;
        next += from_column;
      }
      turn_four<4>(x + i * numbers_of_line * from_column + r, from_column,
                   y + r * to_row + i * numbers_of_line, to_row);
    }
  }
}

/// A tile that begins at a line of `to` or at its first column, before `next`.
void turn_tile(const Turning<std::uint32_t>& turning, const TilePlace& tile, const TilePlace& next,
               bool is_high) {
  const std::int64_t from_column = turning.from_column, to_row = turning.to_row;
  const std::int64_t fours = tile.height / 4 * 4;
  const std::int64_t first = std::min(to_next_line(tile.to), tile.width);
  const std::int64_t lines = (tile.width - first) / numbers_of_line;
  const std::int64_t last = first + lines * numbers_of_line;
  const std::uint32_t* const x = tile.from + first * from_column;
  if (is_high) {
    turn_high_tile(x, from_column, tile.to + first, to_row, fours, lines, next.from);
  } else {
    turn_low_tile(x, from_column, tile.to + first, to_row, fours, lines);
  }
  const auto rest = [&](std::int64_t top, std::int64_t left, std::int64_t right) {
    if (left == right || top == tile.height) return;
    turn_part(tile.from + left * from_column + top, from_column, tile.to + top * to_row + left,
              to_row, tile.height - top, right - left);
  };
  rest(0, 0, first);
  rest(0, last, tile.width);
  rest(fours, first, last);
}

void turn_in_place(const Workers& workers, const Turning<std::uint32_t>& turning) {
  const std::int64_t rows = turning.rows, columns = turning.columns;
  const std::int64_t to_row = turning.to_row, from_column = turning.from_column;
  const TileSize size(turning);
  const std::int64_t floors = (rows + size.rows - 1) / size.rows;
  const std::int64_t bands = (columns + size.columns - 1) / size.columns;
  const auto tile_at = [&](std::int64_t index) {
    const auto [x, y] = turning.plane(index / bands / floors);
    const std::int64_t band = index % bands, top = index / bands % floors * size.rows;
    // All rows begin at the same place of their first line, tiles but the first of each at a line.
    const std::int64_t before = beyond_line(y);
    const std::int64_t left = band == 0 ? 0 : band * size.columns - before;
    const std::int64_t right = band + 1 == bands ? columns : (band + 1) * size.columns - before;
    return TilePlace{x + top + left * from_column,
                     y + top * to_row + left,
                     std::min(rows - top, size.rows),
                     right - left,
                     left,
                     columns - right};
  };
  const std::int64_t least =
      numbers_per_part / (std::min(rows, size.rows) * std::min(columns, size.columns));
  workers.ranges(turning.outer * floors * bands, least, [&](std::int64_t begin, std::int64_t end) {
    TilePlace tile = tile_at(begin);
    for (std::int64_t index = begin; index < end; ++index) {
      const TilePlace next = tile_at(std::min(index + 1, end - 1));
      turn_tile(turning, tile, next, size.is_high);
      tile = next;
    }
  });
}

// By way of other memory: tile by tile, each gathered before it is turned on its way into `to`.
// There must be long times without stores that meet a line in the cache, such as those that gather.

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
  const std::int64_t rows = turning.rows, columns = turning.columns;
  const std::int64_t to_row = turning.to_row, from_column = turning.from_column;
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
  workers.ranges(turning.outer * bands * floors, least, [&](std::int64_t begin, std::int64_t end) {
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
