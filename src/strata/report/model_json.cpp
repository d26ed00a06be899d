// SPDX-License-Identifier: Apache-2.0
#include "strata/report/json_text.hpp"
#include "strata/report/model_report.hpp"

#include <nlohmann/json.hpp>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

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

Json warnings_json(const std::vector<Warning>& warnings) {
  Json json = Json::array();
  for (const Warning& warning : warnings) {
    json.push_back({{"code", name_of(warning.code)}, {"message", warning.message}});
  }
  return json;
}

Json groups_json(const std::vector<GroupSummary>& groups) {
  Json json = Json::array();
  for (const GroupSummary& group : groups) {
    Json& entry = json.emplace_back(Json{{"name", group.name}, {"nodes", group.counts.nodes}});
    add_counts(entry, group.counts);
  }
  return json;
}

}  // namespace

std::string to_json(const ModelSummary& summary, const Provenance& provenance) {
  Json layers = Json::array();
  for (const LayerSummary& layer : summary.layers) layers.push_back(layer_json(layer));
  return one_item_per_line({{"schema_version", schema_version},
                            {"kind", "model"},
                            {"model", model_json(summary)},
                            {"totals", totals_json(summary)},
                            {"warnings", warnings_json(summary.warnings)},
                            {"layers", std::move(layers)},
                            {"by_type", groups_json(summary.types)},
                            {"by_block", groups_json(summary.blocks)},
                            {"provenance", to_json(provenance)}});
}

}  // namespace strata
