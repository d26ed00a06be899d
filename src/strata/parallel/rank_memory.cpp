// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/rank_memory.hpp"

#include "strata/parallel/schedule.hpp"

#include <algorithm>

namespace strata {
namespace {

constexpr std::int64_t bucket_bytes = 25'000'000;

std::int64_t share(std::int64_t bytes, std::int64_t ranks) { return (bytes + ranks - 1) / ranks; }

/// What ZeRO leaves of all bytes, of which some are of experts that fewer ranks have.
std::int64_t share(std::int64_t bytes, std::int64_t of_experts, const Strategy& strategy) {
  return share(bytes - of_experts, strategy.weight_ranks()) +
         share(of_experts, strategy.expert_weight_ranks());
}

/// FSDP holds the weights of the unit at work and of the next one.
std::int64_t gathered_bytes(const RankCosts& costs) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < costs.units.size(); ++i) {
    const std::int64_t next = i + 1 < costs.units.size() ? costs.units[i + 1].weight_bytes : 0;
    most = std::max(most, costs.units[i].weight_bytes + next);
  }
  return most;
}

/// Weights and gradients of a weight that another stage has, too.
void add_shared(RankMemory& memory, const RankCosts& costs, std::size_t stage,
                const std::vector<LayerChunk>& chunks, std::size_t stages) {
  const auto stage_of = [&](std::size_t unit) {
    std::size_t chunk = 0;
    while (chunks[chunk].end <= unit) ++chunk;
    return chunk % stages;
  };
  for (const SharedWeight& shared : costs.shared) {
    if (stage_of(shared.second) != stage || stage_of(shared.first) == stage) continue;
    memory.parameters_bytes += shared.bytes;
    memory.gradients_bytes += shared.bytes;
  }
}

/// The gradients of weights are not all there when the activations are at their peak.
void fit_to(RankMemory& memory, std::int64_t peak_bytes) {
  const std::int64_t kept = memory.parameters_bytes + memory.states_bytes + memory.buffers_bytes;
  memory.activations_bytes = std::min(memory.activations_bytes, peak_bytes - kept);
  memory.gradients_bytes = peak_bytes - kept - memory.activations_bytes;
}

}  // namespace

std::vector<RankMemory> rank_memory(const RankCosts& costs, const std::vector<LayerChunk>& chunks,
                                    const Strategy& strategy) {
  const auto stages = static_cast<std::size_t>(strategy.pipeline);
  // What a framework allocates on one device is known as a whole; dropping scores alone is not
  // among what one device is asked with.
  const bool is_known = costs.peak_bytes > 0 && strategy.recompute != RankRecompute::selective;
  std::vector<RankMemory> all;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    RankMemory memory;
    std::int64_t saved = 0;
    WeightCost experts;
    for (std::size_t i = stage; i < chunks.size(); i += stages) {
      memory.parameters_bytes += chunks[i].weight_bytes;
      memory.gradients_bytes += chunks[i].gradient_bytes;
      memory.states_bytes += chunks[i].state_bytes;
      experts += chunks[i].experts;
      saved += chunks[i].saved_bytes;
    }
    add_shared(memory, costs, stage, chunks, stages);
    const std::int64_t in_flight = most_in_flight(strategy, static_cast<std::int64_t>(stage));
    memory.activations_bytes = in_flight * saved / strategy.chunks + costs.working_bytes;
    memory.buffers_bytes = costs.other_bytes + costs.exchange_bytes;
    if (is_known) {
      fit_to(memory, costs.peak_bytes);
    } else if (strategy.weight_ranks() > 1) {
      memory.buffers_bytes += bucket_bytes;
    }
    if (strategy.zero >= 1)
      memory.states_bytes = share(memory.states_bytes, experts.state_bytes, strategy);
    if (strategy.zero >= 2)
      memory.gradients_bytes = share(memory.gradients_bytes, experts.gradient_bytes, strategy);
    if (strategy.zero == 3) {
      memory.parameters_bytes = share(memory.parameters_bytes, experts.weight_bytes, strategy);
      memory.buffers_bytes += gathered_bytes(costs);
    }
    all.push_back(memory);
  }
  return all;
}

}  // namespace strata
