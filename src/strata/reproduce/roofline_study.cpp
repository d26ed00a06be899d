// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/roofline_study.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/hardware.hpp"
#include "strata/predict/policy.hpp"
#include "strata/report/prediction_summary.hpp"
#include "strata/reproduce/run_tasks.hpp"
#include "strata/roofline/counted_work.hpp"
#include "strata/training/program.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::string_view paper_machine = "v100-nersc";
constexpr DType study_dtypes[] = {DType::fp16, DType::fp32};

/// Extents of the graph are bound; the rest are parameters of the network.
bool is_extent(std::string_view parameter) {
  return parameter == "batch" || parameter == "sequence";
}

/// Of plans that take equal time, the one that moves least: bytes are what is looked at here.
constexpr PredictOptions least_traffic{.objective = Objective::traffic,
                                       .tries_smaller_capacities = false};

PredictionSummary summary_of(const BoundGraph& bound, const Hardware& hardware,
                             const TrainingOptions& training) {
  const Program program = make_program(bound, training);
  const AccessList list(program);
  const Decision decision = decide(list, hardware, least_traffic);
  const Prediction prediction = simulate(list, decision);
  return summarize(program, decision.plan, prediction, hardware);
}

/// The last pass of an iteration has all the time after the passes before it: writing back after
/// its last step, too.
Work last_pass(const PredictionSummary& summary, std::string_view pass) {
  Work sum;
  double before_s = 0;
  for (const ProfileRow& row : summary.profile.rows) {
    if (!row.pass.starts_with(pass)) {
      before_s += row.totals.time_s;
      continue;
    }
    sum += Work{.flop = row.totals.flop,
                .bytes = row.totals.traffic_bytes(),
                .launches = row.totals.launches,
                .time_s = 0,
                .zero_flop_launches = row.totals.zero_flop_launches,
                .zero_flop_s = row.totals.zero_flop_s,
                .arithmetic = row.arithmetic};
  }
  sum.time_s = summary.totals.time_s - before_s;
  return sum;
}

}  // namespace

const std::vector<KernelSweep>& kernel_sweeps() {
  static const std::vector<KernelSweep> sweeps = {
      {"conv2d", "batch", {16, 32, 64}},        {"conv2d", "filters", {64, 128, 256, 512}},
      {"conv2d", "kernel", {3, 5, 7, 9}},       {"conv2d", "stride", {1, 2, 3}},
      {"lstm", "batch", {16, 32, 64, 128}},     {"lstm", "sequence", {16, 32, 64, 128}},
      {"lstm", "features", {32, 64, 128, 256}}, {"lstm", "hidden", {16, 32, 64, 128}},
  };
  return sweeps;
}

SweepNetwork sweep_network(const KernelSweep& sweep, std::int64_t value) {
  if (!is_extent(sweep.parameter)) {
    return {build_network(fmt::format("{}:{}={}", sweep.kernel, sweep.parameter, value)), {}};
  }
  const std::string symbol = sweep.parameter == "batch" ? "batch" : "seq";
  return {build_network(sweep.kernel), {{symbol, value}}};
}

std::optional<double> KernelPoint::counter(std::string_view key) const {
  const auto found = std::find_if(counters.begin(), counters.end(),
                                  [&](const auto& one) { return one.key == key; });
  return found == counters.end() ? std::nullopt : std::optional(found->value);
}

std::optional<double> KernelPoint::counted_bytes() const {
  const auto read = counter("dram_read_bytes");
  const auto written = counter("dram_write_bytes");
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

std::optional<double> KernelPoint::counted_matrix_flop() const {
  std::optional<double> sum;
  for (const SweepCounter& one : counters) {
    if (one.key.starts_with("tensor_") && one.key.ends_with("_flop"))
      sum = sum.value_or(0) + one.value;
  }
  return sum;
}

std::optional<double> KernelPoint::counted_flop() const {
  const auto matrix = counted_matrix_flop();
  const auto fp32 = counter("fp32_flop");
  if (!matrix || !fp32) return std::nullopt;
  return *matrix + *fp32 + counter("fp64_flop").value_or(0);
}

Work KernelPoint::drawn_work() const {
  Work drawn =
      counted_work(work, dtype, [&](std::string_view key) { return counter(key); }).value_or(work);
  drawn.levels.clear();  // the paper's plane has the bytes of the device's memory alone
  return drawn;
}

std::vector<const KernelPoint*> SweepResult::track(DType dtype, std::string_view pass) const {
  std::vector<const KernelPoint*> found;
  for (const KernelPoint& point : points) {
    if (point.dtype == dtype && point.pass == pass) found.push_back(&point);
  }
  return found;
}

SweepResult predict_sweep(const KernelSweep& sweep, const Machine& machine) {
  SweepResult result{sweep, {}};
  for (const DType dtype : study_dtypes) {
    const Hardware hardware = hardware_of(machine, dtype);
    std::vector<KernelPoint> backward;
    for (const std::int64_t value : sweep.values) {
      const SweepNetwork network = sweep_network(sweep, value);
      const BoundGraph bound = bind_graph(network.graph, network.binding, dtype);
      const PredictionSummary inference = summary_of(bound, hardware, {.inference = true});
      const PredictionSummary training =
          summary_of(bound, hardware, {.optimizer = Optimizer::none, .loss = Loss::none});
      result.points.push_back({value, dtype, "forward", last_pass(inference, "forward")});
      backward.push_back({value, dtype, "backward", last_pass(training, "backward")});
    }
    result.points.insert(result.points.end(), backward.begin(), backward.end());
  }
  return result;
}

const SweepResult& RooflineStudy::sweep(std::string_view kernel, std::string_view parameter) const {
  const auto found = std::find_if(sweeps.begin(), sweeps.end(), [&](const SweepResult& result) {
    return result.sweep.kernel == kernel && result.sweep.parameter == parameter;
  });
  STRATA_CHECK(found != sweeps.end(), "the study has every sweep of the paper");
  return *found;
}

Roofs roofs_of_study(const RooflineStudy& study) {
  const bool has_matrix_units =
      std::any_of(study.machine.peaks.begin(), study.machine.peaks.end(),
                  [](const auto& peak) { return peak.unit == ComputeUnit::matrix; });
  return roofs_of(study.machine, {.kind = has_matrix_units ? RoofChoice::Kind::tensor
                                                           : RoofChoice::Kind::automatic});
}

double run_time_s(const KernelPoint& point, const Roofs& roofs) {
  return std::max(point.work.time_s,
                  static_cast<double>(point.work.launches) * roofs.launch_latency_s.value_or(0));
}

PlacedPoint placed(const RooflineStudy& study, const Roofs& roofs, const KernelPoint& point) {
  Work work = point.drawn_work();
  const Bound bound = place(work, roofs).bound;
  if (study.evidence == Evidence::predicted) work.time_s = run_time_s(point, roofs);
  RooflinePoint at = place(work, roofs);
  at.bound = bound;  // a run time at the launch ceiling lies on the corner of the box
  return {std::move(work), std::move(at)};
}

RooflineStudy predict_roofline_study(const std::function<void(double)>& progress) {
  RooflineStudy study{load_machine(paper_machine), Evidence::predicted, "V100 of the paper", {}};
  const std::vector<KernelSweep>& sweeps = kernel_sweeps();
  study.sweeps.resize(sweeps.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < sweeps.size(); ++i)
    tasks.emplace_back([&, i] { study.sweeps[i] = predict_sweep(sweeps[i], study.machine); });
  run_tasks(tasks, progress);
  return study;
}

}  // namespace strata
