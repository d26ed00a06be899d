// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/sourced.hpp"
#include "strata/report/json_text.hpp"
#include "strata/report/measurement_report.hpp"
#include "strata/report/profile_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <vector>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// Rounds to a tenth of a nanosecond: clocks resolve nanoseconds, and the text is half as long.
double rounded_s(double seconds) {
  constexpr double per_second = 1e10;
  return std::round(seconds * per_second) / per_second;
}

Json rounded_samples(const std::vector<double>& samples) {
  Json list = Json::array();
  for (const double sample : samples) list.push_back(rounded_s(sample));
  return list;
}

/// How a kernel was launched, and what its launch allows; only what is known.
void add_launch(Json& json, const TimelineSpan& kernel) {
  if (kernel.launch.threads_per_block <= 0) return;
  json["blocks"] = kernel.launch.blocks;
  json["threads_per_block"] = kernel.launch.threads_per_block;
  json["registers_per_thread"] = kernel.launch.registers_per_thread;
  json["shared_bytes_per_block"] = kernel.launch.shared_bytes_per_block.value_or(0);
  if (!kernel.occupancy) return;
  json["possible_occupancy"] = kernel.occupancy->share;
  json["limited_by"] = name_of(kernel.occupancy->limit);
}

Json measured_machine(const MeasurementSummary& summary) {
  Json json = {{"name", summary.measured.profile.subject.machine},
               {"title", summary.measured.device}};
  if (summary.machine) {
    json["peaks_of"] = summary.machine->title;
    json["flop_per_s"] = number_or_null(summary.machine->flop_per_s);
    json["bandwidth_bytes_per_s"] = number_or_null(summary.machine->bytes_per_s);
  }
  return json;
}

Json measured_totals_json(const MeasurementSummary& summary) {
  const MeasurementTotals& totals = summary.totals;
  const TrainingMeasurement& measured = summary.measured;
  Json json = iteration_json(totals.iteration);
  json.update({{"spread_s", totals.spread_s},
               {"samples_s", rounded_samples(measured.iteration_s)},
               {"recorded_time_s", number_or_null(totals.recorded_s)},
               {"recorded_samples_s", rounded_samples(measured.recorded_s)},
               {"samples_per_s", totals.samples_per_s},
               {"flop", totals.flop},
               {"flop_per_s", totals.flop_per_s},
               {"utilisation", number_or_null(summary.utilisation())},
               {"traffic_bytes", totals.traffic_bytes},
               {"launches", totals.launches},
               {"forward_time_s", totals.forward_s},
               {"backward_time_s", totals.backward_s},
               {"update_time_s", totals.update_s},
               {"peak_memory_bytes", measured.profile.peak_memory_bytes.value_or(0)},
               {"loss_before", number_or_null(measured.loss_before)},
               {"loss_after", number_or_null(measured.loss_after)},
               {"iterations_run", measured.iterations_run},
               {"samples", measured.samples},
               {"rows_not_run", totals.rows_not_run},
               {"set_up_time_s", rounded_s(measured.set_up_s)},
               {"interrupted", measured.is_interrupted}});
  return json;
}

Json measured_row_json(const ProfileRow& row) {
  Json json = profile_row_json(row, Evidence::measured);
  if (row.wall_s) json["wall_time_s"] = *row.wall_s;
  const std::vector<double>& samples = row.timed_samples_s();
  json["spread_s"] = samples.empty() ? Json() : Json(median_deviation_of(samples));
  json["samples_s"] = rounded_samples(row.samples_s);
  if (!row.kernel_samples_s.empty())
    json["kernel_samples_s"] = rounded_samples(row.kernel_samples_s);
  json["implementation"] = row.implementation;
  json["not_run"] = row.not_run.empty() ? Json() : Json(row.not_run);
  if (row.roof_s) json["roof_time_s"] = *row.roof_s;
  return json;
}

// Six digits: counts differ in the last digits from run to run.
double as_counted(double value) {
  if (value == std::round(value) && std::abs(value) < 1e15) return value;
  double rounded = 0;
  const std::string text = fmt::format("{:.6g}", value);
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

Json counter_values_json(const ProfileCounters& counters, const CounterValues& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i)
    json[counters.columns[i].key] = values[i] ? Json(as_counted(*values[i])) : Json();
  return json;
}

Json counters_json(const ProfileCounters& counters) {
  Json columns = Json::array();
  for (const CounterColumn& column : counters.columns)
    columns.push_back({{"key", column.key}, {"unit", column.unit}, {"about", column.about}});
  Json absent = Json::array();
  for (const AbsentColumn& column : counters.absent)
    absent.push_back({{"key", column.key}, {"reason", column.reason}});
  Json json = {{"preset", counters.preset},
               {"source", counters.source},
               {"columns", std::move(columns)},
               {"absent", std::move(absent)}};
  if (!counters.reason.empty()) json["reason"] = counters.reason;
  if (!counters.no_kernels_reason.empty()) json["no_kernels_reason"] = counters.no_kernels_reason;
  return json;
}

ProfileHead measured_head(const MeasurementSummary& summary) {
  return {summary.network,
          summary.title,
          summary.dims,
          summary.dtype,
          summary.training.inference,
          summary.measured.profile.subject.setup};
}

}  // namespace

std::string to_json(const MeasurementSummary& summary, const Provenance& provenance) {
  const TrainingMeasurement& measured = summary.measured;
  JsonText text;
  add_profile_head(text, "measurement", measured.profile.evidence, measured_head(summary));
  text.add("machine", measured_machine(summary));
  text.add("options", {{"optimizer", name_of(summary.training.optimizer)},
                       {"seed", summary.seed},
                       {"warm_up", summary.warm_up},
                       {"iterations", measured.iteration_s.size()}});
  text.add("totals", measured_totals_json(summary));
  text.add("no_recording_reason",
           measured.no_recording.empty() ? Json() : Json(measured.no_recording));
  text.add_list("warnings", summary.warnings, warning_json);
  text.add("notes", measured.notes);
  add_profile_groups(text, {summary.by_class, summary.by_type, summary.by_pass, summary.by_block},
                     summary.totals.iteration, Evidence::measured);
  const ProfileCounters& counters = measured.profile.counters;
  if (!counters.preset.empty()) text.add("counters", counters_json(counters));
  text.add_list("layers", measured.profile.rows, [&](const ProfileRow& row) {
    Json json = measured_row_json(row);
    if (!row.counters.empty()) json["counters"] = counter_values_json(counters, row.counters);
    return json;
  });
  text.add_list("kernels", measured.kernels, [&](const TimelineSpan& kernel) {
    const ProfileRow& row = measured.profile.rows[kernel.row];
    Json json{{"name", kernel.name},
              {"layer", row.layer},
              {"pass", row.pass},
              {"begin_s", rounded_s(kernel.begin_s)},
              {"time_s", rounded_s(kernel.seconds)}};
    add_launch(json, kernel);
    return json;
  });
  if (!measured.profile.counted_kernels.empty()) {
    text.add_list("counted_kernels", measured.profile.counted_kernels,
                  [&](const CountedKernel& kernel) {
                    const ProfileRow& row = measured.profile.rows[kernel.row];
                    return Json{{"name", kernel.name},
                                {"row", kernel.row},
                                {"layer", row.layer},
                                {"pass", row.pass},
                                {"counters", counter_values_json(counters, kernel.values)}};
                  });
  }
  Json origin = to_json(provenance);
  origin["host"] = summary.host;
  origin["date"] = summary.date;
  origin["device"] = measured.device;
  origin["versions"] = measured.versions;
  origin["clock_hz"] = number_or_null(measured.conditions.clock_hz);
  origin["memory_clock_hz"] = number_or_null(measured.conditions.memory_clock_hz);
  origin["power_w"] = number_or_null(measured.conditions.power_w);
  text.add("provenance", origin);
  return std::move(text).finish();
}

std::string to_json(std::span<const NetworkMeasurement> networks, const Provenance& provenance) {
  JsonText text;
  text.add("schema_version", 1);
  text.add("kind", "networks");
  text.add_list("networks", networks, [](const NetworkMeasurement& network) {
    Json json = {{"name", network.model}, {"reason", nullptr}};
    if (!network.summary) {
      json["reason"] = network.reason;
      return json;
    }
    const MeasurementSummary& summary = *network.summary;
    json["model"] = profile_model_json(measured_head(summary));
    json["device"] = summary.measured.device;
    json["versions"] = summary.measured.versions;
    json["rows"] = summary.measured.profile.rows.size();
    Json totals = measured_totals_json(summary);
    totals.erase("samples_s");
    totals.erase("recorded_samples_s");
    json["totals"] = std::move(totals);
    json["date"] = summary.date;
    return json;
  });
  text.add("provenance", to_json(provenance));
  return std::move(text).finish();
}

}  // namespace strata
