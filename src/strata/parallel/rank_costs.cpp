// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/rank_costs.hpp"

#include "strata/base/error.hpp"
#include "strata/parallel/exchanges.hpp"
#include "strata/parallel/rank_views.hpp"
#include "strata/predict/expected/allocated_memory.hpp"
#include "strata/predict/expected/expected.hpp"
#include "strata/predict/expected/host_pipeline.hpp"
#include "strata/predict/expected/kernel_list.hpp"

#include <algorithm>
#include <array>
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
                                 operations.never_stored)) {
    add_scratch(memory.at_steps, operations, kernels);
  }
  MicroBatch(const MicroBatch&) = delete;
  MicroBatch& operator=(const MicroBatch&) = delete;
};

/// Of queries, keys, values and the result.
using AttentionBytes = std::array<double, 4>;

using MicroBatches = std::vector<std::unique_ptr<const MicroBatch>>;

/// Adds up the costs of units.
class CostSheet {
 public:
  CostSheet(const SplitGraph& split, const Strategy& strategy, const Cluster& cluster,
            const RankViews& views, const MicroBatches& runs, const RepeatedBlock& repeated)
      : split_(split),
        repeated_(repeated),
        strategy_(strategy),
        cluster_(cluster),
        views_(views),
        runs_(runs),
        whole_(*runs[0]),
        units_(find_units(whole_.program)),
        busy_s_(whole_.program.steps.size(), 0) {
    result_.units.resize(units_.units.size());
    for (const Unit& unit : units_.units) result_.names.push_back(unit.name);
    for (std::size_t i = 0; i < split.collectives.size(); ++i)
      of_node_[split.collectives[i].node].push_back(i);
    list_exchanges();
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
  const MicroBatch& run_of(NodeId node) const { return *runs_[views_.of(node).run]; }
  Section& section_of(const Step& step, UnitCost& unit) const {
    return step.pass == Pass::forward && !step.is_recomputed ? unit.forward : unit.backward;
  }
  LayerTraffic& traffic_of(const Step& step, UnitCost& unit) const {
    return step.pass == Pass::forward && !step.is_recomputed ? unit.forward_traffic
                                                             : unit.backward_traffic;
  }

  void add_times() {
    const FrameworkOperations& operations = whole_.operations;
    StepId next = 0;  // whose collectives are still to come
    for (std::size_t call = 0; call < operations.calls.size(); ++call) {
      if (operations.calls[call].is_update) continue;
      const StepId id = operations.calls[call].step;
      for (; next < id; ++next) add_links(next);
      add_call(id, call);
    }
    for (; next < whole_.program.steps.size(); ++next) add_links(next);
  }

  void add_call(StepId id, std::size_t call) {
    const Step& step = whole_.program.steps[id];
    const NodeView& view = views_.of(step.node);
    if (view.is_absent) return;
    const MicroBatch& from = *runs_[view.run];
    const double busy_s = from.pipeline.busy_s(call) * view.share;
    const Section section =
        Section::call(from.pipeline.host_s(call) * static_cast<double>(view.parts), busy_s);
    busy_s_[id] += busy_s;
    UnitCost& unit = result_.units[unit_of(id)];
    section_of(step, unit) = section_of(step, unit).then(section);
    if (step.is_recomputed) unit.recompute_s += busy_s;
    if (step.pass == Pass::forward && !step.is_recomputed && recomputes(step.node)) {
      unit.backward = section.then(unit.backward);
      unit.recompute_s += busy_s;
    }
    if (step.pass == Pass::forward) return;
    const std::size_t end = call + 1 < from.operations.calls.size()
                                ? from.operations.calls[call + 1].first
                                : from.kernels.size();
    for (std::size_t i = from.operations.calls[call].first; i < end; ++i) {
      if (is_of_weights(from.operations.operations[i].kernel_class))
        unit.weight_gradients_s += from.kernels[i].busy_s * view.share;
    }
  }

  /// Selective recomputation: attention whose scores would be kept.
  bool recomputes(NodeId node) const {
    return strategy_.recompute == RankRecompute::selective && node != no_node &&
           whole_.memory.scores_by_node[node] > 0;
  }

  /// What the ranks exchange after a step.
  void add_links(StepId id) {
    const Step& step = whole_.program.steps[id];
    if (step.node == no_node || step.pass == Pass::update || step.is_gradient_sum) return;
    if (views_.of(step.node).is_absent || step.pass == Pass::backward_weight) return;
    const bool is_backward = step.pass != Pass::forward;
    if (const auto found = of_node_.find(step.node); found != of_node_.end()) {
      for (const std::size_t i : found->second) {
        if (split_.collectives[i].is_backward == is_backward)
          add_link(id, &LayerTraffic::tensor, tensor_use(split_.collectives[i]));
      }
    }
    if (const auto found = attention_bytes_.find(step.node); found != attention_bytes_.end())
      add_link(id, &LayerTraffic::context, attention_use(found->second, busy_s_[id], is_backward));
    if (const auto found = expert_bytes_.find(step.node); found != expert_bytes_.end())
      add_link(id, &LayerTraffic::experts, expert_exchange(cluster_, strategy_, found->second));
  }

  void add_link(StepId id, LinkUse LayerTraffic::*purpose, const LinkUse& use) {
    const Step& step = whole_.program.steps[id];
    UnitCost& unit = result_.units[unit_of(id)];
    const auto calls = static_cast<double>(purpose != &LayerTraffic::context ? 1
                                           : has_rings()                     ? strategy_.context - 1
                                                                             : 4);
    const Section section = Section::call(calls * collective_dispatch_s, use.time_s);
    section_of(step, unit) = section_of(step, unit).then(section);
    traffic_of(step, unit).*purpose += use;
    // Attention that is done again needs the keys and values of others again; of its own heads a
    // rank has kept them.
    const bool is_again = purpose == &LayerTraffic::context && has_rings() &&
                          step.pass == Pass::forward && !step.is_recomputed &&
                          recomputes(step.node);
    if (!is_again) return;
    unit.backward = section.then(unit.backward);
    unit.backward_traffic.*purpose += use;
  }

  bool has_rings() const { return strategy_.exchange == ContextExchange::ring; }

  LinkUse attention_use(const AttentionBytes& bytes, double busy_s, bool is_backward) const {
    return has_rings()
               ? ring_exchange(cluster_, strategy_, bytes[1] + bytes[2], busy_s, is_backward)
               : head_exchange(cluster_, strategy_, bytes);
  }

  LinkUse tensor_use(const NodeCollective& collective) const {
    const BoundTensor& tensor = run_of(collective.node).bound.tensors[collective.tensor];
    const double bytes = static_cast<double>(tensor.bytes) * collective.share;
    const RankGroup group = strategy_.tensor_group();
    if (!strategy_.sequence_parallel)
      return {collective_time_s(cluster_, group, CollectiveKind::all_reduce, bytes),
              sent_bytes(CollectiveKind::all_reduce, group.size, bytes)};
    return {collective_time_s(cluster_, group, CollectiveKind::reduce_scatter, bytes) +
                collective_time_s(cluster_, group, CollectiveKind::all_gather, bytes),
            2 * sent_bytes(CollectiveKind::all_gather, group.size, bytes)};
  }

  /// What attention reads and makes, for the whole sequence; words that go to experts, of all of
  /// them. They lie twice in memory while they come and go; those of a ring with their gradients.
  void list_exchanges() {
    const auto bytes_of = [&](NodeId of, TensorId tensor) {
      return static_cast<double>(run_of(of).bound.tensors[tensor].bytes);
    };
    double most = 0;
    for (const NodeId id : views_.attention) {
      const Node& node = split_.graph.nodes[id];
      const AttentionBytes bytes = {bytes_of(id, node.inputs[0]), bytes_of(id, node.inputs[1]),
                                    bytes_of(id, node.inputs[2]), bytes_of(id, node.outputs[0])};
      attention_bytes_[id] = bytes;
      const double moved =
          has_rings() ? 4 * (bytes[1] + bytes[2]) : 2 * (bytes[0] + bytes[1] + bytes[2]);
      most = std::max(most, moved / static_cast<double>(strategy_.context));
    }
    for (const ExpertLayer& layer : views_.experts.layers) {
      const auto kept = static_cast<std::size_t>(layer.count / strategy_.expert);
      for (const NodeId id : {layer.takes[0], layer.gives[kept - 1]}) {
        const TensorId result = split_.graph.nodes[id].outputs[0];
        // Of the rank's own words every expert has as many.
        expert_bytes_[id] = static_cast<double>(whole_.bound.tensors[result].bytes) *
                            static_cast<double>(layer.count);
        most = std::max(most, 2 * expert_bytes_[id]);
      }
    }
    result_.exchange_bytes = static_cast<std::int64_t>(most);
  }

  /// A weight belongs to the first unit that reads it; others that read it share it. Those of
  /// experts on other ranks belong to none.
  void add_weights() {
    const Graph& graph = split_.graph;
    constexpr std::size_t nowhere = ~std::size_t{0}, elsewhere = nowhere - 1;
    std::vector<std::size_t> unit(graph.tensors.size(), nowhere);
    std::vector<bool> is_of_expert(graph.tensors.size(), false);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      for (const TensorId input : graph.nodes[id].inputs) {
        if (graph.tensors[input].kind != TensorKind::parameter) continue;
        const std::size_t reader = units_.of_node[id];
        if (views_.of(id).is_absent) {
          if (unit[input] == nowhere) unit[input] = elsewhere;
        } else if (unit[input] >= elsewhere) {
          unit[input] = reader;
          is_of_expert[input] =
              !views_.experts.places.empty() && views_.experts.places[id].is_expert();
        } else if (unit[input] != reader) {
          result_.shared.push_back({unit[input], reader, whole_.bound.tensors[input].bytes});
        }
      }
    }
    std::vector<std::int64_t> state_bytes(graph.tensors.size(), 0);
    std::vector<bool> is_of_unit(graph.tensors.size());
    for (TensorId id = 0; id < graph.tensors.size(); ++id) is_of_unit[id] = unit[id] != nowhere;
    for (const Value& value : whole_.program.values) {
      if (value.kind == ValueKind::state) state_bytes[value.tensor] += value.bytes;
    }
    result_.other_bytes = other_given_bytes(whole_.program, units_, is_of_unit, repeated_);
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (unit[id] >= elsewhere) continue;
      const BoundTensor& tensor = whole_.bound.tensors[id];
      WeightCost cost;
      cost.weight_bytes = tensor.bytes;
      cost.state_bytes = state_bytes[id];
      if (tensor.wants_gradient) {
        cost.gradient_bytes = tensor.bytes;
        cost.parameters = tensor.elements;
        cost.tensors = 1;
      }
      UnitCost& of = result_.units[unit[id]];
      of.add(cost);
      if (is_of_expert[id]) of.experts += cost;
    }
  }

  std::int64_t working_bytes_of(const MicroBatch& run) const {
    return working_bytes(run.program, units_, run.memory, repeated_);
  }

  void add_activations() {
    const auto of = [&](NodeId node) {
      const NodeView& view = views_.of(node);
      if (view.is_absent) return std::int64_t{0};
      const ActivationMemory& memory = runs_[view.run]->memory;
      const bool drops = strategy_.recompute == RankRecompute::selective;
      const std::int64_t bytes =
          memory.saved_by_node[node] - (drops ? memory.scores_by_node[node] : 0);
      return view.share == 1 ? bytes
                             : static_cast<std::int64_t>(static_cast<double>(bytes) * view.share);
    };
    for (NodeId node = 0; node < split_.graph.nodes.size(); ++node) {
      result_.units[units_.of_node[node]].saved_bytes += of(node);
      result_.keeps_scores |= whole_.memory.scores_by_node[node] > 0;
    }
    result_.units.back().saved_bytes += whole_.memory.saved_by_loss;
    result_.working_bytes = working_bytes_of(whole_);
    if (!views_.attention.empty())  // scores that are written out are of all keys
      result_.working_bytes = std::max(
          result_.working_bytes, working_bytes_of(run_of(views_.attention[0])) / strategy_.context);
    for (std::size_t i = 0; i < units_.units.size(); ++i) {
      if (units_.units[i].has_output)
        result_.units[i].boundary_bytes = whole_.bound.tensors[units_.units[i].output].bytes;
    }
  }

  const SplitGraph& split_;
  const RepeatedBlock& repeated_;
  const Strategy& strategy_;
  const Cluster& cluster_;
  const RankViews& views_;
  const MicroBatches& runs_;
  const MicroBatch& whole_;  // with the sizes of most nodes
  UnitList units_;
  std::vector<double> busy_s_;                          // of each step
  std::map<NodeId, std::vector<std::size_t>> of_node_;  // its collectives
  std::map<NodeId, AttentionBytes> attention_bytes_;    // that it exchanges
  std::map<NodeId, double> expert_bytes_;
  RankCosts result_;
};

/// How far off the expected time of some micro-batches may be.
void find_interval(const FrameworkOperations& operations, const RankEngine& engine,
                   RankCosts& costs) {
  const KernelList list(operations, *engine.times);
  const ExpectedTotals totals = expected_totals(*engine.framework, operations, list, engine.options,
                                                *engine.calibration, *engine.times);
  costs.low = totals.low_s / totals.time_s;
  costs.high = totals.high_s / totals.time_s;
}

/// As `predict` has it of one device: of all micro-batches, unless they are very many. Gradients
/// stay from the first one on, so that the second has the memory of all later ones.
void find_costs_of_one_device(const MicroBatch& first, const Strategy& strategy,
                              const RankEngine& engine, RankCosts& costs) {
  const auto peak_of = [&](const Program& program, const FrameworkOperations& operations) {
    return allocated_memory_bytes(program, *engine.framework, engine.options, operations,
                                  KernelList(operations, *engine.times).times_on(*engine.times));
  };
  if (strategy.micro_batches == 1) {
    costs.peak_bytes = peak_of(first.program, first.operations);
    return;
  }
  constexpr std::int64_t most_steps = 20'000;
  const auto steps = static_cast<std::int64_t>(first.program.steps.size());
  TrainingOptions training = training_of(engine, strategy);
  training.micro_batches =
      std::min(strategy.micro_batches, std::max<std::int64_t>(2, most_steps / steps));
  const Program program = make_program(first.bound, training);
  const FrameworkOperations operations =
      operations_of(program, *engine.framework, engine.options, training.optimizer);
  costs.peak_bytes = peak_of(program, operations);
  find_interval(operations, engine, costs);
}

}  // namespace

RankCosts rank_costs(const SplitGraph& split, const Binding& binding, const Strategy& strategy,
                     const Cluster& cluster, const RankEngine& asked,
                     const RepeatedBlock& repeated) {
  RankEngine engine = asked;
  engine.options.expert_ranks = strategy.expert;
  const TrainingOptions training = training_of(engine, strategy);
  const RankViews views = rank_views(split, binding, strategy);
  MicroBatches runs;
  for (const Binding& sizes : views.runs) {
    runs.push_back(std::make_unique<const MicroBatch>(split.graph, sizes, training, engine));
    if (runs.back()->operations.calls.size() != runs[0]->operations.calls.size())
      fail(ErrorKind::unsupported,
           "--parallel {}: {} takes other kernels with a share of its words", to_text(strategy),
           split.graph.name);
  }
  RankCosts costs = CostSheet(split, strategy, cluster, views, runs, repeated).take();
  const MicroBatch& whole = *runs[0];
  costs.waits_at_steps = engine.framework->waits_at_steps;
  find_interval(whole.operations, engine, costs);
  if (cluster.devices() == 1) find_costs_of_one_device(whole, strategy, engine, costs);
  return costs;
}

Section update_section(const RankEngine& engine, std::int64_t tensors, double parameters) {
  if (tensors == 0 || parameters <= 0 || engine.training.optimizer == Optimizer::none) return {};
  FrameworkOperations update;
  update.operations.push_back(
      {.kernel_class = update_class(*engine.framework, engine.training.optimizer),
       .precision = DType::fp32,
       .dims = {static_cast<double>(tensors), parameters},
       .kernels =
           update_kernels(*engine.framework, engine.training.optimizer, tensors, parameters)});
  update.calls.push_back({.tensors = tensors, .is_update = true});
  const std::vector<KernelTime> times = {engine.times->time(update.operations[0])};
  const HostPipeline pipeline(update, times, false, 0, *engine.calibration);
  return Section::call(pipeline.host_s(0), pipeline.busy_s(0));
}

}  // namespace strata
