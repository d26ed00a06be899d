// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/exchanges.hpp"

#include <algorithm>

namespace strata {

LinkUse ring_exchange(const Cluster& cluster, const Strategy& strategy, double bytes, double busy_s,
                      bool is_backward) {
  const auto ranks = static_cast<double>(strategy.context);
  const double of_step = (is_backward ? 2 : 1) * bytes / ranks;
  const double step_s = ring_step_time_s(cluster, strategy.context_group(), of_step);
  const double waits_s = std::max(0.0, step_s - busy_s / ranks);
  return {.time_s = (ranks - 1) * waits_s,
          .sent_bytes = (ranks - 1) * of_step,
          .hidden_s = (ranks - 1) * (step_s - waits_s)};
}

LinkUse head_exchange(const Cluster& cluster, const Strategy& strategy,
                      std::span<const double> bytes) {
  const RankGroup group = strategy.context_group();
  LinkUse all;
  for (const double whole : bytes) {
    const double own = whole / static_cast<double>(strategy.context);
    all += {.time_s = collective_time_s(cluster, group, CollectiveKind::all_to_all, own),
            .sent_bytes = sent_bytes(CollectiveKind::all_to_all, group.size, own)};
  }
  return all;
}

LinkUse expert_exchange(const Cluster& cluster, const Strategy& strategy, double bytes) {
  const RankGroup group = strategy.expert_group();
  // With sequence parallelism each tensor parallel rank sends its own words.
  const double own = bytes / static_cast<double>(strategy.sequence_parallel ? strategy.tensor : 1);
  return {.time_s = collective_time_s(cluster, group, CollectiveKind::all_to_all, own),
          .sent_bytes = sent_bytes(CollectiveKind::all_to_all, group.size, own)};
}

}  // namespace strata
