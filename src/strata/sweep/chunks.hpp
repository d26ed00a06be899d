// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/point_result.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

/// How the points of a sweep are handed out to those who compute, and put back into order.
namespace strata {

/// Consecutive points of one group.
struct Chunk {
  std::int64_t number = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// What is known of a sweep before it runs.
struct PointRange {
  std::int64_t first = 0;     ///< those before are done
  std::int64_t end = 0;       ///< how many there are in all
  std::int64_t in_group = 1;  ///< so many in a row share a program, which a worker keeps
  std::int64_t in_run = 1;    ///< so many in a row are best computed one after the other
  bool runs_follow = false;   ///< a run goes on from the one before: neighbours at the same time
};

/// Cuts points into chunks that are few enough to cost nothing and many enough to keep everybody
/// busy to the end. A chunk never crosses groups.
class ChunkPlan {
 public:
  ChunkPlan(const PointRange& range, std::int64_t workers);

  std::int64_t size() const { return last_ - first_ + 1; }
  Chunk at(std::int64_t number) const;

 private:
  PointRange range_;
  std::int64_t in_chunk_ = 1;
  std::int64_t per_group_ = 1;  // chunks
  std::int64_t first_ = 0;      // the chunk that holds the first point, counted from point 0
  std::int64_t last_ = -1;
};

/// Between the workers and the writer. Results may come from any worker in any order;
/// they leave in the order of the points. Whoever is far ahead has to wait, so memory is bounded.
class ChunkBoard {
 public:
  ChunkBoard(const ChunkPlan& plan, std::int64_t workers);

  /// The next chunk to compute; waits while too much is ahead of the writer. Empty: nothing is
  /// left, or the sweep was stopped.
  std::optional<Chunk> take();
  /// The same without waiting; `is_over` tells nothing-now from nothing-any-more.
  std::optional<Chunk> try_take(bool& is_over);
  /// The next results of a chunk. False: stopped, do not go on.
  bool deliver(const Chunk& chunk, std::vector<PointResult> results);

  /// Results that are next in order; waits for them at most `most_s`. Empty when there are none.
  std::vector<PointResult> collect(double most_s);
  /// Everything was collected.
  bool is_finished() const;

  void stop();
  /// Somebody who computes met an error that ends the sweep; collect() throws it.
  void stop(std::exception_ptr error);

 private:
  struct Open {
    std::int64_t wanted = 0;
    std::int64_t delivered = 0;
    std::vector<PointResult> results;  // that were not collected yet
  };
  bool may_take() const;

  const ChunkPlan& plan_;
  const std::int64_t window_;  // chunks that may be open
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable news_;
  std::deque<Open> open_;  // from head_ on, those taken
  std::int64_t head_ = 0;  // the chunk that is collected now
  std::int64_t next_ = 0;  // the chunk that is taken next
  bool is_stopped_ = false;
  std::exception_ptr error_;
};

}  // namespace strata
