// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/sourced.hpp"
#include "strata/report/measurement_report.hpp"
#include "strata/report/profile_json.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <vector>

namespace strata {
namespace {

using Json = nlohmann::ordered_json;

// Clocks tell nanoseconds at best: a tenth of one keeps all they say, in half the characters.
double as_told(double seconds) {
  constexpr double per_second = 1e10;
  return std::round(seconds * per_second) / per_second;
}

Json told_samples(const std::vector<double>& samples) {
  Json list = Json::array();
  for (const double sample : samples) list.push_back(as_told(sample));
  return list;
}

template <class Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

Json measured_machine(const MeasurementSummary& summary) {
  Json json = {{"name", summary.measured.profile.subject.machine},
               {"title", summary.measured.device}};
  if (summary.machine) {
    json["peaks_of"] = summary.machine->title;
    json["flop_per_s"] = or_null(summary.machine->flop_per_s);
    json["bandwidth_bytes_per_s"] = or_null(summary.machine->bytes_per_s);
  }
  return json;
}

Json measured_totals_json(const MeasurementSummary& summary) {
  const MeasurementTotals& totals = summary.totals;
  const TrainingMeasurement& measured = summary.measured;
  return {{"time_s", totals.time_s},
          {"spread_s", totals.spread_s},
          {"samples_s", told_samples(measured.iteration_s)},
          {"layers_time_s", totals.layers_s},
          {"kernels_time_s", or_null(totals.kernels_s)},
          {"recorded_time_s", or_null(totals.recorded_s)},
          {"recorded_samples_s", told_samples(measured.recorded_s)},
          {"samples_per_s", totals.samples_per_s},
          {"flop", totals.flop},
          {"flop_per_s", totals.flop_per_s},
          {"utilisation", or_null(summary.utilisation())},
          {"traffic_bytes", totals.traffic_bytes},
          {"launches", totals.launches},
          {"forward_time_s", totals.forward_s},
          {"backward_time_s", totals.backward_s},
          {"update_time_s", totals.update_s},
          {"peak_memory_bytes", measured.peak_bytes},
          {"loss_before", or_null(measured.loss_before)},
          {"loss_after", or_null(measured.loss_after)},
          {"iterations_run", measured.iterations_run},
          {"samples", measured.samples},
          {"rows_not_run", totals.rows_not_run},
          {"interrupted", measured.is_interrupted}};
}

Json measured_row_json(const ProfileRow& row, const MeasuredRow& detail) {
  Json json = profile_row_json(row, Evidence::measured);
  if (row.wall_s) json["wall_time_s"] = *row.wall_s;
  const std::vector<double>& samples =
      detail.kernel_samples_s.empty() ? detail.samples_s : detail.kernel_samples_s;
  json["spread_s"] = samples.empty() ? Json() : Json(median_deviation_of(samples));
  json["samples_s"] = told_samples(detail.samples_s);
  if (!detail.kernel_samples_s.empty())
    json["kernel_samples_s"] = told_samples(detail.kernel_samples_s);
  json["implementation"] = detail.implementation;
  json["not_run"] = detail.not_run.empty() ? Json() : Json(detail.not_run);
  return json;
}

}  // namespace

std::string to_json(const MeasurementSummary& summary, const Provenance& provenance) {
  const TrainingMeasurement& measured = summary.measured;
  JsonText text;
  add_profile_head(
      text, "measurement", measured.profile.evidence,
      {summary.network, summary.title, summary.dims, summary.dtype, summary.training.inference});
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
                     summary.totals.layers_s, Evidence::measured);
  std::vector<std::size_t> rows(measured.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  text.add_list("layers", rows, [&](std::size_t i) {
    return measured_row_json(measured.profile.rows[i], measured.rows[i]);
  });
  text.add_list("kernels", measured.kernels, [&](const TimelineSpan& kernel) {
    const ProfileRow& row = measured.profile.rows[kernel.row];
    return Json{{"name", kernel.name},
                {"layer", row.layer},
                {"pass", row.pass},
                {"begin_s", as_told(kernel.begin_s)},
                {"time_s", as_told(kernel.seconds)}};
  });
  Json origin = to_json(provenance);
  origin["host"] = summary.host;
  origin["date"] = summary.date;
  origin["device"] = measured.device;
  origin["versions"] = measured.versions;
  origin["clock_hz"] = or_null(measured.conditions.clock_hz);
  origin["memory_clock_hz"] = or_null(measured.conditions.memory_clock_hz);
  origin["power_w"] = or_null(measured.conditions.power_w);
  text.add("provenance", origin);
  return std::move(text).finish();
}

}  // namespace strata
