// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/area.hpp"
#include "strata/predict/option_names.hpp"
#include "strata/report/json_host.hpp"
#include "strata/report/prediction_report.hpp"
#include "strata/report/profile_json.hpp"

#include <nlohmann/json.hpp>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

Json machine_json(const PredictionSummary& summary) {
  const Hardware& hardware = summary.hardware;
  Json memory;
  if (summary.device_memory_bytes) memory = count_json(summary.device_memory_bytes);
  Json area;  // of the on-chip memory's cells
  const auto capacity = static_cast<double>(hardware.capacity_bytes);
  for (const SramCell& cell : sram_cells())
    area[std::string(cell.node)] = area_mm2(capacity, cell.node);
  return {{"name", summary.machine},
          {"title", summary.machine_title},
          {"kind", summary.machine_kind},
          {"capacity_bytes", hardware.capacity_bytes},
          {"area_mm2", area},
          {"bandwidth_bytes_per_s", hardware.bytes_per_s},
          {"dense_flop_per_s", hardware.dense_flop_per_s},
          {"other_flop_per_s", hardware.other_flop_per_s},
          {"multiply_add_is_one_operation", hardware.mac_is_one},
          {"memory_bytes", memory}};
}

Json options_json(const PredictionSummary& summary) {
  const PredictOptions& options = summary.options;
  const TrainingOptions& training = summary.training;
  constexpr std::string_view as_recorded = "as recorded";
  return {{"preset", summary.preset.empty() ? Json() : Json(summary.preset)},
          {"policy", name_of(options.policy)},
          {"prefetch", name_of(options.prefetch.value_or(Prefetch::soonest))},
          {"offload", name_of(options.offload.value_or(Offload::look_ahead))},
          {"channel", name_of(options.channel)},
          {"objective", name_of(options.objective)},
          {"granularity_bytes", options.granularity_bytes},
          {"strict_minimum", options.strict_minimum},
          {"optimizer", summary.is_recorded ? as_recorded : name_of(training.optimizer)},
          {"loss", summary.is_recorded ? as_recorded : name_of(training.loss)},
          {"recompute", summary.is_recorded ? as_recorded : name_of(training.recompute)},
          {"micro_batches", training.micro_batches},
          {"separate_backward", training.separate_backward},
          {"pool_keeps_input", training.pool_keeps_input}};
}

Json totals_json(const PredictionSummary& summary) {
  const PredictionTotals& totals = summary.totals;
  Json json = iteration_json(iteration_of(summary.profile));
  json.update({{"compute_time_s", totals.compute_time_s},
               {"stall_time_s", totals.stall_time_s},
               {"traffic_in_bytes", totals.traffic_in_bytes},
               {"traffic_out_bytes", totals.traffic_out_bytes},
               {"refetch_bytes", totals.refetch_bytes},
               {"average_bandwidth_bytes_per_s", totals.average_bandwidth_bytes_per_s},
               {"utilisation", totals.utilisation},
               {"samples_per_s", totals.samples_per_s},
               {"footprint_bytes", totals.footprint_bytes},
               {"fits_device", summary.device_memory_bytes ? Json(summary.fits_device()) : Json()},
               {"peak_on_chip_bytes", totals.peak_on_chip_bytes},
               {"flop", totals.flop},
               {"samples", totals.samples},
               {"steps", totals.steps}});
  return json;
}

Json expected_json(const PredictionSummary& summary) {
  if (!summary.expected) return nullptr;
  const ExpectedTime& expected = *summary.expected;
  Json json = {{"framework", expected.framework},
               {"time_s", expected.time_s},
               {"interval_s", {expected.low_s, expected.high_s}},
               {"samples_per_s", static_cast<double>(summary.totals.samples) / expected.time_s},
               {"busy_s", expected.busy_s},
               {"host_s", expected.host_s},
               {"kernels_s", expected.kernels_s},
               {"launches", expected.launches},
               {"memory_bytes", expected.memory_bytes},
               {"fits", summary.device_memory_bytes ? Json(summary.fits_device()) : Json()},
               {"largest_batch", summary.largest_batch ? Json(*summary.largest_batch) : Json()},
               {"calibration", name_of(expected.calibration)},
               {"calibrated_on", expected.calibrated_on},
               {"evidence", evidence_json(expected.checked)},
               {"host", dispatch_host_json(expected.host)},
               {"arithmetic_s", expected.arithmetic_s}};
  Json& lost = json["lost_to"] = Json::array();
  for (const LostTime& one : expected.lost_to)
    lost.push_back({{"to", one.to}, {"time_s", one.time_s}});
  Json& uncovered = json["uncovered"] = Json::array();
  for (const UncoveredClass& one : expected.uncovered)
    uncovered.push_back({{"class", one.kernel_class}, {"share", one.share}});
  json["unknown_operators"] = expected.unknown_operators;
  Json& changes = json["memory_changes"] = Json::array();
  for (const MemoryChange& one : summary.memory_changes)
    changes.push_back(
        {{"change", one.change}, {"memory_bytes", one.needed_bytes}, {"fits", one.fits}});
  return json;
}

Json bounds_json(const PredictionSummary& summary) {
  if (!summary.bounds) return nullptr;
  return {{"traffic_physical_bytes", summary.bounds->traffic_physical_bytes},
          {"traffic_model_bytes", summary.bounds->traffic_model_bytes},
          {"time_s", summary.bounds->time_s},
          {"time_from", summary.bounds->time_from}};
}

Json row_json(const ProfileRow& row) {
  Json json = profile_row_json(row, Evidence::predicted);
  if (row.moved) {
    json["moved_in_bytes"] = row.moved->in_bytes;
    json["moved_out_bytes"] = row.moved->out_bytes;
  }
  if (row.peak_on_chip_bytes) json["peak_on_chip_bytes"] = *row.peak_on_chip_bytes;
  json["cause"] = row.cause.empty() ? Json() : Json(row.cause);
  if (row.roof_s) json["roof_time_s"] = *row.roof_s;
  if (row.expected) {
    json["expected"] = {{"busy_s", row.expected->busy_s},
                        {"kernels_s", row.expected->kernels_s},
                        {"host_s", row.expected->host_s},
                        {"launches", row.expected->launches}};
  }
  Json& arithmetic = json["arithmetic"] = Json::array();
  for (const TypedFlop& part : row.arithmetic) {
    arithmetic.push_back({{"dtype", name_of(part.dtype)},
                          {"unit", part.is_matrix ? "matrix" : "vector"},
                          {"flop", part.flop}});
  }
  return json;
}

Json scope_json(const ScopeReuse& scope) {
  return {{"scope", scope.scope},
          {"offered_bytes", scope.offered_bytes},
          {"captured_bytes", scope.captured_bytes},
          {"capacity_50_bytes", scope.capacity_50_bytes},
          {"capacity_90_bytes", scope.capacity_90_bytes},
          {"capacity_100_bytes", scope.capacity_100_bytes}};
}

Json stall_json(const Stall& stall) {
  return {{"value", stall.value},
          {"kind", stall.kind},
          {"wait_s", stall.wait_s},
          {"steps", stall.steps}};
}

Json need_json(const CapacityNeed& need) { return {{"bytes", need.bytes}, {"step", need.step}}; }

Json capacity_json(const PredictionSummary& summary) {
  Json json = {{"minimum", need_json(summary.minimum)},
               {"whole", need_json(summary.whole)},
               {"sliced_steps", summary.sliced_steps},
               {"tolerated_steps", summary.tolerated_steps}};
  if (!summary.cut_row_steps.empty()) json["cut_row_steps"] = summary.cut_row_steps;
  return json;
}

Json alternative_json(const Alternative& alternative) {
  const bool is_known = alternative.reason.empty();
  return {{"change", alternative.change},
          {"time_ratio", is_known ? Json(alternative.time_ratio) : Json()},
          {"samples_per_s_ratio", is_known ? Json(alternative.speed_ratio) : Json()},
          {"of", alternative.is_expected ? "expected" : "limit"},
          {"no_time_reason", is_known ? Json() : Json(alternative.reason)}};
}

}  // namespace

std::string to_json(const PredictionSummary& summary, const Provenance& provenance) {
  JsonText text;
  add_profile_head(text, "prediction", summary.profile.evidence,
                   {summary.network, summary.title, summary.dims, summary.dtype,
                    summary.training.inference, summary.profile.subject.setup});
  text.add("machine", machine_json(summary));
  text.add("options", options_json(summary));
  text.add("totals", totals_json(summary));
  text.add("expected", expected_json(summary));
  text.add("no_expected_reason", summary.expected ? Json() : Json(summary.no_expected_reason));
  text.add("bounds", bounds_json(summary));
  text.add("no_bounds_reason", summary.bounds ? Json() : Json(summary.no_bounds_reason));
  text.add("least_traffic_bytes",
           summary.least_traffic_bytes ? Json(*summary.least_traffic_bytes) : Json());
  text.add("capacity", capacity_json(summary));
  text.add_list("warnings", summary.warnings, warning_json);
  add_profile_groups(text, {summary.by_class, summary.by_type, summary.by_pass, summary.by_block},
                     iteration_of(summary.profile), Evidence::predicted);
  text.add_list("reuse", summary.reuse, scope_json);
  text.add_list("stalls", summary.stalls, stall_json);
  text.add_list("alternatives", summary.alternatives, alternative_json);
  text.add_list("layers", summary.profile.rows, row_json);
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
