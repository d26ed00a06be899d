// SPDX-License-Identifier: Apache-2.0
#include "strata/report/measurement_summary.hpp"

#include "strata/machine/sourced.hpp"
#include "strata/report/setup_text.hpp"
#include "strata/roofline/roofline.hpp"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

MeasurementTotals measured_totals(const TrainingMeasurement& measured) {
  MeasurementTotals totals;
  totals.iteration = iteration_of(measured.profile);
  if (!measured.iteration_s.empty()) {
    totals.spread_s = median_deviation_of(measured.iteration_s);
    totals.best_s = *std::min_element(measured.iteration_s.begin(), measured.iteration_s.end());
  }
  if (!measured.recorded_s.empty()) totals.recorded_s = median_of(measured.recorded_s);
  const Totals all = total_of(measured.profile);
  totals.flop = all.flop;
  totals.traffic_bytes = all.traffic_bytes();
  totals.launches = all.launches;
  if (const double time_s = totals.iteration.time_s; time_s > 0) {
    totals.samples_per_s = static_cast<double>(measured.samples) / time_s;
    totals.flop_per_s = static_cast<double>(all.flop) / time_s;
  }
  for (const ProfileRow& row : measured.profile.rows) {
    double& pass = row.pass == "forward"  ? totals.forward_s
                   : row.pass == "update" ? totals.update_s
                                          : totals.backward_s;
    pass += row.totals.time_s;
    totals.rows_not_run += row.not_run.empty() ? 0 : 1;
  }
  return totals;
}

}  // namespace

bool MeasurementSummary::has_roofs() const {
  const std::vector<ProfileRow>& rows = measured.profile.rows;
  return !rows.empty() && rows.front().roof_s.has_value();
}

std::optional<double> MeasurementSummary::utilisation() const {
  if (!machine || !machine->flop_per_s || *machine->flop_per_s <= 0) return std::nullopt;
  return totals.flop_per_s / *machine->flop_per_s;
}

MachinePeaks peaks_of(const Machine& machine, DType dtype) {
  MachinePeaks peaks;
  const auto& shipped = shipped_machines();
  const bool ships = std::any_of(shipped.begin(), shipped.end(),
                                 [&](const Machine& other) { return other.name == machine.name; });
  if (ships) peaks.name = machine.name;
  peaks.title = machine.title;
  for (const ComputeUnit unit : {ComputeUnit::matrix, ComputeUnit::vector}) {
    if (const Peak* peak = find_peak(machine, dtype, unit); peak && !peaks.flop_per_s)
      peaks.flop_per_s = peak->flop_per_s.value;
  }
  if (const MemoryLevel* memory = off_chip(machine); memory && memory->bandwidth_bytes_per_s)
    peaks.bytes_per_s = memory->bandwidth_bytes_per_s->value;
  return peaks;
}

namespace {

/// Nothing where the data type says it all.
std::string setup_of(const MeasurementSummary& summary) {
  const std::string precision = precision_text(summary.dtype, false, summary.training);
  std::string setup = setup_text(precision, summary.training, 0);
  return setup == summary.dtype ? "" : setup;
}

}  // namespace

MeasurementSummary summarize(const BoundGraph& bound, TrainingMeasurement measured,
                             const MeasureOptions& options, DType dtype,
                             const std::optional<Machine>& machine) {
  const Graph& graph = *bound.graph;
  MeasurementSummary summary;
  summary.network = graph.name;
  summary.title = graph.title.empty() ? graph.name : graph.title;
  summary.warnings = graph.warnings;
  summary.dtype = name_of(dtype);
  for (const Parameter& parameter : graph.symbols.parameters()) {
    const auto value = bound.binding.find(parameter.name);
    if (value != bound.binding.end()) summary.dims.push_back({parameter.name, value->second});
  }
  summary.training = options.engine.training;
  summary.seed = options.engine.seed;
  summary.warm_up = options.warm_up;
  if (machine) summary.machine = peaks_of(*machine, dtype);
  measured.profile.subject = {.network = summary.network,
                              .title = summary.title,
                              .dtype = summary.dtype,
                              .machine = summary.machine ? summary.machine->name : "",
                              .machine_title = measured.device,
                              .setup = setup_of(summary)};
  if (summary.machine && summary.machine->flop_per_s && summary.machine->bytes_per_s)
    set_roofs(measured.profile, *machine);
  summary.totals = measured_totals(measured);
  summary.by_type = grouped(measured.profile, &ProfileRow::op);
  std::stable_sort(summary.by_type.begin(), summary.by_type.end(),
                   [](const ProfileGroup& a, const ProfileGroup& b) {
                     return a.totals.time_s > b.totals.time_s;
                   });
  summary.by_pass = grouped(measured.profile, &ProfileRow::pass);
  summary.by_block = grouped(measured.profile, &ProfileRow::block);
  summary.by_class = grouped(measured.profile, &ProfileRow::layer_class);
  summary.measured = std::move(measured);
  return summary;
}

}  // namespace strata
