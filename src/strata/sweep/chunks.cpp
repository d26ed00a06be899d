// SPDX-License-Identifier: Apache-2.0
#include "strata/sweep/chunks.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace strata {
namespace {

constexpr std::int64_t chunks_per_worker = 16;
constexpr std::int64_t most_in_chunk = 4096;
constexpr std::int64_t window_per_worker = 4;

std::int64_t divided_up(std::int64_t amount, std::int64_t by) { return (amount + by - 1) / by; }

}  // namespace

ChunkPlan::ChunkPlan(const PointRange& range, std::int64_t workers) : range_(range) {
  const std::int64_t left = range.end - range.first;
  if (left <= 0) return;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(left / (workers * chunks_per_worker), 1, most_in_chunk);
  const std::int64_t run = std::min(range.in_run, range.in_group);
  const std::int64_t most_runs = range.runs_follow ? 1 : wanted;
  // Whole runs, or a run in equal parts.
  in_chunk_ = wanted >= run ? std::min(wanted / run, most_runs) * run
                            : divided_up(run, divided_up(run, wanted));
  in_chunk_ = std::min(in_chunk_, range.in_group);
  per_group_ = divided_up(range.in_group, in_chunk_);
  const auto chunk_of = [&](std::int64_t point) {
    return point / range_.in_group * per_group_ + point % range_.in_group / in_chunk_;
  };
  first_ = chunk_of(range.first);
  last_ = chunk_of(range.end - 1);
}

Chunk ChunkPlan::at(std::int64_t number) const {
  const std::int64_t absolute = first_ + number;
  const std::int64_t group_first = absolute / per_group_ * range_.in_group;
  const std::int64_t first = group_first + absolute % per_group_ * in_chunk_;
  const std::int64_t end = std::min(first + in_chunk_, group_first + range_.in_group);
  return {number, std::max(first, range_.first), std::min(end, range_.end)};
}

ChunkBoard::ChunkBoard(const ChunkPlan& plan, std::int64_t workers)
    : plan_(plan), window_(workers * window_per_worker) {}

bool ChunkBoard::may_take() const {
  return next_ < plan_.size() && next_ - head_ < window_ && !is_stopped_;
}

std::optional<Chunk> ChunkBoard::take() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return is_stopped_ || next_ >= plan_.size() || may_take(); });
  if (!may_take()) return std::nullopt;
  const Chunk chunk = plan_.at(next_++);
  open_.push_back({.wanted = chunk.end - chunk.first});
  return chunk;
}

std::optional<Chunk> ChunkBoard::try_take(bool& is_over) {
  const std::lock_guard lock(mutex_);
  is_over = is_stopped_ || next_ >= plan_.size();
  if (!may_take()) return std::nullopt;
  const Chunk chunk = plan_.at(next_++);
  open_.push_back({.wanted = chunk.end - chunk.first});
  return chunk;
}

bool ChunkBoard::deliver(const Chunk& chunk, std::vector<PointResult> results) {
  const std::lock_guard lock(mutex_);
  STRATA_CHECK(chunk.number >= head_ && chunk.number < next_, "results of a chunk nobody has");
  Open& open = open_[static_cast<std::size_t>(chunk.number - head_)];
  open.delivered += static_cast<std::int64_t>(results.size());
  STRATA_CHECK(open.delivered <= open.wanted, "more results than points");
  if (open.results.empty()) {
    open.results = std::move(results);
  } else {
    std::move(results.begin(), results.end(), std::back_inserter(open.results));
  }
  if (chunk.number == head_) news_.notify_one();
  return !is_stopped_;
}

std::vector<PointResult> ChunkBoard::collect(double most_s) {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, std::chrono::duration<double>(most_s), [&] {
    return error_ != nullptr || (!open_.empty() && !open_.front().results.empty());
  });
  if (error_ != nullptr) std::rethrow_exception(error_);
  std::vector<PointResult> next;
  while (!open_.empty()) {
    Open& open = open_.front();
    std::move(open.results.begin(), open.results.end(), std::back_inserter(next));
    open.results.clear();
    if (open.delivered < open.wanted) break;
    open_.pop_front();
    ++head_;
  }
  room_.notify_all();
  return next;
}

bool ChunkBoard::is_finished() const {
  const std::lock_guard lock(mutex_);
  return head_ >= plan_.size();
}

void ChunkBoard::stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  room_.notify_all();
}

void ChunkBoard::stop(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  error_ = std::move(error);
  room_.notify_all();
  news_.notify_all();
}

}  // namespace strata
