// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/simulate.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

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
                             const RankEngine& engine, WantEvents wants_events, Rounds rounds) {
  std::vector<RankStream> streams =
      PipelineRun(costs, chunks, strategy, cluster, rounds, wants_events).run();
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
