// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/search.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace strata {
namespace {

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    all.push_back(i);
    if (i != number / i) all.push_back(number / i);
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Adds every way to pipeline, split states and recompute, with the ranks given.
void add_variants(std::vector<Strategy>& all, const Strategy& ranks, const Cluster& cluster,
                  std::int64_t samples, const SearchSpace& space) {
  std::vector recomputes = {RankRecompute::none};
  if (space.has_recompute_choice) recomputes.push_back(RankRecompute::full);
  if (space.has_recompute_choice && space.has_selective)
    recomputes.push_back(RankRecompute::selective);
  for (const std::int64_t micro_batches : divisors(samples / ranks.data)) {
    Strategy strategy = ranks;
    strategy.micro_batches = micro_batches;
    for (std::int64_t chunks = 1; chunks <= space.most_chunks; chunks *= 2) {
      strategy.chunks = chunks;
      strategy.schedule =
          chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
      for (std::int64_t zero = 0; zero <= 3; ++zero) {
        strategy.zero = zero;
        for (const RankRecompute recompute : recomputes) {
          strategy.recompute = recompute;
          for (const bool is_split : {false, true}) {
            strategy.sequence_parallel = is_split;
            if (reason_against(strategy, cluster, samples).empty()) all.push_back(strategy);
          }
        }
      }
    }
  }
}

std::vector<std::int64_t> expert_choices(std::int64_t experts, std::int64_t ranks) {
  std::vector<std::int64_t> choices = divisors(std::gcd(experts, experts > 0 ? ranks : 1));
  constexpr std::size_t most_spread = 3;
  if (choices.size() > most_spread + 1)
    choices.erase(choices.begin() + 1, choices.end() - most_spread);
  return choices;
}

StrategyOutcome outcome_of(StrategyPlanner& planner, const Strategy& strategy,
                           std::int64_t device_memory_bytes) {
  StrategyOutcome outcome;
  outcome.strategy = strategy;
  for (const RankMemory& memory : planner.memory_of(strategy))
    outcome.memory_bytes = std::max(outcome.memory_bytes, memory.total_bytes());
  outcome.fits = outcome.memory_bytes <= device_memory_bytes;
  if (!outcome.fits) return outcome;
  const StrategyTime time = planner.time_of(strategy);
  outcome.time_s = time.time_s;
  outcome.parts = time.iteration.mean();
  return outcome;
}

void order_outcomes(StrategySearch& search) {
  std::stable_sort(search.outcomes.begin(), search.outcomes.end(),
                   [](const StrategyOutcome& a, const StrategyOutcome& b) {
                     if (a.fits != b.fits) return a.fits;
                     return a.fits ? a.time_s < b.time_s : a.memory_bytes < b.memory_bytes;
                   });
  std::int64_t least = 0;
  for (std::size_t i = 0; i < search.outcomes.size() && search.outcomes[i].fits; ++i) {
    if (!search.pareto.empty() && search.outcomes[i].memory_bytes >= least) continue;
    least = search.outcomes[i].memory_bytes;
    search.pareto.push_back(i);
  }
}

/// Passes of stages to simulate for a strategy, at most: the pipeline fills, comes to a period and
/// empties (pipeline_run.hpp).
double passes_of(const Strategy& strategy) {
  const std::int64_t chunks = strategy.pipeline * strategy.chunks;
  const std::int64_t round = strategy.chunks > 1 ? strategy.pipeline : 1;
  const std::int64_t simulated = 2 * strategy.pipeline + 16 * round;
  return 2 * static_cast<double>(std::min(strategy.micro_batches, simulated) * chunks);
}

/// Leaves out the strategies with most chunks of layers where all of them would take too long, and
/// says so.
void leave_out_long_pipelines(std::vector<Strategy>& all, double most_passes,
                              std::set<std::string>& reasons) {
  std::map<std::int64_t, double> passes;  // by chunks
  for (const Strategy& strategy : all)
    passes[strategy.pipeline * strategy.chunks] += passes_of(strategy);
  double sum = 0;
  std::int64_t most_chunks = passes.empty() ? 1 : passes.begin()->first;
  for (const auto& [chunks, of_chunks] : passes) {
    sum += of_chunks;
    if (sum > most_passes) break;
    most_chunks = std::max(most_chunks, chunks);
  }
  const std::size_t left_out = std::erase_if(all, [&](const Strategy& strategy) {
    return strategy.pipeline * strategy.chunks > most_chunks;
  });
  if (left_out == 0) return;
  reasons.insert(fmt::format(
      "pp x v of more than {}: {} strategies are left out, which would take a minute to "
      "simulate; --parallel takes one by its name",
      most_chunks, left_out));
}

}  // namespace

const StrategyOutcome* StrategySearch::best() const {
  return outcomes.empty() || !outcomes.front().fits ? nullptr : &outcomes.front();
}

NetworkChoices choices_of(const StrategyPlanner& planner, const SearchSpace& space) {
  return {.context = planner.context_choices(space.least_positions), .experts = planner.experts()};
}

std::vector<Strategy> legal_strategies(const Cluster& cluster, std::int64_t samples,
                                       const SearchSpace& space, const NetworkChoices& network) {
  std::vector<Strategy> all;
  for (const std::int64_t tensor : divisors(cluster.devices())) {
    for (const std::int64_t pipeline : divisors(cluster.devices() / tensor)) {
      const std::int64_t rest = cluster.devices() / tensor / pipeline;
      for (const std::int64_t context : network.context) {
        if (rest % context != 0 || samples % (rest / context) != 0) continue;
        Strategy ranks;
        ranks.tensor = tensor;
        ranks.context = context;
        ranks.pipeline = pipeline;
        ranks.data = rest / context;
        for (const std::int64_t expert : expert_choices(network.experts, ranks.weight_ranks())) {
          ranks.expert = expert;
          for (const ContextExchange exchange :
               {ContextExchange::ring, ContextExchange::all_to_all}) {
            ranks.exchange = exchange;
            add_variants(all, ranks, cluster, samples, space);
          }
        }
      }
    }
  }
  return all;
}

StrategySearch search_strategies(StrategyPlanner& planner, const Cluster& cluster,
                                 std::int64_t device_memory_bytes, const SearchSpace& space,
                                 const SearchProgress& progress) {
  SearchSpace wanted = space;
  wanted.has_selective &= planner.keeps_scores();
  std::vector<Strategy> all =
      legal_strategies(cluster, planner.samples(), wanted, choices_of(planner, space));
  StrategySearch search;
  std::set<std::string> reasons;
  leave_out_long_pipelines(all, space.most_passes, reasons);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (progress) progress(i, all.size());
    try {
      search.outcomes.push_back(outcome_of(planner, all[i], device_memory_bytes));
    } catch (const Error& error) {  // heads that do not divide, too few layers
      if (error.kind() != ErrorKind::unsupported) throw;
      reasons.insert(error.what());
    }
  }
  search.refused.assign(reasons.begin(), reasons.end());
  order_outcomes(search);
  return search;
}

std::string reason_for_none(StrategyPlanner& planner, const Cluster& cluster) {
  const std::int64_t devices = cluster.devices(), samples = planner.samples();
  Strategy alone;
  alone.micro_batches = samples;
  const auto stages = static_cast<std::int64_t>(planner.costs_of(alone).units.size());
  Strategy least;
  least.data = devices;
  for (const std::int64_t tensor : divisors(devices)) {
    try {
      planner.split_of(tensor);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      continue;
    }
    for (const std::int64_t pipeline : divisors(devices / tensor)) {
      const std::int64_t data = devices / tensor / pipeline;
      if (pipeline > stages || data >= least.data) continue;
      least.data = data;
      least.tensor = tensor;
      least.pipeline = pipeline;
    }
  }
  const std::int64_t batch = (samples + least.data - 1) / least.data * least.data;
  return fmt::format(
      "no strategy splits the network over {} devices with a batch of {}: with as much tp and pp "
      "as "
      "it has layers for, dp is at least {}, and dp must divide the batch; --batch {} goes with "
      "dp={},tp={},pp={}",
      devices, samples, least.data, batch, least.data, least.tensor, least.pipeline);
}

std::string why_slower(const StrategyOutcome& slower, const StrategyOutcome& than) {
  std::size_t most = 0;
  double growth = 0;
  for (std::size_t i = 0; i < rank_time_names.size(); ++i) {
    const double more = slower.parts.*rank_time_parts[i] - than.parts.*rank_time_parts[i];
    if (more <= growth) continue;
    growth = more;
    most = i;
  }
  return growth > 0 ? fmt::format("{} +{}", rank_time_names[most], format_time(growth))
                    : std::string();
}

}  // namespace strata
