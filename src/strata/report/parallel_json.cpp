// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/parallel_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace strata {
namespace {

using ParallelJson = nlohmann::ordered_json;

ParallelJson strategy_json(const Strategy& s) {
  return {{"text", to_text(s)},
          {"data", s.data},
          {"tensor", s.tensor},
          {"context", s.context},
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
  return {{"compute_s", time.compute_s},
          {"recompute_s", time.recompute_s},
          {"update_s", time.update_s},
          {"tensor_s", time.tensor_s},
          {"context_s", time.context_s},
          {"experts_s", time.experts_s},
          {"gradients_s", time.gradients_s},
          {"parameters_s", time.parameters_s},
          {"pipeline_s", time.pipeline_s},
          {"bubble_s", time.bubble_s},
          {"host_s", time.host_s}};
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
  return {
      {"tensor_bytes", traffic.tensor_bytes},         {"context_bytes", traffic.context_bytes},
      {"experts_bytes", traffic.experts_bytes},       {"gradients_bytes", traffic.gradients_bytes},
      {"parameters_bytes", traffic.parameters_bytes}, {"pipeline_bytes", traffic.pipeline_bytes}};
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
  ParallelJson dims = ParallelJson::object();
  for (const Dimension& dimension : context.dims) dims[dimension.name] = dimension.value;
  text.add("dims", dims);
  text.add("dtype", context.dtype);
  text.add("optimizer", name_of(context.optimizer));
  text.add("master_weights", context.master_weights);
  text.add("framework", context.framework);
  text.add("calibration", name_of(context.calibration));
  text.add("calibrated_on", context.calibrated_on);
  text.add("samples", context.samples);
  text.add("tokens", context.tokens ? ParallelJson(*context.tokens) : ParallelJson());
  text.add("model_flop", context.model_flop);
  text.add("device_memory_bytes", number_or_null(context.device_memory_bytes));
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
  const double time_s = result.time_s;
  text.add("strategy", strategy_json(result.strategy));
  text.add("micro_batch", result.micro_batch);
  text.add("expected", {{"time_s", time_s}, {"interval_s", {result.low_s, result.high_s}}});
  text.add("limit_s", summary.limit_s);
  text.add("samples_per_s", static_cast<double>(summary.context.samples) / time_s);
  text.add("tokens_per_s", summary.context.tokens
                               ? ParallelJson(static_cast<double>(*summary.context.tokens) / time_s)
                               : ParallelJson());
  text.add("mfu", number_or_null(summary.context.mfu(time_s)));
  text.add("fits", summary.fits());
  text.add("memory", memory_json(result.most_memory()));
  text.add("time", time_json(result.iteration.mean()));
  std::vector<std::size_t> stages(result.iteration.ranks.size());
  for (std::size_t i = 0; i < stages.size(); ++i) stages[i] = i;
  text.add_list("stages", stages, [&](std::size_t i) { return rank_json(summary, i); });
}

std::string quoted_json(std::string_view text) {
  return printable_json(
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

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
  text.add_list("strategies", choice.search.outcomes, [](const StrategyOutcome& one) {
    ParallelJson json = {{"strategy", to_text(one.strategy)},
                         {"fits", one.fits},
                         {"memory_bytes", one.memory_bytes}};
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

std::string to_trace(const ParallelSummary& summary) {
  std::string text = "{\"traceEvents\":[";
  const auto out = std::back_inserter(text);
  const std::size_t ranks = summary.result.iteration.ranks.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    fmt::format_to(out,
                   "{}\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":"
                   "\"stage {}\"}}}}",
                   rank == 0 ? "" : ",", rank, rank);
    for (const auto& [thread, name] : {std::pair{0, "compute"}, std::pair{1, "communication"}})
      fmt::format_to(out,
                     ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{"
                     "\"name\":\"{}\"}}}}",
                     rank, thread, name);
  }
  for (const RankEvent& event : summary.result.iteration.events)
    fmt::format_to(
        out, ",\n{{\"name\":{},\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{:.4f},\"dur\":{:.4f}}}",
        quoted_json(event.name), event.rank, event.stream == RankEvent::Stream::compute ? 0 : 1,
        1e6 * event.begin_s, 1e6 * (event.end_s - event.begin_s));
  return text + "\n],\"displayTimeUnit\":\"ms\"}\n";
}

}  // namespace strata
