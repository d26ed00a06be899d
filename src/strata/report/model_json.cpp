// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"
#include "strata/report/model_report.hpp"

#include <nlohmann/json.hpp>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr int model_schema_version = 1;

void add_counts(Json& json, const LayerCounts& counts) {
  for (const CountField& field : count_fields()) json[std::string(field.key)] = field.value(counts);
}

Json model_json(const ModelSummary& summary) {
  Json dims = Json::object();
  for (const Dimension& dimension : summary.dims) dims[dimension.name] = dimension.value;
  const std::optional<std::int64_t> batch = summary.dim("batch");
  return {{"name", summary.name},
          {"title", summary.title},
          {"source", summary.source},
          {"batch", batch ? Json(*batch) : Json(nullptr)},
          {"dtype", summary.dtype},
          {"mode", summary.mode == Mode::training ? "training" : "inference"},
          {"dims", std::move(dims)}};
}

Json layer_json(const LayerSummary& layer) {
  Json json = {{"name", layer.name},
               {"op", layer.op},
               {"block", layer.block},
               {"inputs", layer.inputs},
               {"output_shape", layer.output_shape},
               {"dtype", name_of(layer.dtype)}};
  add_counts(json, layer.counts);
  json["kept"] = layer.kept;
  json["kept_bytes"] = layer.kept_bytes;
  json["is_counted"] = layer.counts.uncounted == 0;
  return json;
}

Json totals_json(const ModelSummary& summary) {
  Json json = {{"nodes", summary.totals.nodes}};
  add_counts(json, summary.totals);
  json["kept_bytes"] = summary.kept_bytes;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["buffer_bytes"] = summary.buffer_bytes;
  json["input_bytes"] = summary.input_bytes;
  json["uncounted_nodes"] = summary.totals.uncounted;
  return json;
}

Json operation_json(const OperationCount& operation) {
  return {{"name", operation.name},
          {"count", operation.count},
          {"flop", operation.flop},
          {"launches", operation.launches},
          {"is_counted", operation.is_known}};
}

Json group_json(const GroupSummary& group) {
  Json json = {{"name", group.name}, {"nodes", group.counts.nodes}};
  add_counts(json, group.counts);
  return json;
}

}  // namespace

std::string to_json(const ModelSummary& summary, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", model_schema_version);
  text.add("kind", "model");
  text.add("model", model_json(summary));
  text.add("totals", totals_json(summary));
  text.add_list("warnings", summary.warnings, warning_json);
  text.add_list("layers", summary.layers, layer_json);
  text.add_list("by_type", summary.types, group_json);
  text.add_list("by_block", summary.blocks, group_json);
  if (!summary.operations.empty()) text.add_list("operations", summary.operations, operation_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
