// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/collectives.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// How an iteration is split over the devices of a cluster.
namespace strata {

enum class PipelineSchedule : std::uint8_t {
  gpipe,        ///< all forward, then all backward
  one_f_one_b,  ///< one forward, one backward: 1F1B
  interleaved,  ///< 1F1B with several chunks of layers per rank
  zero_bubble,  ///< 1F1B whose gradients of weights fill the bubbles (ZB-H1)
};
std::string_view name_of(PipelineSchedule schedule);  ///< "1f1b"

/// What forward runs again in backward, so that it need not be kept.
enum class RankRecompute : std::uint8_t {
  none,
  selective,  ///< scores of attention
  full,       ///< each block of layers, from its input
};
std::string_view name_of(RankRecompute recompute);

/// How the ranks that share a sequence bring every query to all keys and values.
enum class ContextExchange : std::uint8_t {
  ring,        ///< shares of keys and values go round (Liu et al., Ring Attention, 2023)
  all_to_all,  ///< positions are exchanged for heads, and back (Jacobs et al., Ulysses, 2023)
};
std::string_view name_of(ContextExchange exchange);

struct Strategy {
  std::int64_t data = 1;           ///< dp: ranks with the same weights and other samples
  std::int64_t tensor = 1;         ///< tp: ranks that share the products of each layer
  std::int64_t context = 1;        ///< cp: ranks that share the sequence
  std::int64_t expert = 1;         ///< ep: of the ranks with the same weights, that share experts
  std::int64_t pipeline = 1;       ///< pp: stages, one after the other
  std::int64_t micro_batches = 1;  ///< micro: so often forward and backward before an update
  std::int64_t chunks = 1;         ///< v: groups of layers per stage, for interleaving
  std::int64_t zero = 0;           ///< states (1), gradients (2), weights (3) split over dp x cp
  bool sequence_parallel = false;  ///< sp: norms, dropout and sums split over tp, too
  bool overlaps_gradients = true;  ///< reduced in buckets while backward goes on
  bool balances_time = true;       ///< stages of equal time; else of equal numbers of blocks
  RankRecompute recompute = RankRecompute::none;
  ContextExchange exchange = ContextExchange::ring;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;

  std::int64_t devices() const { return data * context * tensor * pipeline; }
  /// Ranks that hold the same weights: their gradients are summed, and ZeRO splits over them.
  std::int64_t weight_ranks() const { return data * context; }
  /// The same for the weights of one expert.
  std::int64_t expert_weight_ranks() const { return weight_ranks() / expert; }

  /// Ranks of one product lie next to one another, then those of a sequence, of data, the stages.
  /// Experts are spread over neighbours, whatever they share else (as Megatron Core folds them).
  RankGroup tensor_group() const { return {tensor, 1}; }
  RankGroup context_group() const { return {context, tensor}; }
  RankGroup expert_group() const { return {expert, tensor}; }
  RankGroup weight_group() const { return {weight_ranks(), tensor}; }
  RankGroup expert_weight_group() const { return {expert_weight_ranks(), tensor * expert}; }
  RankGroup pipeline_group() const { return {pipeline, tensor * weight_ranks()}; }

  bool operator==(const Strategy&) const = default;
};

/// "dp=8,tp=8,pp=1,zero=1,micro=4", in any order; further cp=, exchange=, ep=, v=, sp=, recompute=,
/// schedule=, overlap=, balance=. Errors (usage) name the part, what was expected and the nearest
/// name.
Strategy parse_strategy(std::string_view text);

/// The parts of a strategy by their names, "dp", "tp", …: those that are whole numbers, and those
/// that are one of a few words.
std::vector<std::string> strategy_counts();
std::vector<std::string> strategy_choices();

/// As parse_strategy takes it, without what is as it is by default.
std::string to_text(const Strategy& strategy);

/// What the strategy itself forbids, whatever the network. Errors (usage) say why.
void check_strategy(const Strategy& strategy, const Cluster& cluster, std::int64_t samples);

/// The same as a reason; empty: nothing is against it.
std::string reason_against(const Strategy& strategy, const Cluster& cluster, std::int64_t samples);

}  // namespace strata
