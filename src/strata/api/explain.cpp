// SPDX-License-Identifier: Apache-2.0
#include "strata/api/explain.hpp"

#include "strata/api/predict.hpp"

#include <algorithm>
#include <future>
#include <thread>

namespace strata {
namespace {

/// A request and a machine to be changed.
struct Changed {
  PredictRequest request;
  Machine machine;
};

struct ApplyChange {
  Changed& to;
  const Hardware& now;
  const Graph& graph;
  std::int64_t samples = 1;  ///< how many times the batch it became

  void operator()(const BandwidthTimes& change) {
    to.request.hardware.bytes_per_s = now.bytes_per_s * change.factor;
  }
  void operator()(const ThroughputTimes& change) {
    for (Peak& peak : to.machine.peaks) peak.flop_per_s.value *= change.factor;
    if (to.request.hardware.flop_per_s) *to.request.hardware.flop_per_s *= change.factor;
  }
  void operator()(const CapacityOf& change) { to.request.hardware.capacity_bytes = change.bytes; }
  void operator()(const InDType& change) { to.request.sizes.dtype = change.dtype; }
  void operator()(const BatchTimes& change) {
    const BoundGraph bound = bind_model(graph, to.request.sizes);
    const auto batch = bound.binding.find("batch");
    if (batch == bound.binding.end())
      fail(ErrorKind::unsupported, "the network has no batch to change");
    to.request.sizes.batch = batch->second * change.factor;
    std::erase_if(to.request.sizes.dims,
                  [](const Dimension& dimension) { return dimension.name == "batch"; });
    samples = change.factor;
  }
  void operator()(const OptionSet& change) { set_option(to.request, change.name, change.value); }
  void operator()(const Computed& change) {
    fail(ErrorKind::internal, "'{}' is not for a prediction", change.text);
  }
};

ChangeAnswer answer_to(const Graph& graph, const Machine& machine, const PredictRequest& request,
                       const Hardware& now, const Change& change) {
  try {
    Changed changed{request, machine};
    changed.request.bounds = WantBounds::not_at_all;
    changed.request.wants_alternatives = false;
    changed.request.wants_transfers = false;
    ApplyChange apply{changed, now, graph};
    std::visit(apply, change);
    const double time_s =
        predict_model(graph, changed.machine, changed.request).summary.totals.time_s;
    return {.time_s = time_s / static_cast<double>(apply.samples), .reason = {}};
  } catch (const Error& error) {
    return {.time_s = {}, .reason = error.what()};
  }
}

}  // namespace

PredictionFacts facts_of(const PredictionSummary& summary) {
  PredictionFacts facts{.time_s = summary.totals.time_s,
                        .refetch_bytes = summary.totals.refetch_bytes,
                        .capacity_bytes = summary.hardware.capacity_bytes,
                        .bytes_per_s = summary.hardware.bytes_per_s,
                        .minimum_bytes = summary.minimum.bytes,
                        .minimum_step = summary.minimum.step,
                        .bound_s = {},
                        .reuse = {},
                        .stalls = {}};
  if (summary.bounds) facts.bound_s = summary.bounds->time_s;
  for (const ScopeReuse& scope : summary.reuse) {
    facts.reuse.push_back({scope.scope, scope.offered_bytes, scope.captured_bytes,
                           scope.capacity_50_bytes, scope.capacity_90_bytes,
                           scope.capacity_100_bytes});
  }
  for (const Stall& stall : summary.stalls)
    facts.stalls.push_back({stall.value, stall.kind, stall.wait_s, stall.steps});
  return facts;
}

PredictAgain predict_again(const Graph& graph, const Machine& machine,
                           const PredictRequest& request, const Hardware& hardware) {
  return [&graph, &machine, request, hardware](std::span<const Change> changes) {
    const std::size_t threads =
        std::max<std::size_t>(1, std::min<std::size_t>(std::thread::hardware_concurrency(), 8));
    std::vector<ChangeAnswer> answers(changes.size());
    if (request.options.policy == Policy::exact) {  // the solver takes its time
      for (ChangeAnswer& answer : answers)
        answer.reason = "the exact policy takes too long to be asked again and again";
      return answers;
    }
    std::vector<std::future<void>> workers;
    for (std::size_t first = 0; first < std::min(threads, changes.size()); ++first) {
      workers.push_back(std::async(std::launch::async, [&, first] {
        for (std::size_t i = first; i < changes.size(); i += threads)
          answers[i] = answer_to(graph, machine, request, hardware, changes[i]);
      }));
    }
    for (std::future<void>& worker : workers) worker.get();
    return answers;
  };
}

Machine as_asked(Machine machine, const HardwareOverrides& overrides) {
  constexpr std::string_view who = "as asked";
  if (overrides.bytes_per_s && !machine.memory.empty()) {
    MemoryLevel& outer = machine.memory.back();
    outer.bandwidth_bytes_per_s = Sourced{*overrides.bytes_per_s, std::string(who)};
    outer.mixes.clear();
  }
  if (overrides.flop_per_s) {
    for (Peak& peak : machine.peaks) peak.flop_per_s = {*overrides.flop_per_s, std::string(who)};
  }
  return machine;
}

ExplainedModel explain_model(const Graph& graph, const Machine& machine, PredictRequest request) {
  request.wants_alternatives = false;  // what-ifs say more
  ExplainedModel explained{.iteration = predict_model(graph, machine, request), .explanation = {}};
  const PredictionSummary& summary = explained.iteration.summary;
  const PredictionFacts facts = facts_of(summary);
  const Machine roofs = as_asked(machine, request.hardware);
  explained.explanation =
      explain({.profile = summary.profile,
               .machine = roofs,
               .facts = &facts,
               .predict_again = predict_again(graph, machine, request, summary.hardware)});
  return explained;
}

}  // namespace strata
