// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/rank_costs.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/expected/allocated_memory.hpp"
#include "strata/predict/expected/expected.hpp"
#include "strata/predict/expected/host_pipeline.hpp"
#include "strata/predict/expected/kernel_list.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

namespace strata {
namespace {

bool is_of_weights(OperationClass kernel_class) {
  const std::string_view name = name_of(kernel_class);
  return name.ends_with(".backward_weight") || name == "column_sum";
}

TrainingOptions training_of(const RankEngine& engine, const Strategy& strategy) {
  TrainingOptions training = engine.training;
  training.unroll_recurrent = false;
  training.micro_batches = 1;
  training.recompute =
      strategy.recompute == RankRecompute::full ? Recompute::blocks : Recompute::none;
  return training;
}

/// One micro-batch as a framework runs it: its calls in order.
struct MicroBatch {
  BoundGraph bound;
  Program program;
  FrameworkOperations operations;
  std::vector<KernelTime> kernels;
  HostPipeline pipeline;
  ActivationMemory memory;

  MicroBatch(const Graph& graph, const Binding& binding, const TrainingOptions& training,
             const RankEngine& engine)
      : bound(bind_graph(graph, binding, engine.dtype)),
        program(make_program(bound, training)),
        operations(operations_of(program, *engine.framework, engine.options, training.optimizer)),
        kernels(KernelList(operations, *engine.times).times_on(*engine.times)),
        pipeline(operations, kernels, engine.options.autocast.has_value(),
                 engine.framework->iteration_calls, *engine.calibration),
        memory(activation_memory(program, *engine.framework, engine.options,
                                 operations.never_stored)) {}
  MicroBatch(const MicroBatch&) = delete;
  MicroBatch& operator=(const MicroBatch&) = delete;
};

/// Every size as before, with a share of the sequence.
Binding share_of_sequence(const SplitGraph& split, const BoundGraph& bound, std::int64_t ranks) {
  const auto seq = bound.binding.find("seq");
  if (seq == bound.binding.end() || seq->second % ranks != 0)
    fail(ErrorKind::unsupported, "sp=yes: {} needs a sequence length that tp={} divides{}",
         split.graph.name, ranks, seq == bound.binding.end() ? ", and its length is fixed" : "");
  Binding shorter = bound.binding;
  shorter["seq"] = seq->second / ranks;
  return shorter;
}

/// Adds up the costs of units.
class CostSheet {
 public:
  CostSheet(const SplitGraph& split, const Strategy& strategy, const Cluster& cluster,
            const MicroBatch& whole, const MicroBatch* shorter)
      : split_(split),
        strategy_(strategy),
        cluster_(cluster),
        whole_(whole),
        shorter_(shorter),
        units_(find_units(whole.program)) {
    result_.units.resize(std::max<std::size_t>(units_.units.size(), 1));
    for (const Unit& unit : units_.units) result_.names.push_back(unit.name);
    for (std::size_t i = 0; i < split.collectives.size(); ++i)
      of_node_[split.collectives[i].node].push_back(i);
  }

  RankCosts take() && {
    add_times();
    add_weights();
    add_activations();
    result_.start_s = whole_.pipeline.start_s();
    return std::move(result_);
  }

 private:
  std::size_t unit_of(StepId id) const {
    const NodeId node = whole_.program.steps[id].node;
    return node == no_node ? result_.units.size() - 1 : units_.of_node[node];
  }
  /// Norms, dropout and sums outside the split products have a share of the sequence.
  bool has_share_of_sequence(NodeId node) const {
    return shorter_ != nullptr && node != no_node && !split_.is_split[node];
  }

  void add_times() {
    const FrameworkOperations& operations = whole_.operations;
    StepId next = 0;  // whose collectives are still to come
    for (std::size_t call = 0; call < operations.calls.size(); ++call) {
      if (operations.calls[call].is_update) continue;
      const StepId id = operations.calls[call].step;
      for (; next < id; ++next) add_collectives(next);
      add_call(id, call);
    }
    for (; next < whole_.program.steps.size(); ++next) add_collectives(next);
  }

  void add_call(StepId id, std::size_t call) {
    const Step& step = whole_.program.steps[id];
    const MicroBatch& from = has_share_of_sequence(step.node) ? *shorter_ : whole_;
    const double busy_s = from.pipeline.busy_s(call);
    const Section section = Section::call(from.pipeline.host_s(call), busy_s);
    UnitCost& unit = result_.units[unit_of(id)];
    const bool is_forward = step.pass == Pass::forward && !step.is_recomputed;
    (is_forward ? unit.forward : unit.backward) =
        (is_forward ? unit.forward : unit.backward).then(section);
    if (step.is_recomputed) unit.recompute_s += busy_s;
    if (is_forward && recomputes(step.node)) {
      unit.backward = section.then(unit.backward);
      unit.recompute_s += busy_s;
    }
    if (step.pass == Pass::forward) return;
    const std::size_t end = call + 1 < from.operations.calls.size()
                                ? from.operations.calls[call + 1].first
                                : from.kernels.size();
    for (std::size_t i = from.operations.calls[call].first; i < end; ++i) {
      if (is_of_weights(from.operations.operations[i].kernel_class))
        unit.weight_gradients_s += from.kernels[i].busy_s;
    }
  }

  /// Selective recomputation: attention whose scores would be kept.
  bool recomputes(NodeId node) const {
    return strategy_.recompute == RankRecompute::selective && node != no_node &&
           whole_.memory.scores_by_node[node] > 0;
  }

  void add_collectives(StepId id) {
    const Step& step = whole_.program.steps[id];
    if (step.node == no_node || step.pass == Pass::update || step.is_gradient_sum) return;
    const auto found = of_node_.find(step.node);
    if (found == of_node_.end()) return;
    UnitCost& unit = result_.units[unit_of(id)];
    for (const std::size_t i : found->second) {
      const NodeCollective& collective = split_.collectives[i];
      if (collective.is_backward != (step.pass != Pass::forward)) continue;
      const double bytes =
          static_cast<double>(whole_.bound.tensors[collective.tensor].bytes) * collective.share;
      const TensorTraffic traffic = traffic_of(bytes);
      const bool is_forward = step.pass == Pass::forward && !step.is_recomputed;
      Section& section = is_forward ? unit.forward : unit.backward;
      section = section.then(Section::call(collective_dispatch_s, traffic.time_s));
      (is_forward ? unit.forward_traffic : unit.backward_traffic) += traffic;
    }
  }

  TensorTraffic traffic_of(double bytes) const {
    const RankGroup group = strategy_.tensor_group();
    if (!strategy_.sequence_parallel)
      return {collective_time_s(cluster_, group, CollectiveKind::all_reduce, bytes),
              sent_bytes(CollectiveKind::all_reduce, group.size, bytes)};
    return {collective_time_s(cluster_, group, CollectiveKind::reduce_scatter, bytes) +
                collective_time_s(cluster_, group, CollectiveKind::all_gather, bytes),
            2 * sent_bytes(CollectiveKind::all_gather, group.size, bytes)};
  }

  /// A weight belongs to the first unit that reads it; others that read it share it.
  void add_weights() {
    const Graph& graph = split_.graph;
    std::vector<std::size_t> unit(graph.tensors.size(), ~std::size_t{0});
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (const TensorId input : graph.nodes[id].inputs) {
        if (graph.tensors[input].kind != TensorKind::parameter) continue;
        const std::size_t reader = units_.of_node[id];
        if (unit[input] == ~std::size_t{0}) {
          unit[input] = reader;
        } else if (unit[input] != reader) {
          result_.shared.push_back({unit[input], reader, whole_.bound.tensors[input].bytes});
        }
      }
    }
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (unit[id] == ~std::size_t{0}) continue;
      const BoundTensor& tensor = whole_.bound.tensors[id];
      UnitCost& cost = result_.units[unit[id]];
      cost.weight_bytes += tensor.bytes;
      if (!tensor.wants_gradient) continue;
      cost.gradient_bytes += tensor.bytes;
      cost.parameters += tensor.elements;
      ++cost.tensors;
    }
    for (const Value& value : whole_.program.values) {
      const bool is_of_unit = unit[value.tensor] != ~std::size_t{0};
      if (value.kind == ValueKind::state && is_of_unit)
        result_.units[unit[value.tensor]].state_bytes += value.bytes;
      else if (value.is_given && !is_of_unit)
        result_.other_bytes += value.bytes;
    }
  }

  void add_activations() {
    std::int64_t saved = 0;
    const auto of = [&](NodeId node) {
      const MicroBatch& from = has_share_of_sequence(node) ? *shorter_ : whole_;
      const bool drops = strategy_.recompute == RankRecompute::selective;
      return from.memory.saved_by_node[node] - (drops ? from.memory.scores_by_node[node] : 0);
    };
    for (NodeId node = 0; node < split_.graph.nodes.size(); ++node) {
      result_.units[units_.of_node[node]].saved_bytes += of(node);
      saved += whole_.memory.saved_by_node[node];
      result_.keeps_scores |= whole_.memory.scores_by_node[node] > 0;
    }
    result_.units.back().saved_bytes += whole_.memory.saved_by_loss;
    saved += whole_.memory.saved_by_loss;
    result_.working_bytes = std::max<std::int64_t>(0, whole_.memory.peak_bytes - saved);
    for (std::size_t i = 0; i < units_.units.size(); ++i) {
      if (units_.units[i].has_output)
        result_.units[i].boundary_bytes = whole_.bound.tensors[units_.units[i].output].bytes;
    }
  }

  const SplitGraph& split_;
  const Strategy& strategy_;
  const Cluster& cluster_;
  const MicroBatch& whole_;
  const MicroBatch* shorter_;
  UnitList units_;
  std::map<NodeId, std::vector<std::size_t>> of_node_;  // its collectives
  RankCosts result_;
};

}  // namespace

RankCosts rank_costs(const SplitGraph& split, const Binding& binding, const Strategy& strategy,
                     const Cluster& cluster, const RankEngine& engine) {
  const TrainingOptions training = training_of(engine, strategy);
  const MicroBatch whole(split.graph, binding, training, engine);
  std::unique_ptr<const MicroBatch> shorter;
  if (strategy.sequence_parallel) {
    shorter = std::make_unique<const MicroBatch>(
        split.graph, share_of_sequence(split, whole.bound, strategy.tensor), training, engine);
    STRATA_CHECK(shorter->operations.calls.size() == whole.operations.calls.size(),
                 "a shorter sequence takes the same calls");
  }
  RankCosts costs = CostSheet(split, strategy, cluster, whole, shorter.get()).take();
  const KernelList list(whole.operations, *engine.times);
  const ExpectedTotals totals = expected_totals(*engine.framework, whole.operations, list,
                                                engine.options, *engine.calibration, *engine.times);
  costs.waits_at_steps = engine.framework->waits_at_steps;
  costs.low = totals.low_s / totals.time_s;
  costs.high = totals.high_s / totals.time_s;
  costs.peak_bytes = allocated_memory_bytes(whole.program, *engine.framework, engine.options,
                                            whole.operations.never_stored);
  return costs;
}

Section update_section(const RankEngine& engine, std::int64_t tensors, double parameters) {
  if (tensors == 0 || parameters <= 0 || engine.training.optimizer == Optimizer::none) return {};
  FrameworkOperations update;
  update.operations.push_back(
      {.kernel_class = update_class(*engine.framework, engine.training.optimizer),
       .precision = DType::fp32,
       .dims = {static_cast<double>(tensors), parameters}});
  update.calls.push_back({.tensors = tensors, .is_update = true});
  const std::vector<KernelTime> times = {engine.times->time(update.operations[0])};
  const HostPipeline pipeline(update, times, false, 0, *engine.calibration);
  return Section::call(pipeline.host_s(0), pipeline.busy_s(0));
}

}  // namespace strata
