// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/simulate.hpp"

#include "strata/base/error.hpp"
#include "strata/parallel/rank_stream.hpp"
#include "strata/parallel/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

constexpr double not_sent = std::numeric_limits<double>::infinity();

/// A tensor on its way from one chunk to the next.
struct Message {
  double arrives_s = not_sent, transit_s = 0;
};

/// All stages, each with its tasks in order; a task runs when what it waits for has arrived.
class PipelineRun {
 public:
  PipelineRun(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
              const Strategy& strategy, const Cluster& cluster, WantEvents wants_events)
      : chunks_(chunks),
        strategy_(strategy),
        cluster_(cluster),
        micro_batches_(static_cast<std::size_t>(strategy.micro_batches)),
        forward_(chunks.size() * micro_batches_),
        backward_(chunks.size() * micro_batches_) {
    const auto stages = static_cast<std::size_t>(strategy.pipeline);
    streams_.reserve(stages);
    for (std::size_t stage = 0; stage < stages; ++stage) {
      streams_.emplace_back(costs, strategy, cluster, static_cast<std::uint32_t>(stage),
                            wants_events);
      tasks_.push_back(tasks_of(strategy, static_cast<std::int64_t>(stage)));
    }
    next_.assign(stages, 0);
  }

  std::vector<RankStream> run() && {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
        while (next_[stage] < tasks_[stage].size() &&
               try_task(stage, tasks_[stage][next_[stage]])) {
          ++next_[stage];
          has_moved = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < streams_.size(); ++stage)
      STRATA_CHECK(next_[stage] == tasks_[stage].size(), "no stage waits for ever");
    return std::move(streams_);
  }

 private:
  Message& message(std::vector<Message>& all, std::size_t chunk, std::uint32_t micro) {
    return all[chunk * micro_batches_ + micro];
  }

  /// False: what it needs has not been sent yet.
  bool try_task(std::size_t stage, const Task& task) {
    const std::size_t chunk = task.chunk * streams_.size() + stage;
    RankStream& stream = streams_[stage];
    const bool is_last = task.micro + 1 == micro_batches_;
    if (task.kind == TaskKind::weight_gradients) {
      stream.weight_gradients(chunks_[chunk], task.micro, is_last);
      return true;
    }
    const bool is_forward = task.kind == TaskKind::forward;
    const bool is_first_to_do = is_forward ? chunk == 0 : chunk + 1 == chunks_.size();
    if (!is_first_to_do) {
      const Message& needed = message(is_forward ? forward_ : backward_, chunk, task.micro);
      if (needed.arrives_s == not_sent) return false;
      stream.receive(needed.arrives_s, needed.transit_s);
    }
    if (is_forward) {
      stream.forward(chunks_[chunk], task.micro);
      if (chunk + 1 < chunks_.size())
        send(stream, message(forward_, chunk + 1, task.micro), chunks_[chunk].boundary_bytes);
    } else {
      stream.backward(chunks_[chunk], task.micro, is_last);
      if (chunk > 0)
        send(stream, message(backward_, chunk - 1, task.micro), chunks_[chunk - 1].boundary_bytes);
    }
    return true;
  }

  /// With sequence parallelism each rank has and sends a share.
  void send(RankStream& from, Message& to, std::int64_t boundary_bytes) {
    const double bytes = static_cast<double>(boundary_bytes) /
                         static_cast<double>(strategy_.sequence_parallel ? strategy_.tensor : 1);
    to.transit_s = collective_time_s(cluster_, strategy_.pipeline_group(),
                                     CollectiveKind::point_to_point, bytes);
    to.arrives_s = from.send(bytes, to.transit_s) + to.transit_s;
  }

  const std::vector<LayerChunk>& chunks_;
  const Strategy& strategy_;
  const Cluster& cluster_;
  std::size_t micro_batches_;
  std::vector<Message> forward_, backward_;  // to each chunk, by micro-batch
  std::vector<RankStream> streams_;
  std::vector<std::vector<Task>> tasks_;
  std::vector<std::size_t> next_;
};

/// What the first and the last stage sum of a weight that both have.
void sum_shared_weights(std::vector<RankStream>& streams, const RankCosts& costs,
                        const std::vector<LayerChunk>& chunks, const Strategy& strategy,
                        const Cluster& cluster) {
  const auto stage_of = [&](std::size_t unit) {
    std::size_t chunk = 0;
    while (chunks[chunk].end <= unit) ++chunk;
    return chunk % streams.size();
  };
  for (const SharedWeight& shared : costs.shared) {
    const std::size_t first = stage_of(shared.first), second = stage_of(shared.second);
    if (first == second) continue;
    const RankGroup pair{2, strategy.pipeline_group().stride};
    const auto bytes = static_cast<double>(shared.bytes);
    const double time_s = collective_time_s(cluster, pair, CollectiveKind::all_reduce, bytes);
    for (const std::size_t stage : {first, second})
      streams[stage].sum_shared(time_s, sent_bytes(CollectiveKind::all_reduce, 2, bytes));
  }
}

}  // namespace

RankTime RankIteration::mean() const {
  RankTime sum;
  const auto add = [&](double RankTime::*part) {
    for (const RankTime& rank : ranks) sum.*part += rank.*part / static_cast<double>(ranks.size());
  };
  for (double RankTime::*part : rank_time_parts) add(part);
  return sum;
}

RankIteration simulate_ranks(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
                             const Strategy& strategy, const Cluster& cluster,
                             const RankEngine& engine, WantEvents wants_events) {
  std::vector<RankStream> streams =
      PipelineRun(costs, chunks, strategy, cluster, wants_events).run();
  for (RankStream& stream : streams) stream.end_gradients();
  sum_shared_weights(streams, costs, chunks, strategy, cluster);
  // The norm of all gradients is taken before the update, so that all ranks wait for the last.
  double ready_s = 0;
  for (const RankStream& stream : streams) ready_s = std::max(ready_s, stream.device_s());
  RankIteration result;
  for (std::size_t stage = 0; stage < streams.size(); ++stage) {
    streams[stage].wait_for(ready_s, 0);
    LayerChunk all;
    for (std::size_t i = stage; i < chunks.size(); i += streams.size()) {
      all.parameters += chunks[i].parameters;
      all.tensors += chunks[i].tensors;
      all.weight_bytes += chunks[i].weight_bytes;
      all.experts += chunks[i].experts;
    }
    streams[stage].update(all, engine);
    result.time_s = std::max(result.time_s, streams[stage].end_s());
  }
  for (RankStream& stream : streams) {
    stream.end(result.time_s);
    result.ranks.push_back(stream.time());
    result.traffic.push_back(stream.traffic());
    for (RankEvent& event : stream.events()) result.events.push_back(std::move(event));
  }
  return result;
}

}  // namespace strata
