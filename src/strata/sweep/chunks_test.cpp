// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/chunks.hpp"

#include "strata/sweep/made_up_sweep_test.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace strata {
namespace {

TEST(ChunkPlan, hands_out_every_point_once_and_never_crosses_groups) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const auto upto = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random()) % most;
    };
    PointRange range;
    range.in_run = upto(20);
    range.in_group = range.in_run * upto(20);
    range.end = range.in_group * upto(6);
    range.first = static_cast<std::int64_t>(random()) % (range.end + 1);
    const ChunkPlan plan(range, upto(9));
    std::int64_t next = range.first;
    for (std::int64_t i = 0; i < plan.size(); ++i) {
      const Chunk chunk = plan.at(i);
      EXPECT_EQ(chunk.first, next);
      EXPECT_LT(chunk.first, chunk.end);
      EXPECT_EQ(chunk.first / range.in_group, (chunk.end - 1) / range.in_group);
      next = chunk.end;
    }
    EXPECT_EQ(next, range.end);
  }
}

TEST(ChunkPlan, one_long_run_keeps_all_workers_busy) {
  const ChunkPlan plan({.first = 0, .end = 489, .in_group = 489, .in_run = 489}, 2);
  EXPECT_GE(plan.size(), 16);
}

TEST(ChunkPlan, where_a_run_goes_on_from_the_one_before_neighbours_are_under_way_at_once) {
  const ChunkPlan plan(
      {.first = 0, .end = 5000, .in_group = 5000, .in_run = 10, .runs_follow = true}, 2);
  EXPECT_EQ(plan.size(), 500);
}

TEST(ChunkBoard, results_leave_in_order_whoever_made_them) {
  const ChunkPlan plan({.first = 3, .end = 1000, .in_group = 100, .in_run = 10}, 4);
  ChunkBoard board(plan, 4);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&board, seed] {
      std::mt19937 random(seed);
      while (const auto chunk = board.take()) {
        for (std::int64_t point = chunk->first; point < chunk->end; ++point) {
          if (random() % 8 == 0) std::this_thread::yield();
          board.deliver(*chunk, {test::made_up_result(point)});
        }
      }
    });
  }
  std::int64_t next = 3;
  while (!board.is_finished()) {
    for (const PointResult& result : board.collect(1)) {
      EXPECT_EQ(result.error, test::made_up_result(next).error);
      EXPECT_EQ(result.totals, test::made_up_result(next).totals);
      ++next;
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(next, 1000);
}

TEST(ChunkBoard, whoever_is_far_ahead_waits) {
  const ChunkPlan plan({.first = 0, .end = 100, .in_group = 1, .in_run = 1}, 1);
  ChunkBoard board(plan, 1);
  bool is_over = false;
  std::int64_t taken = 0;
  while (board.try_take(is_over)) ++taken;
  EXPECT_FALSE(is_over);
  EXPECT_LT(taken, 10);
}

TEST(ChunkBoard, an_error_of_a_worker_reaches_the_writer) {
  const ChunkPlan plan({.first = 0, .end = 10, .in_group = 10, .in_run = 1}, 1);
  ChunkBoard board(plan, 1);
  board.stop(std::make_exception_ptr(std::runtime_error("lost")));
  EXPECT_THROW(board.collect(10), std::runtime_error);
  EXPECT_FALSE(board.take());
}

TEST(PointResult, passes_between_processes_unchanged) {
  std::vector<PointResult> results;
  for (std::int64_t point = 0; point < 20; ++point) results.push_back(test::made_up_result(point));
  results.back().has_limit = false;
  const std::vector<PointResult> back = unpacked(packed(results));
  ASSERT_EQ(back.size(), results.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].totals, results[i].totals);
    EXPECT_EQ(back[i].expected, results[i].expected);
    EXPECT_EQ(back[i].has_limit, results[i].has_limit);
    EXPECT_EQ(back[i].error, results[i].error);
    EXPECT_EQ(back[i].samples, results[i].samples);
    EXPECT_EQ(back[i].footprint_bytes, results[i].footprint_bytes);
    EXPECT_EQ(back[i].hardware.bytes_per_s, results[i].hardware.bytes_per_s);
  }
}

}  // namespace
}  // namespace strata
