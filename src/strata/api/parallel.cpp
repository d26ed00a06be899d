// SPDX-License-Identifier: Apache-2.0
#include "strata/api/parallel.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/parallel/rank_views.hpp"
#include "strata/predict/access_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace strata {
namespace {

void check_request(const PredictRequest& request) {
  if (request.training.inference)
    fail(ErrorKind::usage, "--parallel is about training and does not go with --inference");
  if (request.training.micro_batches != 1)
    fail(ErrorKind::usage, "--micro-batches does not go with --parallel: say micro=N there");
  if (request.training.recompute != Recompute::none)
    fail(ErrorKind::usage, "--recompute does not go with --parallel: say recompute=full there");
  if (request.framework == "none")
    fail(ErrorKind::usage, "--parallel gives expected times, and --framework none asks for none");
}

ExpectedRequest expected_on(const Machine& machine, const PredictRequest& request) {
  PredictRequest named = request;
  if (!named.framework) named.framework = default_framework(machine);
  return *expected_request(machine, named);
}

/// Products of forward and backward, without those that run again.
double model_flop_of(const BoundGraph& bound, const TrainingOptions& training) {
  TrainingOptions once = training;
  once.unroll_recurrent = false;
  const Program program = make_program(bound, once);
  double flop = 0;
  for (const Step& step : program.steps)
    flop += step.pass == Pass::update ? 0 : 2 * static_cast<double>(step.mac);
  return flop;
}

std::optional<double> peak_of(const Machine& machine, DType dtype) {
  const Peak* peak = find_peak(machine, dtype, ComputeUnit::matrix);
  if (peak == nullptr) peak = find_peak(machine, dtype, ComputeUnit::vector);
  return peak == nullptr ? std::nullopt : std::optional(peak->flop_per_s.value);
}

ParallelContext context_of(const Graph& graph, const Cluster& cluster, const BoundGraph& bound,
                           const PredictRequest& request, const ExpectedTimes& times) {
  ParallelContext context;
  context.network = graph.name;
  context.title = graph.title.empty() ? graph.name : graph.title;
  context.cluster = cluster.name;
  context.machine_title = cluster.machine.title;
  const DType stored = main_dtype(bound);
  context.dtype = name_of(request.framework_options.autocast.value_or(stored));
  context.is_autocast = request.framework_options.autocast.has_value();
  context.framework = times.framework().name;
  context.calibrated_on = times.calibration().machine;
  context.calibration = times.use();
  context.checked = times.checked(CheckedPass::parallel);
  context.optimizer = request.training.optimizer;
  context.master_weights = request.training.master_weights;
  for (const Parameter& parameter : graph.symbols.parameters())
    context.dims.push_back({parameter.name, bound.binding.at(parameter.name)});
  context.devices = cluster.devices();
  context.devices_per_node = cluster.devices_per_node;
  context.nodes = cluster.nodes;
  context.samples = bound.binding.contains("batch") ? bound.binding.at("batch") : 0;
  if (const auto seq = bound.binding.find("seq"); seq != bound.binding.end())
    context.tokens = seq->second * context.samples;
  context.model_flop = model_flop_of(bound, request.training);
  context.peak_flop_per_s =
      peak_of(cluster.machine, request.framework_options.autocast.value_or(stored));
  context.device_memory_bytes = outer_memory_bytes(cluster.machine);
  context.assumptions = cluster.assumptions;
  return context;
}

std::string units_text(const std::vector<std::string>& names, const LayerChunk& chunk) {
  const std::string& first = names[chunk.first];
  const std::string& last = names[chunk.end - 1];
  return chunk.end - chunk.first == 1 ? first : fmt::format("{} … {}", first, last);
}

/// What `predict` of one device is asked with for the same iteration. Nothing: there are several
/// devices, or it is asked with nothing like that: scores alone are recomputed; or it has more
/// steps than are planned for one number.
std::optional<TrainingOptions> asked_of_one_device(const Strategy& strategy,
                                                   StrategyPlanner& planner) {
  constexpr std::int64_t most_units = 10'000;
  if (strategy.devices() > 1 || strategy.recompute == RankRecompute::selective) return std::nullopt;
  const auto units = static_cast<std::int64_t>(planner.costs_of(strategy).units.size());
  if (units * strategy.micro_batches > most_units) return std::nullopt;
  TrainingOptions training;
  training.micro_batches = strategy.micro_batches;
  if (strategy.recompute == RankRecompute::full) training.recompute = Recompute::blocks;
  return training;
}

/// The limit of one micro-batch with the sizes given, by node.
struct LimitTimes {
  std::unique_ptr<BoundGraph> bound;  // what the program refers to
  Program program;
  std::vector<double> work_s, update_s;
  double loss_s = 0, time_s = 0;
};

LimitTimes limit_times(const Graph& graph, const Binding& sizes, const Machine& machine,
                       const PredictRequest& parallel, const TrainingOptions& rounds) {
  PredictRequest request = limit_request(parallel);
  request.training.recompute = rounds.recompute;
  request.training.micro_batches = rounds.micro_batches;
  LimitTimes times;
  times.bound = std::make_unique<BoundGraph>(bind_graph(graph, sizes, request.sizes.dtype));
  times.program = limit_program(*times.bound, request);
  const AccessList list(times.program);
  const Hardware hardware = hardware_for(machine, main_dtype(*times.bound), request);
  const Prediction prediction =
      simulate(list, decide(list, hardware, request.options), Record::steps);
  times.time_s = prediction.time_s;
  times.work_s.resize(graph.nodes.size());
  times.update_s = times.work_s;
  double before_s = 0;
  for (StepId id = 0; id < times.program.steps.size(); ++id) {
    const Step& step = times.program.steps[id];
    const double time_s = prediction.steps[id].end_s - before_s;
    before_s = prediction.steps[id].end_s;
    std::vector<double>& of_nodes = step.pass == Pass::update ? times.update_s : times.work_s;
    (step.node == no_node ? times.loss_s : of_nodes[step.node]) += time_s;
  }
  return times;
}

}  // namespace

ParallelModel::ParallelModel(const Graph& graph, const Cluster& cluster,
                             const PredictRequest& request)
    : graph_(graph), cluster_(cluster), request_(request) {
  check_request(request);
  times_ = std::make_unique<ExpectedTimes>(cluster.machine, expected_on(cluster.machine, request));
  bound_ = bind_model(graph, request.sizes);
  const bool in_16_bits = times_->options().autocast || bytes_per_element(main_dtype(bound_)) == 2;
  engine_ =
      RankEngine{.framework = &times_->framework(),
                 .options = times_->options(),
                 .calibration = &times_->calibration(),
                 .times = &times_->kernel_times(),
                 .training = request.training,
                 .dtype = request.sizes.dtype,
                 .sigma = times_->widening({.is_inference = false, .in_16_bits = in_16_bits})};
  context_ = context_of(graph, cluster, bound_, request, *times_);
  planner_ = std::make_unique<StrategyPlanner>(graph, cluster, engine_, bound_.binding);
}

ParallelModel::~ParallelModel() = default;

/// The limit of the slowest stage, as `predict` has it of one micro-batch; or the bytes on links at
/// their full rate, if those take longer.
double ParallelModel::limit_s(const StrategyTime& result) {
  const Strategy& strategy = result.strategy;
  const SplitGraph& split = planner_->split_of(strategy.tensor);
  Binding binding = bound_.binding;
  binding["batch"] = result.micro_batch;
  const RankViews views = rank_views(split, binding, strategy);
  if (const auto alone = asked_of_one_device(strategy, *planner_))
    return limit_times(split.graph, views.runs[0], cluster_.machine, request_, *alone).time_s;
  std::vector<LimitTimes> runs;
  for (const Binding& sizes : views.runs)
    runs.push_back(limit_times(split.graph, sizes, cluster_.machine, request_, {}));
  const RankCosts& costs = planner_->costs_of(strategy);
  std::vector<double> work(costs.units.size(), 0), update = work;
  work.back() += runs[0].loss_s;
  const UnitList units = find_units(runs[0].program);
  for (NodeId id = 0; id < views.nodes.size(); ++id) {
    const NodeView& view = views.of(id);
    if (view.is_absent) continue;
    work[units.of_node[id]] += runs[view.run].work_s[id] * view.share;
    update[units.of_node[id]] += runs[0].update_s[id];
  }
  const std::vector<LayerChunk> chunks = make_chunks(costs, strategy);
  const auto stages = static_cast<std::size_t>(strategy.pipeline);
  const auto update_ranks = static_cast<double>(strategy.zero > 0 ? strategy.weight_ranks() : 1);
  std::vector<double> of_stage(stages, 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    for (std::size_t unit = chunks[i].first; unit < chunks[i].end; ++unit)
      of_stage[i % stages] +=
          work[unit] * static_cast<double>(strategy.micro_batches) + update[unit] / update_ranks;
  }
  double limit = *std::max_element(of_stage.begin(), of_stage.end());
  const double rate =
      std::max(cluster_.inside.bytes_per_s, cluster_.between ? cluster_.between->bytes_per_s : 0);
  for (const RankTraffic& sent : result.iteration.traffic) {
    if (rate > 0) limit = std::max(limit, sent.total_bytes() / rate);
  }
  return limit;
}

ParallelSummary ParallelModel::predict(const Strategy& strategy, WantEvents wants_events) {
  ParallelSummary summary;
  summary.context = context_;
  summary.result = planner_->time_of(strategy, wants_events);
  const RankCosts& costs = planner_->costs_of(strategy);
  const std::vector<LayerChunk> chunks = make_chunks(costs, strategy);
  const auto stages = static_cast<std::size_t>(strategy.pipeline);
  summary.stages.resize(stages);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    std::string& text = summary.stages[i % stages];
    constexpr std::size_t most_named = 2;  // chunks of a stage
    if (i / stages < most_named)
      text += (text.empty() ? "" : "; ") + units_text(costs.names, chunks[i]);
    else if (i / stages == most_named)
      text += "; …";
  }
  summary.limit_s = limit_s(summary.result);
  return summary;
}

ParallelChoice ParallelModel::choose(const SearchSpace& space, const SearchProgress& progress,
                                     WantEvents wants_events) {
  ParallelChoice choice;
  choice.context = context_;
  const std::clock_t begin = std::clock();
  const auto memory_bytes = static_cast<std::int64_t>(context_.device_memory_bytes.value_or(9e18));
  // One device has few strategies, and its memory is what the framework allocates for all blocks.
  const auto shortened = cluster_.devices() > 1 ? shorten(graph_) : std::nullopt;
  if (shortened) {
    StrategyPlanner quick(*shortened, cluster_, engine_, bound_.binding);
    choice.search = search_strategies(quick, cluster_, memory_bytes, space, progress);
  } else {
    choice.search = search_strategies(*planner_, cluster_, memory_bytes, space, progress);
  }
  if (choice.search.outcomes.empty())
    fail(ErrorKind::unsupported, "{}", reason_for_none(*planner_, cluster_));
  choice.searched_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (const StrategyOutcome* best = choice.search.best())
    choice.best = predict(best->strategy, wants_events);
  return choice;
}

}  // namespace strata
