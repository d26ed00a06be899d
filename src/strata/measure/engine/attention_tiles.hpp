// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/constants.hpp"

#include <cstdint>

/// Which part of the scores of attention is computed at a time, where scores are never stored:
/// tiles of queries × keys. A block of threads has one tile's rows (its own) and walks over the
/// others. Shared by kernels and by tests that need no GPU.
namespace strata::attention_tiles {

/// Threads of a block are a plane: `side` threads beside one another's rows, `lanes` that share a
/// row. Each has neighbouring rows, columns in fours, and every lanes-th number of a head's width.
inline constexpr int side = 16;
/// Wider squares of numbers per thread read shared memory less, and need more registers.
STRATA_HOST_AND_DEVICE constexpr int forward_lanes(int padded) { return padded <= 64 ? 8 : 16; }
inline constexpr int backward_lanes = 16;
inline constexpr int widest_head = 128;
/// Behind each row of a tile in shared memory, so that neighbouring rows lie in other banks.
inline constexpr int row_padding = 4;

/// Widths that there are kernels for: both widths are filled up with zeros to the next of them. 0:
/// there is none.
constexpr int padded_width(std::int64_t width, std::int64_t value_width) {
  const std::int64_t wider = width > value_width ? width : value_width;
  return wider > widest_head ? 0 : wider <= 32 ? 32 : wider <= 64 ? 64 : wider <= 96 ? 96 : 128;
}

/// Rows that a block owns, and rows of a tile that it walks over.
struct Tile {
  int own = 0, other = 0;
};
/// Few rows have a low tile: rows of a tile that are not there are computed all the same.
STRATA_HOST_AND_DEVICE constexpr Tile forward_tile(std::int64_t rows) {
  return rows <= 64 ? Tile{64, 64} : Tile{128, 64};
}
/// Backward keeps twice as many tiles in shared memory.
STRATA_HOST_AND_DEVICE constexpr Tile backward_tile(int padded, std::int64_t rows) {
  return padded <= 96 && rows > 64 ? Tile{128, 64} : Tile{64, 64};
}

STRATA_HOST_AND_DEVICE constexpr int row_floats(int rows) { return rows + row_padding; }
/// Whether the probabilities of a tile fit where its keys were, which nobody needs any more: of
/// low tiles, so that four blocks have room where there are two of the others.
STRATA_HOST_AND_DEVICE constexpr bool replaces_keys(int padded, Tile t) {
  return t.other * row_floats(t.own) <= padded * row_floats(t.other);
}
/// Shared memory: Q, K, V with the width outside, and the probabilities of a tile.
constexpr int forward_shared_bytes(int padded, Tile t) {
  return 4 * (padded * (row_floats(t.own) + 2 * row_floats(t.other)) +
              (replaces_keys(padded, t) ? 0 : t.other * row_floats(t.own)));
}
/// Q, dO (or K, V) of its own, K, V (or Q, dO) of the other side, and one tile of gradients.
constexpr int backward_shared_bytes(int padded, Tile t) {
  return 4 * (2 * padded * (row_floats(t.own) + row_floats(t.other)) + t.other * row_floats(t.own));
}

/// Where one tile has all scores of a head, a block has Q, dO, K and V, its probabilities and what
/// becomes of them both ways round. Where heads are wide the last takes the place of V.
inline constexpr int one_tile_rows = 64;
STRATA_HOST_AND_DEVICE constexpr bool replaces_values(int padded) {
  return padded >= one_tile_rows;
}
constexpr int one_tile_shared_bytes(int padded) {
  const int middles = replaces_values(padded) ? 2 : 3;
  return 4 * row_floats(one_tile_rows) * (4 * padded + middles * one_tile_rows);
}

/// What is seen of what: a query sees the keys up to its own place, where both are counted from
/// their ends, or all of them.
struct Sight {
  std::int64_t queries = 1, keys = 1;
  bool is_causal = false;

  bool is_one_tile() const { return queries <= one_tile_rows && keys <= one_tile_rows; }
  /// Keys that a query sees, which are the first ones.
  STRATA_HOST_AND_DEVICE constexpr std::int64_t seen_keys(std::int64_t query) const {
    if (!is_causal) return keys;
    const std::int64_t seen = query + keys - queries + 1;
    return seen < 0 ? 0 : (seen < keys ? seen : keys);
  }
  /// Keys that any of the queries before `query_end` sees.
  STRATA_HOST_AND_DEVICE constexpr std::int64_t key_end(std::int64_t query_end) const {
    return query_end <= 0 ? 0 : seen_keys((query_end < queries ? query_end : queries) - 1);
  }
  /// The first query that sees any of the keys from `key` on; `queries`: none does.
  STRATA_HOST_AND_DEVICE constexpr std::int64_t first_query(std::int64_t key) const {
    if (!is_causal) return 0;
    const std::int64_t first = key - (keys - queries);
    return first < 0 ? 0 : (first < queries ? first : queries);
  }
};

/// The columns of a thread, in fours: threads that read one four each read neighbours.
STRATA_HOST_AND_DEVICE constexpr int column_of(int lanes, int thread, int c) {
  return c / 4 * 4 * lanes + 4 * thread + c % 4;
}
/// Where a value's row stands in the forward tile: the columns that one thread makes are lanes
/// apart, so that threads write their probabilities into different banks.
STRATA_HOST_AND_DEVICE constexpr int spread_row(int lanes, int row) {
  const int thread = row % (4 * lanes) / 4, c = row / (4 * lanes) * 4 + row % 4;
  return c * lanes + thread;
}

}  // namespace strata::attention_tiles
