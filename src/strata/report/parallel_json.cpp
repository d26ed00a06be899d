// SPDX-License-Identifier: Apache-2.0
#include "strata/report/parallel_json.hpp"

#include "strata/report/json_host.hpp"
#include "strata/report/parallel_timeline.hpp"

#include <nlohmann/json.hpp>

namespace strata {
namespace {

using ParallelJson = nlohmann::ordered_json;

ParallelJson strategy_json(const Strategy& s) {
  return {{"text", to_text(s)},
          {"data", s.data},
          {"tensor", s.tensor},
          {"context", s.context},
          {"exchange", name_of(s.exchange)},
          {"expert", s.expert},
          {"pipeline", s.pipeline},
          {"micro_batches", s.micro_batches},
          {"chunks", s.chunks},
          {"zero", s.zero},
          {"sequence_parallel", s.sequence_parallel},
          {"overlaps_gradients", s.overlaps_gradients},
          {"recompute", name_of(s.recompute)},
          {"schedule", name_of(s.schedule)}};
}

ParallelJson time_json(const RankTime& time) {
  ParallelJson json;
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i)
    json[std::string(rank_time_keys[i])] = time.*rank_time_parts[i];
  return json;
}

/// What the keys of times mean, for people.
ParallelJson time_names_json() {
  ParallelJson json;
  for (std::size_t i = 0; i < rank_time_parts.size(); ++i)
    json[std::string(rank_time_keys[i])] = rank_time_names[i];
  return json;
}

ParallelJson memory_json(const RankMemory& memory) {
  return {{"parameters_bytes", memory.parameters_bytes},
          {"gradients_bytes", memory.gradients_bytes},
          {"states_bytes", memory.states_bytes},
          {"activations_bytes", memory.activations_bytes},
          {"buffers_bytes", memory.buffers_bytes},
          {"total_bytes", memory.total_bytes()}};
}

ParallelJson traffic_json(const RankTraffic& traffic) {
  return {{"tensor_bytes", count_json(traffic.tensor_bytes)},
          {"context_bytes", count_json(traffic.context_bytes)},
          {"experts_bytes", count_json(traffic.experts_bytes)},
          {"gradients_bytes", count_json(traffic.gradients_bytes)},
          {"parameters_bytes", count_json(traffic.parameters_bytes)},
          {"pipeline_bytes", count_json(traffic.pipeline_bytes)}};
}

void add_context(JsonText& text, const ParallelContext& context) {
  text.add("network", context.network);
  text.add("title", context.title);
  text.add("cluster", {{"name", context.cluster},
                       {"devices", context.devices},
                       {"devices_per_node", context.devices_per_node},
                       {"nodes", context.nodes},
                       {"machine_title", context.machine_title},
                       {"assumptions", context.assumptions}});
  add_training_setup(text, context);
  text.add("samples", context.samples);
  text.add("tokens", context.tokens ? ParallelJson(*context.tokens) : ParallelJson());
  text.add("model_flop", count_json(context.model_flop));
  text.add("device_memory_bytes", count_json(context.device_memory_bytes));
}

ParallelJson rank_json(const ParallelSummary& summary, std::size_t stage) {
  return {{"stage", stage},
          {"layers", summary.stages[stage]},
          {"time", time_json(summary.result.iteration.ranks[stage])},
          {"memory", memory_json(summary.result.memory[stage])},
          {"sent", traffic_json(summary.result.iteration.traffic[stage])}};
}

void add_result(JsonText& text, const ParallelSummary& summary) {
  const StrategyTime& result = summary.result;
  text.add("strategy", strategy_json(result.strategy));
  const ParallelJson speed = speed_json(summary);
  for (const auto& [key, value] : speed.items()) text.add(key, value);
  text.add("mfu", number_or_null(summary.context.mfu(result.time_s)));
  text.add("fits", summary.fits());
  text.add("training", training_json(summary.context.terms, summary.pace()));
  text.add("memory", memory_json(result.most_memory()));
  text.add("time", time_json(result.iteration.mean()));
  text.add("time_names", time_names_json());
  std::vector<std::size_t> stages(result.iteration.ranks.size());
  for (std::size_t i = 0; i < stages.size(); ++i) stages[i] = i;
  text.add_list("stages", stages, [&](std::size_t i) { return rank_json(summary, i); });
  text.add("timeline", parallel_timeline_json(result.iteration));
}

}  // namespace

void add_training_setup(JsonText& text, const ParallelContext& context) {
  ParallelJson dims = ParallelJson::object();
  for (const Dimension& dimension : context.dims) dims[dimension.name] = dimension.value;
  text.add("dims", dims);
  text.add("dtype", context.dtype);
  text.add("precision", context.precision());
  text.add("optimizer", name_of(context.optimizer));
  text.add("master_weights", context.master_weights);
  text.add("framework", context.framework);
  text.add("calibration", name_of(context.calibration));
  text.add("calibrated_on", context.calibrated_on);
  text.add("evidence", evidence_json(context.checked));
}

ParallelJson speed_json(const ParallelSummary& summary) {
  const StrategyTime& result = summary.result;
  const auto per_s = [&](std::int64_t items) { return static_cast<double>(items) / result.time_s; };
  const auto& tokens = summary.context.tokens;
  return {{"micro_batch", result.micro_batch},
          {"expected", {{"time_s", result.time_s}, {"interval_s", {result.low_s, result.high_s}}}},
          {"limit_s", summary.limit_s},
          {"samples_per_s", per_s(summary.context.samples)},
          {"tokens_per_s", tokens ? ParallelJson(per_s(*tokens)) : ParallelJson()}};
}

std::string to_json(const ParallelSummary& summary, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "parallel_prediction");
  add_context(text, summary.context);
  add_result(text, summary);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string to_json(const ParallelChoice& choice, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "parallel_choice");
  add_context(text, choice.context);
  if (choice.best) add_result(text, *choice.best);
  text.add_list("strategies", choice.search.outcomes, [&](const StrategyOutcome& one) {
    const std::string why =
        one.fits ? why_slower(one, choice.search.outcomes.front()) : std::string("out of memory");
    ParallelJson json = {{"strategy", to_text(one.strategy)},
                         {"fits", one.fits},
                         {"memory_bytes", one.memory_bytes},
                         {"why_it_loses", why}};
    if (one.fits) {
      json["time_s"] = one.time_s;
      json["time"] = time_json(one.parts);
    }
    return json;
  });
  text.add("pareto", choice.search.pareto);
  text.add("refused", choice.search.refused);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
