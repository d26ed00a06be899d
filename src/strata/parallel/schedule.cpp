// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/schedule.hpp"

#include <algorithm>

namespace strata {
namespace {

/// Adds tasks of one kind, one micro-batch after the other.
class TaskRow {
 public:
  TaskRow(const Strategy& strategy, TaskKind kind) : strategy_(strategy), kind_(kind) {}

  /// Interleaved: as many micro-batches as there are stages go through a chunk before the next one
  /// begins; backward takes the chunks in reverse (Narayanan et al. 2021).
  Task next() {
    const auto stages = static_cast<std::uint32_t>(strategy_.pipeline);
    const auto chunks = static_cast<std::uint32_t>(strategy_.chunks);
    if (chunks == 1) return {kind_, 0, count_++};
    const std::uint32_t in_group = count_ % (stages * chunks);
    const std::uint32_t group = count_ / (stages * chunks);
    std::uint32_t chunk = in_group / stages;
    if (kind_ != TaskKind::forward) chunk = chunks - 1 - chunk;
    ++count_;
    return {kind_, chunk, group * stages + in_group % stages};
  }

 private:
  const Strategy& strategy_;
  TaskKind kind_;
  std::uint32_t count_ = 0;
};

/// Forward tasks before the first backward one.
std::int64_t warm_up(const Strategy& s, std::int64_t stage) {
  const std::int64_t all = s.micro_batches * s.chunks;
  if (s.schedule == PipelineSchedule::gpipe) return all;
  const std::int64_t after = s.pipeline - stage - 1;
  if (s.schedule != PipelineSchedule::interleaved) return std::min(after, all);
  return std::min(all, after * 2 + (s.chunks - 1) * s.pipeline);
}

}  // namespace

std::vector<Task> tasks_of(const Strategy& strategy, std::int64_t stage) {
  const std::int64_t all = strategy.micro_batches * strategy.chunks;
  const std::int64_t warm = warm_up(strategy, stage);
  const bool is_apart = strategy.schedule == PipelineSchedule::zero_bubble;
  TaskRow forward(strategy, TaskKind::forward), backward(strategy, TaskKind::backward),
      weights(strategy, TaskKind::weight_gradients);
  std::vector<Task> tasks;
  tasks.reserve(static_cast<std::size_t>(all * (is_apart ? 3 : 2)));
  std::int64_t waiting = 0;  // gradients of weights
  for (std::int64_t i = 0; i < warm; ++i) tasks.push_back(forward.next());
  for (std::int64_t i = 0; i < all; ++i) {
    const bool is_cooling = i + warm >= all;
    if (!is_cooling) tasks.push_back(forward.next());
    tasks.push_back(backward.next());
    if (!is_apart) continue;
    // Later stages put off more of them: there the bubbles are at the end (ZB-H1).
    if (++waiting > stage || is_cooling) {
      tasks.push_back(weights.next());
      --waiting;
    }
  }
  for (; waiting > 0; --waiting) tasks.push_back(weights.next());
  return tasks;
}

std::int64_t most_in_flight(const Strategy& strategy, std::int64_t stage) {
  // Once warm, each forward task is followed by a backward one.
  return std::min(strategy.micro_batches * strategy.chunks, warm_up(strategy, stage) + 1);
}

}  // namespace strata
