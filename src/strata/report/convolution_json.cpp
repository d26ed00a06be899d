// SPDX-License-Identifier: Apache-2.0
#include "strata/base/printable.hpp"
#include "strata/report/convolution_report.hpp"
#include "strata/report/json_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

constexpr int conv_schema_version = 1;

Json json_of(const ConvShape& shape) {
  return {{"batch", shape.batch},
          {"channels", shape.channels},
          {"height", shape.height},
          {"width", shape.width},
          {"filters", shape.filters},
          {"kernel", {shape.kernel_height, shape.kernel_width}},
          {"stride", {shape.stride_height, shape.stride_width}},
          {"padding", {shape.pad_height, shape.pad_width}},
          {"dilation", {shape.dilation_height, shape.dilation_width}},
          {"groups", shape.groups}};
}

Json json_of(const ConvSeries& series) {
  Json points = Json::array();
  for (const ConvPoint& point : series.points) {
    Json entry{{"label", point.label}};
    if (point.at) entry["at"] = *point.at;
    entry["shape"] = json_of(point.shape);
    if (point.counts != std::array<std::int64_t, 3>{1, 1, 1}) entry["counts"] = point.counts;
    if (const auto reason = refusal_of(point.shape)) entry["refusal"] = *reason;
    points.push_back(std::move(entry));
  }
  return {{"name", series.name}, {"is_sweep", series.is_sweep}, {"points", std::move(points)}};
}

void add_times(Json& json, const ConvCell& cell) {
  const double time_s = cell.time_s();
  const auto direct = static_cast<double>(direct_flop(cell.shape));
  json["time_s"] = time_s;
  json["deviation_s"] = cell.deviation_s();
  json["spread"] = cell.spread();
  if (cell.others_share) json["others_share"] = *cell.others_share;
  json["samples_s"] = cell.samples_s;
  if (time_s > 0) {
    if (cell.flop) json["flop_per_s"] = static_cast<double>(*cell.flop) / time_s;
    json["direct_flop_per_s"] = direct / time_s;
  }
  Json roles = Json::array();
  double all_roles_s = 0;
  for (const RoleTime& role : cell.roles) all_roles_s += role.seconds;
  for (const RoleTime& role : cell.roles) {
    Json entry{{"role", name_of(role.role)}, {"time_s", role.seconds}};
    if (all_roles_s > 0) entry["share"] = role.seconds / all_roles_s;
    roles.push_back(std::move(entry));
  }
  json["roles"] = std::move(roles);
  if (cell.clock_hz) json["clock_hz"] = *cell.clock_hz;
  if (const auto shares = transfer_shares(cell)) {
    json["transfers"] = Json{{"pinned_s", cell.transfers->pinned_s},
                             {"pageable_s", cell.transfers->pageable_s},
                             {"pinned_share", shares->pinned},
                             {"pageable_share", shares->pageable}};
  }
}

void add_efficiencies(Json& json, const ConvCell& cell) {
  const auto object_of = [](const auto& value_of) {
    Json values = Json::object();
    for (const ConvEfficiencyName& name : conv_efficiency_names()) {
      if (const std::optional<double> value = value_of(name.value))
        values[std::string(name.key)] = *value;
    }
    return values;
  };
  Json roles = Json::array();
  for (const ConvEfficiency& role : cell.efficiencies->roles) {
    Json entry{{"role", name_of(role.role)}};
    entry.update(object_of([&](auto value) { return role.*value; }));
    roles.push_back(std::move(entry));
  }
  Json entry = object_of([&](auto value) { return mean_efficiency(cell, value); });
  if (!cell.efficiencies->absent.empty()) entry["absent"] = cell.efficiencies->absent;
  entry["roles"] = std::move(roles);
  json["efficiencies"] = std::move(entry);
}

Json json_of(std::size_t number, const ConvCell& cell) {
  Json json{{"cell", number},
            {"shape", json_of(cell.shape)},
            {"pass", name_of(cell.pass)},
            {"strategy", cell.strategy},
            {"status", name_of(cell.status)}};
  if (!cell.reason.empty()) json["reason"] = cell.reason;
  json["tensor_bytes"] = cell.tensor_bytes;
  json["scratch_bytes"] = cell.scratch_bytes;
  json["peak_bytes"] = cell.peak_bytes();
  if (cell.flop) json["flop"] = *cell.flop;
  json["direct_flop"] = direct_flop(cell.shape);
  if (cell.checked > 0) {
    json["error"] = cell.error;
    json["tolerance"] = cell.tolerance;
    json["checked"] = cell.checked;
  }
  if (cell.is_timed()) add_times(json, cell);
  if (!cell.kernels.empty()) {
    Json kernels = Json::array();
    for (const KernelFacts& kernel : cell.kernels) {
      Json entry{{"name", kernel.name},
                 {"role", name_of(kernel.role)},
                 {"registers_per_thread", kernel.registers_per_thread},
                 {"shared_bytes_per_block", kernel.shared_bytes_per_block}};
      if (kernel.seconds > 0) entry["time_s"] = kernel.seconds;
      kernels.push_back(std::move(entry));
    }
    json["kernels"] = std::move(kernels);
  }
  if (cell.efficiencies) add_efficiencies(json, cell);
  return json;
}

/// Only what is known: files of an older Strata stay as they were.
Json json_of(const ConvOrigin& origin) {
  Json json = Json::object();
  if (!origin.date.empty()) json["date"] = origin.date;
  if (!origin.facts.versions.empty()) {
    Json versions = Json::array();
    for (const Version& each : origin.facts.versions)
      versions.push_back({{"of", each.of}, {"version", each.version}});
    json["versions"] = std::move(versions);
  }
  if (origin.facts.most_clock_hz) json["most_clock_hz"] = *origin.facts.most_clock_hz;
  if (origin.facts.power_limit_w) json["power_limit_w"] = *origin.facts.power_limit_w;
  return json;
}

/// What stands at the head of both forms, in order.
std::vector<std::pair<std::string, Json>> head_of(const ConvResults& results) {
  Json passes = Json::array();
  for (const ConvPass pass : results.passes) passes.push_back(name_of(pass));
  Json strategies = Json::array();
  for (const ConvStrategyName& strategy : results.strategies)
    strategies.push_back({{"name", strategy.name}, {"is_vendor", strategy.is_vendor}});
  std::vector<std::pair<std::string, Json>> head = {{"schema_version", conv_schema_version},
                                                    {"kind", "convolutions"},
                                                    {"device", results.device},
                                                    {"dtype", name_of(results.dtype)},
                                                    {"passes", std::move(passes)},
                                                    {"strategies", std::move(strategies)},
                                                    {"seed", results.seed},
                                                    {"samples", results.samples}};
  if (results.memory_limit_bytes)
    head.emplace_back("memory_limit_bytes", *results.memory_limit_bytes);
  if (results.has_efficiencies) head.emplace_back("has_efficiencies", true);
  if (Json origin = json_of(results.origin); !origin.empty())
    head.emplace_back("measured", std::move(origin));
  return head;
}

Json json_of(const ConvChoice& choice) {
  return {{"strategy", choice.strategy},
          {"time_s", choice.time_s},
          {"scratch_bytes", choice.scratch_bytes}};
}

Json json_of(const ConvAdvice& advice, const ConvSeries& series) {
  Json json{{"series", advice.series}, {"pass", name_of(advice.pass)}};
  if (advice.budget_bytes) json["scratch_budget_bytes"] = *advice.budget_bytes;
  json["recommendation"] = advice.recommendation;
  Json fastest = Json::array();
  for (std::size_t i = 0; i < advice.fastest.size(); ++i) {
    Json entry{{"label", series.points[i].label}};
    if (advice.fastest[i]) {
      entry.update(json_of(*advice.fastest[i]));
      entry["is_clear"] = static_cast<bool>(advice.is_clear[i]);
    }
    fastest.push_back(std::move(entry));
  }
  json["fastest"] = std::move(fastest);
  Json crossovers = Json::array();
  for (const ConvCrossover& each : advice.crossovers) {
    crossovers.push_back({{"ahead", each.ahead},
                          {"behind", each.behind},
                          {"at", each.at},
                          {"because_it_cannot", each.cannot}});
  }
  json["crossovers"] = std::move(crossovers);
  if (advice.against_vendor) {
    json["own_over_vendor"] = Json{{"geometric_mean", advice.against_vendor->ratio},
                                   {"points_ahead", advice.against_vendor->ahead},
                                   {"points", advice.against_vendor->points}};
  }
  return json;
}

Json json_of(const ConvNetworkAdvice& advice, const ConvSeries& series) {
  Json layers = Json::array();
  for (const ConvLayerChoice& layer : advice.layers) {
    Json entry{{"layer", series.points[layer.point].label},
               {"pass", name_of(layer.pass)},
               {"count", layer.count}};
    if (layer.best) entry["best"] = json_of(*layer.best);
    if (layer.vendor_default) entry["library_default"] = json_of(*layer.vendor_default);
    entry["is_clear"] = layer.is_clear;
    layers.push_back(std::move(entry));
  }
  return {{"series", advice.series},       {"library_default", advice.default_name},
          {"best_s", advice.best_s},       {"compared_s", advice.compared_s},
          {"default_s", advice.default_s}, {"layers", std::move(layers)}};
}

}  // namespace

std::string to_json(const ConvResults& results, const ConvView& view,
                    const Provenance& provenance) {
  JsonText text;
  for (const auto& [key, value] : head_of(results)) text.add(key, value);
  text.add_list("series", results.series, [](const ConvSeries& each) { return json_of(each); });
  std::size_t number = 0;
  text.add_list("cells", results.cells,
                [&](const ConvCell& cell) { return json_of(number++, cell); });
  const std::vector<ConvAdvice> advice = conv_advice(results, view.budgets_bytes);
  text.add_list("advice", advice, [&](const ConvAdvice& each) {
    return json_of(each, results.series[each.series_index]);
  });
  std::vector<const ConvSeries*> networks;  // whatever is added up over an iteration
  for (const ConvSeries& series : results.series) {
    if (!series.is_sweep) networks.push_back(&series);
  }
  text.add_list("sums", networks, [&](const ConvSeries* each) {
    return json_of(conv_network_advice(results, *each), *each);
  });
  text.add_list("warnings", conv_warnings(results), [](const ConvWarning& warning) {
    return Json{{"code", warning.code}, {"message", warning.message}};
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

std::string conv_lines_head(const ConvResults& plan) {
  Json json = Json::object();
  for (auto& [key, value] : head_of(plan)) json[key] = value;
  Json series = Json::array();
  for (const ConvSeries& each : plan.series) series.push_back(json_of(each));
  json["series"] = std::move(series);
  return printable_json(json.dump(-1, ' ', false, Json::error_handler_t::replace)) + '\n';
}

std::string conv_line_begin(std::size_t number) { return fmt::format("{{\"cell\":{},", number); }

std::string conv_line(std::size_t number, const ConvCell& cell) {
  return printable_json(
             json_of(number, cell).dump(-1, ' ', false, Json::error_handler_t::replace)) +
         '\n';
}

}  // namespace strata
