// SPDX-License-Identifier: Apache-2.0
#include "strata/report/prediction_summary.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/capacity.hpp"
#include "strata/predict/profile_of.hpp"
#include "strata/predict/simulate.hpp"
#include "strata/report/prediction_reuse.hpp"

#include <algorithm>
#include <unordered_map>

namespace strata {
namespace {

std::string_view kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::input: return "input";
    case ValueKind::feature: return "feature";
    case ValueKind::saved: return "saved";
    case ValueKind::weight: return "weight";
    case ValueKind::constant: return "constant";
    case ValueKind::gradient: return "gradient";
    case ValueKind::weight_gradient: return "weight_gradient";
    case ValueKind::state: return "state";
  }
  return "";
}

std::vector<Stall> stalls_of(const Program& program, const Prediction& prediction) {
  std::unordered_map<ValueId, std::size_t> index;
  std::vector<std::pair<ValueId, Stall>> found;
  for (const StepResult& result : prediction.steps) {
    if (result.cause == no_value || result.wait_s <= 0) continue;
    const auto [place, is_new] = index.try_emplace(result.cause, found.size());
    if (is_new) found.push_back({result.cause, {}});
    found[place->second].second.wait_s += result.wait_s;
    ++found[place->second].second.steps;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second.wait_s > b.second.wait_s; });
  constexpr std::size_t most = 50;  // the tail explains nothing
  found.resize(std::min(found.size(), most));
  std::vector<Stall> stalls;
  for (auto& [value, stall] : found) {
    stall.value = value_name(program, value);
    stall.kind = kind_name(program.values[value].kind);
    stalls.push_back(std::move(stall));
  }
  return stalls;
}

PredictionTotals totals_of(const Program& program, const Prediction& prediction,
                           const Hardware& hardware) {
  PredictionTotals totals;
  totals.time_s = prediction.time_s;
  totals.compute_time_s = prediction.compute_s;
  totals.stall_time_s = prediction.stall_s;
  totals.drain_time_s = prediction.drain_s;
  totals.traffic_in_bytes = prediction.in_bytes;
  totals.traffic_out_bytes = prediction.out_bytes;
  totals.refetch_bytes = prediction.refetch_bytes;
  totals.peak_on_chip_bytes = prediction.peak_occupied_bytes;
  totals.steps = static_cast<std::int64_t>(program.steps.size());
  totals.samples = program.samples;
  for (const Step& step : program.steps)
    totals.flop = checked_add(totals.flop, operations_of(step, hardware));
  if (prediction.time_s > 0) {
    const double bytes = static_cast<double>(totals.traffic_bytes());
    totals.average_bandwidth_bytes_per_s = bytes / prediction.time_s;
    totals.utilisation = prediction.compute_s / prediction.time_s;
    totals.samples_per_s = static_cast<double>(program.samples) / prediction.time_s;
  }
  return totals;
}

/// The program is bound to one micro-batch; the batch that people see is that of the iteration.
void describe_network(PredictionSummary& summary, const Program& program) {
  const BoundGraph& bound = *program.bound;
  const Graph& graph = *bound.graph;
  summary.network = graph.name;
  summary.title = graph.title.empty() ? graph.name : graph.title;
  summary.warnings = graph.warnings;
  for (const Parameter& parameter : graph.symbols.parameters()) {
    const auto value = bound.binding.find(parameter.name);
    if (value == bound.binding.end()) continue;
    const bool is_batch = parameter.name == "batch";
    summary.dims.push_back({parameter.name, is_batch ? program.samples : value->second});
  }
  summary.is_recorded = graph.recording != nullptr;
  if (summary.is_recorded) summary.dims.push_back({"batch", program.samples});
}

void find_needs(PredictionSummary& summary, const Program& program, const Plan& plan) {
  StepId least_step = 0;
  StepId whole_step = 0;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const StepNeed need = need_of(program, step);
    if (need.least_bytes > summary.minimum.bytes) {
      summary.minimum.bytes = need.least_bytes;
      least_step = step;
    }
    if (need.all_bytes > summary.whole.bytes) {
      summary.whole.bytes = need.all_bytes;
      whole_step = step;
    }
    if (fit_of(need, plan) == Fit::slices) {
      const Slicing slicing = slicing_of(program, step, plan.capacity_bytes);
      if (slicing.slices > 1) summary.sliced_steps.push_back(name_of(program, step));
      if (slicing.cuts_rows) summary.cut_row_steps.push_back(name_of(program, step));
      if (slicing.cuts_rows && need.rows_bytes > summary.widest.bytes)
        summary.widest = {.bytes = need.rows_bytes, .step = name_of(program, step)};
    } else if (fit_of(need, plan.capacity_bytes) == Fit::slices) {
      summary.tolerated_steps.push_back(name_of(program, step));
    }
  }
  if (program.steps.empty()) return;
  summary.minimum.step = name_of(program, least_step);
  summary.whole.step = name_of(program, whole_step);
}

}  // namespace

PredictionSummary summarize(const Program& program, const Plan& plan, const Prediction& prediction,
                            const Hardware& hardware) {
  PredictionSummary summary;
  if (program.bound != nullptr) describe_network(summary, program);
  summary.hardware = hardware;
  summary.totals = totals_of(program, prediction, hardware);
  PredictedProfile predicted = profile_of(program, prediction, hardware);
  summary.profile = std::move(predicted.profile);
  summary.by_class = std::move(predicted.by_class);
  summary.totals.footprint_bytes = summary.profile.peak_memory_bytes.value();
  summary.by_type = grouped(summary.profile, &ProfileRow::op);
  std::stable_sort(summary.by_type.begin(), summary.by_type.end(),
                   [](const ProfileGroup& a, const ProfileGroup& b) {
                     return a.totals.time_s > b.totals.time_s;
                   });
  summary.by_pass = grouped(summary.profile, &ProfileRow::pass);
  summary.by_block = grouped(summary.profile, &ProfileRow::block);
  summary.reuse = reuse_by_scope(program, plan);
  summary.stalls = stalls_of(program, prediction);
  find_needs(summary, program, plan);
  return summary;
}

}  // namespace strata
