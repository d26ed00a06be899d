// SPDX-License-Identifier: Apache-2.0
#include "strata/api/predict.hpp"

#include "strata/base/units.hpp"
#include "strata/predict/bounds/time_bound.hpp"
#include "strata/predict/bounds/traffic_bound.hpp"
#include "strata/predict/thesis.hpp"
#include "strata/training/split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>
#include <utility>

namespace strata {

Hardware hardware_for(const Machine& machine, DType dtype, const PredictRequest& request) {
  Hardware hardware = hardware_of(machine, dtype, request.hardware);
  hardware.mac_is_one = request.mac_is_one;
  return hardware;
}

namespace {

Program program_of(const BoundGraph& bound, const PredictRequest& request) {
  Program program = make_program(bound, request.training);
  const std::int64_t part_bytes = request.options.granularity_bytes;
  return part_bytes > 0 ? split_values(program, part_bytes) : program;
}

void find_bounds(PredictionSummary& summary, const AccessList& list, const Hardware& hardware,
                 const Prediction& prediction, WantBounds wanted) {
  if (wanted == WantBounds::not_at_all) summary.no_bounds_reason = "not asked for";
  if (wanted == WantBounds::automatic)
    summary.no_bounds_reason = reason_against_bounds(list.program).value_or("");
  if (!summary.no_bounds_reason.empty()) return;
  const std::int64_t capacity_bytes = hardware.capacity_bytes;
  const std::int64_t model_bytes = model_traffic_bound_at(list.program, capacity_bytes);
  const TimeBound time = time_bound(list, hardware, model_bytes, &prediction);
  summary.bounds = {
      .traffic_physical_bytes = physical_traffic_bound(list.program).bytes_at(capacity_bytes),
      .traffic_model_bytes = model_bytes,
      .time_s = time.time_s,
      .time_from = std::string(name_of(time.largest))};
}

struct Outcome {
  double time_s = 0;
  double samples_per_s = 0;
};

// A hint need not be the last half percent of a prediction: plans for just this capacity do.
Outcome outcome_of(const Program& program, const Hardware& hardware, PredictOptions options) {
  options.tries_smaller_capacities = false;
  const double time_s = predict(AccessList(program), hardware, options, Record::totals).time_s;
  return {time_s, static_cast<double>(program.samples) / time_s};
}

/// Predicts the same iteration again, with one thing changed each time.
class Alternatives {
 public:
  Alternatives(const Graph& graph, const Machine& machine, const PredictRequest& request,
               const PredictedIteration& iteration)
      : graph_(graph),
        machine_(machine),
        request_(request),
        iteration_(iteration),
        hardware_(iteration.summary.hardware) {}

  /// One thread each: none of them needs another.
  std::vector<Alternative> all() const {
    std::future<std::optional<Alternative>> tries[] = {
        std::async(std::launch::async, [this] { return more_capacity(); }),
        std::async(std::launch::async, [this] { return more_bandwidth(); }),
        std::async(std::launch::async, [this] { return smaller_type(); }),
        std::async(std::launch::async, [this] { return smaller_batch(); })};
    std::vector<Alternative> found;
    for (auto& attempt : tries) {
      if (std::optional<Alternative> alternative = attempt.get())
        found.push_back(std::move(*alternative));
    }
    return found;
  }

 private:
  using Maybe = std::optional<Alternative>;

  Alternative compared(std::string change, const Outcome& outcome,
                       bool changes_samples = false) const {
    const PredictionTotals& now = iteration_.summary.totals;
    return {std::move(change), outcome.time_s / now.time_s,
            outcome.samples_per_s / now.samples_per_s, changes_samples};
  }

  // The next capacity that changes something: at which every step holds all its values, or twice
  // what there is.
  Maybe more_capacity() const {
    Hardware more = hardware_;
    more.capacity_bytes = iteration_.summary.whole.bytes > hardware_.capacity_bytes
                              ? iteration_.summary.whole.bytes
                              : 2 * hardware_.capacity_bytes;
    return compared(
        fmt::format("{} on-chip", format_capacity(static_cast<double>(more.capacity_bytes))),
        outcome_of(iteration_.program, more, request_.options));
  }

  Maybe more_bandwidth() const {
    Hardware more = hardware_;
    more.bytes_per_s *= 2;
    return compared(format_bytes_per_s(more.bytes_per_s),
                    outcome_of(iteration_.program, more, request_.options));
  }

  Maybe smaller_type() const {
    const DType now = main_dtype(*iteration_.bound);
    if (now != DType::fp32 && now != DType::tf32 && now != DType::fp64) return {};
    for (const DType smaller : {DType::bf16, DType::fp16}) {
      const bool has_rate = std::any_of(machine_.peaks.begin(), machine_.peaks.end(),
                                        [&](const Peak& peak) { return peak.dtype == smaller; });
      if (!has_rate) continue;
      PredictRequest other = request_;
      other.sizes.dtype = smaller;
      return compared(std::string(name_of(smaller)), predicted(other, smaller));
    }
    return {};
  }

  Maybe smaller_batch() const {
    const auto batch = iteration_.bound->binding.find("batch");
    if (batch == iteration_.bound->binding.end() || batch->second < 2) return {};
    PredictRequest other = request_;
    other.sizes.batch = batch->second / 2;
    std::erase_if(other.sizes.dims,
                  [](const Dimension& dimension) { return dimension.name == "batch"; });
    return compared(fmt::format("batch {}", batch->second / 2),
                    predicted(other, main_dtype(*iteration_.bound)), /*changes_samples=*/true);
  }

  Outcome predicted(const PredictRequest& request, DType dtype) const {
    const BoundGraph bound = bind_model(graph_, request.sizes);
    return outcome_of(program_of(bound, request), hardware_for(machine_, dtype, request),
                      request.options);
  }

  const Graph& graph_;
  const Machine& machine_;
  const PredictRequest& request_;
  const PredictedIteration& iteration_;
  const Hardware& hardware_;
};

}  // namespace

PredictRequest thesis_request() {
  PredictRequest request;
  request.preset = "thesis";
  request.mac_is_one = true;
  request.training = thesis_training();
  request.options = thesis_prediction();
  return request;
}

PredictedIteration predict_model(const Graph& graph, const Machine& machine,
                                 const PredictRequest& request) {
  PredictedIteration iteration;
  iteration.bound = std::make_unique<BoundGraph>(bind_model(graph, request.sizes));
  const DType dtype = main_dtype(*iteration.bound);
  const Hardware hardware = hardware_for(machine, dtype, request);
  iteration.program = program_of(*iteration.bound, request);
  const AccessList list(iteration.program);
  iteration.decision = decide(list, hardware, request.options);
  iteration.prediction = simulate(list, iteration.decision,
                                  request.wants_transfers ? Record::transfers : Record::steps);

  PredictionSummary& summary = iteration.summary;
  summary = summarize(iteration.program, iteration.decision.plan, iteration.prediction, hardware);
  summary.dtype = name_of(dtype);
  summary.machine = machine.name;
  summary.machine_title = machine.title;
  summary.profile.subject = {.network = summary.network,
                             .title = summary.title,
                             .dtype = summary.dtype,
                             .machine = machine.name,
                             .machine_title = machine.title};
  summary.device_memory_bytes = outer_memory_bytes(machine);
  summary.training = request.training;
  summary.options = request.options;
  summary.preset = request.preset;
  summary.least_traffic_bytes = iteration.decision.least_traffic_bytes;
  find_bounds(summary, list, hardware, iteration.prediction, request.bounds);
  // The solver takes its time, and wants the process for itself; what takes no time (a network of
  // reshapes) cannot take less.
  if (request.wants_alternatives && request.options.policy != Policy::exact &&
      summary.totals.time_s > 0)
    summary.alternatives = Alternatives(graph, machine, request, iteration).all();
  return iteration;
}

}  // namespace strata
