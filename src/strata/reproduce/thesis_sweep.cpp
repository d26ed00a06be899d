// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_sweep.hpp"

#include "strata/graph/operator_names.hpp"
#include "strata/reproduce/run_tasks.hpp"
#include "strata/training/reuse_frequency.hpp"

#include <algorithm>
#include <iterator>

namespace strata {
namespace {

constexpr std::int64_t first_mb = 24;
constexpr std::int64_t last_mb = 1000;
constexpr std::size_t long_program = 5000;  // steps: from here on a coarser grid

constexpr std::int64_t break_down_mb[] = {24, 64, 128, 256, 400};
constexpr std::int64_t batch_capacities_mb[] = {24, 400};
constexpr std::int64_t batches[] = {4, 8, 16, 32, 64, 128, 256};

using Tasks = std::vector<std::function<void()>>;

ThesisTotals totals_of(const Prediction& prediction) {
  return {.time_s = prediction.time_s,
          .in_bytes = prediction.in_bytes,
          .out_bytes = prediction.out_bytes};
}

/// What stays on chip does not depend on rates nor on when it is loaded: one decision serves all
/// points of a capacity.
ThesisTotals with(const ThesisNetwork& network, const Decision& decision,
                  const ThesisPoint& point) {
  Decision changed = decision;
  changed.hardware = point.hardware();
  changed.options = effective_options(point.options());
  return totals_of(simulate(network.list(), changed, Record::totals));
}

Decision decided(const ThesisNetwork& network, const ThesisPoint& point) {
  return decide(network.list(), point.hardware(), point.options());
}

CapacityPoint capacity_point(const ThesisNetwork& network, std::int64_t mb) {
  const ThesisPoint base{.capacity_mib = mb};
  const Decision decision = decided(network, base);
  return {.capacity_mib = mb,
          .base = with(network, decision, base),
          .faster_compute =
              with(network, decision, {.capacity_mib = mb, .flop_per_s = faster_flop_per_s}),
          .faster_memory =
              with(network, decision, {.capacity_mib = mb, .bytes_per_s = hbm_bytes_per_s})};
}

PolicyPoint policy_point(const ThesisNetwork& network, std::int64_t mb) {
  const Decision decision = decided(network, {.capacity_mib = mb});
  const auto prefetched = [&](Prefetch prefetch) {
    return with(network, decision, {.capacity_mib = mb, .prefetch = prefetch});
  };
  return {.capacity_mib = mb,
          .no_prefetch = prefetched(Prefetch::none),
          .naive_prefetch = prefetched(Prefetch::next_layer),
          .listing_prefetch = prefetched(Prefetch::listing),
          .printed_prefetch = prefetched(Prefetch::listing_printed),
          .soonest_prefetch = prefetched(Prefetch::soonest),
          .look_ahead_offload = with(network, decision, {.capacity_mib = mb}),
          .on_demand_offload =
              totals_of(network.at({.capacity_mib = mb, .offload = Offload::on_demand}))};
}

/// By class first, so that the kinds of type II are what the table calls type II.
std::size_t kind_of(const Program& program, const Step& step) {
  if (step.layer_class == LayerClass::other) return 9;
  const std::string_view op =
      step.node == no_node ? "" : name_of(program.bound->graph->nodes[step.node].op);
  const auto is = [&](std::initializer_list<std::string_view> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  const bool is_recurrent = is({"lstm"}) && !step.is_gradient_sum;
  if (step.layer_class == LayerClass::dense) {
    if (is_recurrent) return 2;
    return is({"convolution"}) ? 0 : 1;
  }
  if (is_recurrent) return 3;
  if (step.is_gradient_sum || is({"add"})) return 6;
  if (is({"batch_norm", "layer_norm"})) return 4;
  if (is({"relu", "relu6", "tanh", "sigmoid", "softmax"})) return 5;
  return is({"dropout"}) ? 7 : 8;
}

/// A step has the time from the end of the one before it.
BreakDown break_down(const ThesisNetwork& network, std::int64_t mb) {
  const Program& program = network.program();
  const Prediction prediction = network.at({.capacity_mib = mb}, Record::steps);
  BreakDown result{.capacity_mib = mb,
                   .time_s = prediction.time_s,
                   .kind_s = std::vector<double>(std::size(layer_kinds))};
  double before_s = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const double end_s = prediction.steps[step].end_s;
    result.kind_s[kind_of(program, program.steps[step])] += end_s - before_s;
    before_s = end_s;
  }
  result.kind_s.back() += prediction.drain_s;  // what is written back after the last step
  return result;
}

std::vector<LayerPoint> layer_points(const ThesisNetwork& network) {
  const Program& program = network.program();
  std::vector<LayerPoint> points;
  for (const StepReuse& reuse : reuse_frequencies(program, CountMac::as_one)) {
    const Step& step = program.steps[reuse.step];
    if (step.pass != Pass::forward) continue;
    points.push_back({.layer = name_of(program, reuse.step),
                      .layer_class = step.layer_class,
                      .operations = reuse.operations,
                      .bytes = reuse.bytes});
  }
  return points;
}

/// Makes room for every result first, then one task for each, which writes there.
void add_tasks(const ThesisNetwork& network, const ThesisGrid& grid, NetworkResults& results,
               Tasks& tasks) {
  const bool is_long = network.program().steps.size() > long_program;
  const std::int64_t step_mb = is_long ? grid.long_step_mb : grid.step_mb;
  for (const StepNeed& need : network.list().needs) {
    results.whole_bytes = std::max(results.whole_bytes, need.all_bytes);
  }
  results.layers = layer_points(network);
  results.capacities.resize(static_cast<std::size_t>((last_mb - first_mb) / step_mb + 1));
  results.policies.resize(static_cast<std::size_t>((last_mb - first_mb) / (4 * step_mb) + 1));
  results.break_downs.resize(std::size(break_down_mb));
  results.batches.resize(std::size(batches) * std::size(batch_capacities_mb));
  for (std::size_t i = 0; i < results.capacities.size(); ++i) {
    const std::int64_t mb = first_mb + static_cast<std::int64_t>(i) * step_mb;
    CapacityPoint& place = results.capacities[i];
    tasks.emplace_back([&network, &place, mb] { place = capacity_point(network, mb); });
  }
  for (std::size_t i = 0; i < results.policies.size(); ++i) {
    const std::int64_t mb = first_mb + static_cast<std::int64_t>(i) * 4 * step_mb;
    PolicyPoint& place = results.policies[i];
    tasks.emplace_back([&network, &place, mb] { place = policy_point(network, mb); });
  }
  for (std::size_t i = 0; i < results.break_downs.size(); ++i) {
    BreakDown& place = results.break_downs[i];
    tasks.emplace_back([&network, &place, i] { place = break_down(network, break_down_mb[i]); });
  }
  for (std::size_t i = 0; i < std::size(batches); ++i) {
    tasks.emplace_back([&results, i] {
      const ThesisNetwork other(results.network.model, batches[i]);
      for (std::size_t k = 0; k < std::size(batch_capacities_mb); ++k) {
        const std::int64_t mb = batch_capacities_mb[k];
        results.batches[i + k * std::size(batches)] = {
            .batch = batches[i],
            .capacity_mib = mb,
            .time_s = other.at({.capacity_mib = mb}).time_s};
      }
    });
  }
}

}  // namespace

std::vector<NetworkResults> thesis_results(const ThesisGrid& grid,
                                           const std::function<void(double)>& progress) {
  std::vector<ThesisNetwork> networks;
  for (const NamedNetwork& network : thesis_networks) networks.emplace_back(network.model);
  std::vector<NetworkResults> results(networks.size());
  Tasks tasks;
  for (std::size_t i = networks.size(); i-- > 0;) {  // the longest last of the list goes first
    results[i].network = thesis_networks[i];
    add_tasks(networks[i], grid, results[i], tasks);
  }
  run_tasks(tasks, progress);
  return results;
}

}  // namespace strata
