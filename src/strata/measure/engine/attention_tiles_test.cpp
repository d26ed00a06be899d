// SPDX-License-Identifier: Apache-2.0
// What the GPU's kernels do with tiles, in plain loops: the same walk over the same tiles, held
// against the definition. Each tile is checked to hold what a query sees, all of it, once.
#include "strata/measure/engine/attention_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace strata::attention_tiles {
namespace {

std::vector<Sight> sights() {
  std::vector<Sight> all;
  for (const std::int64_t queries : {1, 5, 63, 64, 65, 128, 129, 200}) {
    for (const std::int64_t keys : {1, 7, 64, 65, 127, 128, 190})
      for (const bool is_causal : {false, true}) all.push_back({queries, keys, is_causal});
  }
  return all;
}

TEST(AttentionTiles, sees_what_the_definition_says) {
  for (const Sight& sight : sights()) {
    for (std::int64_t query = 0; query < sight.queries; ++query) {
      for (std::int64_t key = 0; key < sight.keys; ++key) {
        const bool is_seen =
            !sight.is_causal || key - sight.keys <= query - sight.queries;  // both from their ends
        EXPECT_EQ(key < sight.seen_keys(query), is_seen);
      }
    }
  }
}

/// How often each pair of a query and a key is met that is seen.
struct Meetings {
  explicit Meetings(const Sight& of)
      : sight(of), counts(static_cast<std::size_t>(of.queries * of.keys)) {}
  void meet(std::int64_t query, std::int64_t key) {
    if (key < sight.seen_keys(query)) ++counts[static_cast<std::size_t>(query * sight.keys + key)];
  }
  void expect_each_once() const {
    for (std::int64_t query = 0; query < sight.queries; ++query) {
      for (std::int64_t key = 0; key < sight.keys; ++key)
        ASSERT_EQ(counts[static_cast<std::size_t>(query * sight.keys + key)],
                  key < sight.seen_keys(query) ? 1 : 0);
    }
  }
  Sight sight;
  std::vector<int> counts;
};

// Whoever owns queries and whoever owns keys must meet every pair that is seen, and walk no further
// than the last of them.
TEST(AttentionTiles, walks_over_every_pair_once) {
  for (const Sight& sight : sights()) {
    for (const Tile tile : {forward_tile(64), forward_tile(65), backward_tile(64, 64),
                            backward_tile(64, 65), backward_tile(128, 65)}) {
      Meetings by_queries(sight), by_keys(sight);
      for (std::int64_t first = 0; first < sight.queries; first += tile.own) {
        const std::int64_t end = sight.key_end(first + tile.own);
        const std::int64_t query_end = std::min(first + tile.own, sight.queries);
        EXPECT_LE(end, sight.seen_keys(query_end - 1));
        for (std::int64_t key = 0; key < end; ++key) {
          for (std::int64_t query = first; query < query_end; ++query) by_queries.meet(query, key);
        }
      }
      for (std::int64_t first = 0; first < sight.keys; first += tile.own) {
        const std::int64_t begin = sight.first_query(first) / tile.other * tile.other;
        for (std::int64_t query = begin; query < sight.queries; ++query) {
          for (std::int64_t key = first; key < std::min(first + tile.own, sight.keys); ++key)
            by_keys.meet(query, key);
        }
      }
      by_queries.expect_each_once();
      by_keys.expect_each_once();
    }
  }
}

TEST(AttentionTiles, gives_every_column_to_one_thread_and_another_bank) {
  constexpr Tile tile = forward_tile(128);
  static_assert(tile.other == forward_tile(64).other);
  for (const int lanes : {forward_lanes(64), forward_lanes(128)}) {
    const int per_thread = tile.other / lanes;
    std::set<int> columns, places;
    for (int thread = 0; thread < lanes; ++thread) {
      for (int c = 0; c < per_thread; ++c) {
        const int column = column_of(lanes, thread, c);
        columns.insert(column);
        places.insert(spread_row(lanes, column));
        EXPECT_EQ(spread_row(lanes, column), c * lanes + thread);
      }
    }
    EXPECT_EQ(columns.size(), tile.other);
    EXPECT_EQ(places.size(), tile.other);
    EXPECT_EQ(*columns.rbegin(), tile.other - 1);
    EXPECT_EQ(*places.rbegin(), tile.other - 1);
    // Eight neighbouring threads write and read different banks of 16 bytes.
    std::set<int> written, read;
    for (int thread = 0; thread < 8; ++thread) {
      const int place = spread_row(lanes, column_of(lanes, thread, 0));
      written.insert(place * row_floats(tile.own) / 4 % 8);
      read.insert(column_of(lanes, thread, 0) / 4 % 8);
    }
    EXPECT_EQ(written.size(), 8);
    EXPECT_EQ(read.size(), 8);
  }
}

TEST(AttentionTiles, of_few_rows_are_low) {
  EXPECT_EQ(forward_tile(64).own, 64);
  EXPECT_EQ(forward_tile(65).own, 128);
  EXPECT_EQ(backward_tile(96, 64).own, 64);
  EXPECT_EQ(backward_tile(96, 65).own, 128);
  EXPECT_EQ(backward_tile(128, 1000).own, 64);
  EXPECT_TRUE((Sight{64, 64, true}.is_one_tile()));
  EXPECT_FALSE((Sight{65, 64, false}.is_one_tile()));
  EXPECT_FALSE((Sight{64, 65, false}.is_one_tile()));
}

TEST(AttentionTiles, pads_widths_and_fits_shared_memory) {
  constexpr int most_bytes_sm90 = 227 * 1024;  // per block: CUDA C++ Programming Guide, table 27
  EXPECT_EQ(padded_width(1, 1), 32);
  EXPECT_EQ(padded_width(33, 8), 64);
  EXPECT_EQ(padded_width(8, 80), 96);
  EXPECT_EQ(padded_width(128, 1), 128);
  EXPECT_EQ(padded_width(129, 1), 0);
  for (const int width : {32, 64, 96, 128}) {
    for (const int rows : {1, 64, 65, 1000}) {
      const Tile forward = forward_tile(rows), backward = backward_tile(width, rows);
      EXPECT_LE(forward_shared_bytes(width, forward), most_bytes_sm90);
      EXPECT_LE(backward_shared_bytes(width, backward), most_bytes_sm90);
      EXPECT_EQ(forward.own % (4 * side), 0);
      EXPECT_EQ(backward.own % (4 * side), 0);
      EXPECT_EQ(forward.other % (4 * forward_lanes(width)), 0);
      EXPECT_EQ(backward.other % (4 * backward_lanes), 0);
    }
    EXPECT_LE(one_tile_shared_bytes(width), most_bytes_sm90);
  }
  EXPECT_LE(2 * one_tile_shared_bytes(64), most_bytes_sm90) << "two blocks a multiprocessor";
}

/// One head: scores are random, values one number each.
struct Head {
  Sight sight;
  std::vector<double> scores, values, d_output;
  double score(std::int64_t query, std::int64_t key) const {
    return scores[static_cast<std::size_t>(query * sight.keys + key)];
  }
};

Head random_head(const Sight& sight, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> numbers(-30, 30);
  Head head{sight, {}, {}, {}};
  for (std::int64_t i = 0; i < sight.queries * sight.keys; ++i)
    head.scores.push_back(numbers(random));
  for (std::int64_t i = 0; i < sight.keys; ++i) head.values.push_back(numbers(random));
  for (std::int64_t i = 0; i < sight.queries; ++i) head.d_output.push_back(numbers(random));
  return head;
}

struct RowResult {
  double output = 0, log_sum = 0;
};

/// As the kernel: a maximum and a sum that follow the tiles.
RowResult by_tiles(const Head& head, std::int64_t query, std::int64_t key_end) {
  const Tile tile = forward_tile(head.sight.queries);
  double most = -std::numeric_limits<double>::infinity(), sum = 0, output = 0;
  const std::int64_t seen = head.sight.seen_keys(query);
  for (std::int64_t first = 0; first < key_end; first += tile.other) {
    double tile_most = most;
    const std::int64_t end = std::min(first + tile.other, seen);
    for (std::int64_t key = first; key < end; ++key)
      tile_most = std::max(tile_most, head.score(query, key));
    const double base = std::isinf(tile_most) ? 0 : tile_most;
    const double shrink = std::exp(most - base);
    most = tile_most;
    sum *= shrink;
    output *= shrink;
    for (std::int64_t key = first; key < end; ++key) {
      const double power = std::exp(head.score(query, key) - base);
      sum += power;
      output += power * head.values[static_cast<std::size_t>(key)];
    }
  }
  if (sum == 0) return {0, std::numeric_limits<double>::infinity()};
  return {output / sum, most + std::log(sum)};
}

TEST(AttentionTiles, running_sums_and_probabilities_made_again_are_the_definition) {
  std::uint64_t seed = 1;
  for (const Sight& sight : sights()) {
    const Head head = random_head(sight, seed++);
    const Tile tile = forward_tile(sight.queries);
    for (std::int64_t query = 0; query < sight.queries; ++query) {
      const std::int64_t first = query / tile.own * tile.own;
      const RowResult row = by_tiles(head, query, sight.key_end(first + tile.own));
      double sum = 0, output = 0, shares = 0;
      const std::int64_t seen = sight.seen_keys(query);
      for (std::int64_t key = 0; key < seen; ++key) {
        const double power = std::exp(head.score(query, key));
        sum += power;
        output += power * head.values[static_cast<std::size_t>(key)];
        shares += std::exp(head.score(query, key) - row.log_sum);
      }
      EXPECT_NEAR(row.output, seen == 0 ? 0 : output / sum, 1e-9);
      EXPECT_NEAR(shares, seen == 0 ? 0 : 1, 1e-9);
      // Σ P (dP − dO × O) = 0: what backward subtracts is the mean of what it subtracts from.
      const double d_output = head.d_output[static_cast<std::size_t>(query)];
      double slopes = 0;
      for (std::int64_t key = 0; key < seen; ++key)
        slopes += std::exp(head.score(query, key) - row.log_sum) *
                  (d_output * head.values[static_cast<std::size_t>(key)] - d_output * row.output);
      EXPECT_NEAR(slopes, 0, 1e-6);
    }
  }
}

}  // namespace
}  // namespace strata::attention_tiles
