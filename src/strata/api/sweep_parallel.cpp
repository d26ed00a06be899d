// SPDX-License-Identifier: Apache-2.0
#include "strata/api/sweep_parallel.hpp"

#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

ParallelSweepWorker::ParallelSweepWorker(const Sweep::State& state)
    : state_(state),
      has_parts_(std::any_of(
          state.parameters.begin(), state.parameters.end(),
          [](const SweepParameter& parameter) { return parameter.depends == Depends::strategy; })) {
}

void ParallelSweepWorker::enter(std::int64_t point) {
  const std::int64_t group = point / state_.in_cluster;
  if (group_ != group) {
    group_ = group;
    problem_.reset();
    model_.reset();  // before the cluster that it refers to
    try {
      const auto index_of = [&](std::string_view axis) {
        return static_cast<std::size_t>(state_.grid.index_of(point, state_.axis_named(axis)));
      };
      const PredictRequest request = state_.request_at(point);
      Machine changed;
      cluster_ = state_.clusters[index_of("machine")];
      cluster_.machine =
          with_overrides(state_.machine_at(point, changed), state_.overrides_at(point));
      model_ = std::make_unique<ParallelModel>(state_.graphs[index_of("model")], cluster_, request);
    } catch (const Error& error) {
      problem_ = error;
    }
  }
  if (problem_) throw *problem_;
}

Strategy ParallelSweepWorker::strategy_at(std::int64_t point) const {
  std::string text;
  bool has_data = false;
  for (std::size_t axis = 0; axis < state_.parameters.size(); ++axis) {
    if (state_.parameters[axis].depends != Depends::strategy) continue;
    const Axis& values = state_.grid.axes()[axis];
    has_data |= values.name() == "dp";
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", values.name(),
                        values.at(state_.grid.index_of(point, axis)).text);
  }
  Strategy strategy = parse_strategy(text);
  if (has_data) return strategy;
  const std::int64_t ranks = strategy.devices(), devices = cluster_.devices();
  if (ranks > devices || devices % ranks != 0)
    fail(ErrorKind::usage, "{}: {} ranks do not divide the {} devices of {}", text, ranks, devices,
         cluster_.name);
  strategy.data = devices / ranks;
  return strategy;
}

StrategyTime ParallelSweepWorker::time_at(std::int64_t point) {
  if (has_parts_) return model_->planner().time_of(strategy_at(point));
  const ParallelChoice choice = model_->choose();
  if (choice.best) return choice.best->result;
  // Out of memory, by as little as can be.
  return model_->planner().time_of(choice.search.outcomes.front().strategy);
}

PointResult ParallelSweepWorker::at(std::int64_t point) {
  PointResult result;
  try {
    enter(point);
    const StrategyTime time = time_at(point);
    const ParallelContext& context = model_->context();
    result.hardware =
        hardware_of(cluster_.machine, dtype_named(context.dtype).value_or(DType::fp32));
    result.samples = context.samples;
    result.has_limit = false;
    result.expected = {.time_s = time.time_s,
                       .low_s = time.low_s,
                       .high_s = time.high_s,
                       .memory_bytes = time.most_memory().total_bytes(),
                       .device_bytes = context.device_memory_bytes.value_or(0)};
    result.strategy = to_text(time.strategy);
    const RankTime mean = time.iteration.mean();
    if (context.tokens)
      result.parallel.tokens_per_s = static_cast<double>(*context.tokens) / time.time_s;
    result.parallel.mfu = context.mfu(time.time_s).value_or(0);
    for (std::size_t i = 0; i < rank_time_parts.size(); ++i)
      result.parallel.parts_s[i] = mean.*rank_time_parts[i];
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    result = {};
    result.error = error.what();
  }
  return result;
}

}  // namespace strata
