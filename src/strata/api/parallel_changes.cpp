// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel_changes.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace strata {
namespace {

ClusterLink twice(ClusterLink link) {
  link.bytes_per_s *= 2;
  link.reached_bytes_per_s *= 2;
  return link;
}

void add_schedules(std::vector<ChangedStrategy>& changes, const Strategy& now) {
  if (now.pipeline == 1) return;
  const auto add = [&](PipelineSchedule schedule, std::int64_t chunks, std::string text) {
    Strategy changed = now;
    changed.schedule = schedule;
    changed.chunks = chunks;
    if (changed != now) changes.push_back({std::move(text), changed});
  };
  const std::int64_t more = 2 * now.chunks;
  add(PipelineSchedule::interleaved, more, fmt::format("v={}", more));
  add(PipelineSchedule::one_f_one_b, 1, "schedule=1f1b");
  add(PipelineSchedule::zero_bubble, 1, "schedule=zero-bubble");
}

/// Fills in what a strategy comes to.
void ask(ParallelChange& change, StrategyPlanner& planner, const Cluster& cluster) {
  const std::optional<double> device_bytes = outer_memory_bytes(cluster.machine);
  change.reason = reason_against(change.strategy, cluster, planner.samples());
  if (!change.reason.empty()) return;
  try {
    const StrategyTime time = planner.time_of(change.strategy);
    change.time_s = time.time_s;
    change.memory_bytes = time.most_memory().total_bytes();
    change.fits = !device_bytes || static_cast<double>(change.memory_bytes) <= *device_bytes;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    change.reason = error.what();
  }
}

ParallelChange best_of_all(const ParallelChoice& choice, const Strategy& now) {
  ParallelChange change{.text = "auto", .is_search = true, .strategy = now, .reason = {}};
  if (!choice.best) {
    change.reason = "no strategy fits";
    return change;
  }
  const StrategyTime& best = choice.best->result;
  change.strategy = best.strategy;
  change.text = fmt::format("auto: {}", to_text(best.strategy));
  change.time_s = best.time_s;
  change.memory_bytes = best.most_memory().total_bytes();
  change.fits = true;
  return change;
}

}  // namespace

std::vector<ChangedCluster> cluster_changes(const Cluster& cluster) {
  std::vector<ChangedCluster> changes;
  if (!cluster.collectives.empty()) return changes;
  if (cluster.between && cluster.nodes > 1) {
    Cluster faster = cluster;
    faster.between = twice(*cluster.between);
    changes.push_back({"twice the network", std::move(faster)});
  }
  if (cluster.devices_per_node > 1) {
    Cluster faster = cluster;
    faster.inside = twice(cluster.inside);
    changes.push_back({fmt::format("twice the {}", cluster.inside.name), std::move(faster)});
  }
  if (cluster.devices_per_node > 1 && cluster.nodes > 1 && cluster.nodes % 2 == 0) {
    Cluster wider = cluster;
    wider.devices_per_node *= 2;
    wider.nodes /= 2;
    changes.push_back({fmt::format("{} between {} devices instead of {}", cluster.inside.name,
                                   wider.devices_per_node, cluster.devices_per_node),
                       std::move(wider)});
  }
  return changes;
}

std::vector<ChangedStrategy> strategy_changes(const Strategy& now, bool keeps_scores,
                                              const NetworkChoices& network) {
  std::vector<ChangedStrategy> changes;
  const auto with = [&](std::string text, auto&& change) {
    Strategy changed = now;
    change(changed);
    if (changed != now) changes.push_back({std::move(text), changed});
  };
  for (std::int64_t zero = 0; now.weight_ranks() > 1 && zero <= 3; ++zero)
    with(fmt::format("zero={}", zero), [&](Strategy& s) { s.zero = zero; });
  with(fmt::format("micro={}", 2 * now.micro_batches), [](Strategy& s) { s.micro_batches *= 2; });
  if (now.micro_batches % 2 == 0)
    with(fmt::format("micro={}", now.micro_batches / 2), [](Strategy& s) { s.micro_batches /= 2; });
  for (const RankRecompute recompute :
       {RankRecompute::none, RankRecompute::selective, RankRecompute::full}) {
    if (recompute == RankRecompute::selective && !keeps_scores) continue;  // nothing to drop
    with(fmt::format("recompute={}", name_of(recompute)),
         [&](Strategy& s) { s.recompute = recompute; });
  }
  if (now.tensor > 1)
    with(fmt::format("sp={}", now.sequence_parallel ? "no" : "yes"),
         [](Strategy& s) { s.sequence_parallel = !s.sequence_parallel; });
  for (const std::int64_t expert : {2 * now.expert, now.expert / 2}) {
    const bool is_shared = network.experts > 0 && expert > 0 && network.experts % expert == 0;
    if (is_shared && now.weight_ranks() % expert == 0)
      with(fmt::format("ep={}", expert), [&](Strategy& s) { s.expert = expert; });
  }
  const auto& lengths = network.context;
  if (now.data % 2 == 0 &&
      std::find(lengths.begin(), lengths.end(), 2 * now.context) != lengths.end())
    with(fmt::format("cp={},dp={}", 2 * now.context, now.data / 2), [](Strategy& s) {
      s.context *= 2;
      s.data /= 2;
    });
  for (const ContextExchange exchange : {ContextExchange::ring, ContextExchange::all_to_all}) {
    if (now.context == 1) break;
    with(fmt::format("exchange={}", name_of(exchange)),
         [&](Strategy& s) { s.exchange = exchange; });
  }
  if (now.weight_ranks() > 1) with("overlap=yes", [](Strategy& s) { s.overlaps_gradients = true; });
  add_schedules(changes, now);
  return changes;
}

std::vector<ParallelChange> parallel_changes(const Graph& graph, const Cluster& cluster,
                                             const PredictRequest& request, ParallelModel& model,
                                             const Strategy& now, const ParallelChoice* searched,
                                             const ParallelChangeProgress& on_progress) {
  std::vector<ParallelChange> changes;
  for (ChangedStrategy& one :
       strategy_changes(now, model.planner().keeps_scores(), choices_of(model.planner()))) {
    changes.push_back({.text = std::move(one.text), .strategy = one.strategy, .reason = {}});
    ask(changes.back(), model.planner(), cluster);
  }
  for (ChangedCluster& one : cluster_changes(cluster)) {
    changes.push_back(
        {.text = std::move(one.text), .is_of_cluster = true, .strategy = now, .reason = {}});
    ask(changes.back(), ParallelModel(graph, one.cluster, request).planner(), one.cluster);
  }
  ParallelChange best =
      best_of_all(searched != nullptr ? *searched : model.choose({}, on_progress), now);
  if (best.strategy != now || !best.reason.empty()) changes.push_back(std::move(best));
  std::stable_sort(changes.begin(), changes.end(),
                   [](const ParallelChange& a, const ParallelChange& b) {
                     const auto place = [](const ParallelChange& one) {
                       return std::tuple(!one.reason.empty(), !one.fits, one.time_s.value_or(0));
                     };
                     return place(a) < place(b);
                   });
  return changes;
}

}  // namespace strata
