// SPDX-License-Identifier: Apache-2.0
#include "strata/base/units.hpp"
#include "strata/predict/thesis.hpp"
#include "strata/strata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace strata {
namespace {

/// The type in which most of the network's numbers are stored: what rates are looked up for.
DType main_dtype(const BoundGraph& bound) {
  std::map<DType, double> bytes;
  for (TensorId id = 0; id < bound.tensors.size(); ++id) {
    const BoundTensor& tensor = bound.tensors[id];
    const bool was_floating = is_floating(bound.graph->tensors[id].type.dtype);
    if (was_floating) bytes[tensor.dtype] += static_cast<double>(tensor.bytes);
  }
  const auto most = std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
    return a.second < b.second;
  });
  return most == bytes.end() ? DType::fp32 : most->first;
}

Hardware hardware_for(const Machine& machine, DType dtype, const PredictRequest& request) {
  Hardware hardware = hardware_of(machine, dtype, request.hardware);
  hardware.mac_is_one = request.mac_is_one;
  return hardware;
}

struct Outcome {
  double time_s = 0;
  double samples_per_s = 0;
};

Outcome outcome_of(const Program& program, const Hardware& hardware,
                   const PredictOptions& options) {
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

  std::vector<Alternative> all() {
    more_capacity();
    more_bandwidth();
    smaller_type();
    smaller_batch();
    return std::move(found_);
  }

 private:
  void add(std::string change, const Outcome& outcome, bool changes_samples = false) {
    const PredictionTotals& now = iteration_.summary.totals;
    found_.push_back({std::move(change), outcome.time_s / now.time_s,
                      outcome.samples_per_s / now.samples_per_s, changes_samples});
  }

  // The next capacity that changes something: at which every step holds all its values, or twice
  // what there is.
  void more_capacity() {
    Hardware more = hardware_;
    more.capacity_bytes = iteration_.summary.whole.bytes > hardware_.capacity_bytes
                              ? iteration_.summary.whole.bytes
                              : 2 * hardware_.capacity_bytes;
    add(fmt::format("{} on-chip", format_bytes(static_cast<double>(more.capacity_bytes))),
        outcome_of(iteration_.program, more, request_.options));
  }

  void more_bandwidth() {
    Hardware more = hardware_;
    more.bytes_per_s *= 2;
    add(format_bytes_per_s(more.bytes_per_s),
        outcome_of(iteration_.program, more, request_.options));
  }

  void smaller_type() {
    const DType now = main_dtype(*iteration_.bound);
    if (now != DType::fp32 && now != DType::tf32 && now != DType::fp64) return;
    for (const DType smaller : {DType::bf16, DType::fp16}) {
      const bool has_rate = std::any_of(machine_.peaks.begin(), machine_.peaks.end(),
                                        [&](const Peak& peak) { return peak.dtype == smaller; });
      if (!has_rate) continue;
      PredictRequest other = request_;
      other.sizes.dtype = smaller;
      add(std::string(name_of(smaller)), predicted(other, smaller));
      return;
    }
  }

  void smaller_batch() {
    const auto batch = iteration_.bound->binding.find("batch");
    if (batch == iteration_.bound->binding.end() || batch->second < 2) return;
    PredictRequest other = request_;
    other.sizes.batch = batch->second / 2;
    std::erase_if(other.sizes.dims,
                  [](const Dimension& dimension) { return dimension.name == "batch"; });
    add(fmt::format("batch {}", batch->second / 2),
        predicted(other, main_dtype(*iteration_.bound)), /*changes_samples=*/true);
  }

  Outcome predicted(const PredictRequest& request, DType dtype) const {
    const BoundGraph bound = bind_model(graph_, request.sizes);
    return outcome_of(make_program(bound, request.training), hardware_for(machine_, dtype, request),
                      request.options);
  }

  const Graph& graph_;
  const Machine& machine_;
  const PredictRequest& request_;
  const PredictedIteration& iteration_;
  const Hardware& hardware_;
  std::vector<Alternative> found_;
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
  iteration.program = make_program(*iteration.bound, request.training);
  const AccessList list(iteration.program);
  iteration.decision = decide(list, hardware, request.options);
  iteration.prediction =
      simulate(list, iteration.decision,
               request.wants_transfers ? Record::transfers : Record::steps);

  PredictionSummary& summary = iteration.summary;
  summary =
      summarize(iteration.program, iteration.decision.plan, iteration.prediction, hardware);
  summary.dtype = name_of(dtype);
  summary.machine = machine.name;
  summary.machine_title = machine.title;
  summary.device_memory_bytes = outer_memory_bytes(machine);
  summary.training = request.training;
  summary.options = request.options;
  summary.preset = request.preset;
  summary.no_bounds_reason = "not computed yet";
  if (request.wants_alternatives)
    summary.alternatives = Alternatives(graph, machine, request, iteration).all();
  return iteration;
}

}  // namespace strata
