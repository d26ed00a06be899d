// SPDX-License-Identifier: Apache-2.0
#include "strata/api/explain.hpp"

#include "strata/api/user_changes.hpp"

namespace strata {

PredictionFacts facts_of(const PredictionSummary& summary) {
  PredictionFacts facts{.refetch_bytes = summary.totals.refetch_bytes,
                        .capacity_bytes = summary.hardware.capacity_bytes,
                        .bytes_per_s = summary.hardware.bytes_per_s,
                        .minimum_bytes = summary.minimum.bytes,
                        .minimum_step = summary.minimum.step,
                        .bound_s = {},
                        .reuse = {},
                        .stalls = {},
                        .memory = summary.memory()};
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

Explanation explain_iteration(const Graph& graph, const Machine& machine,
                              const PredictRequest& request, const PredictedIteration& iteration,
                              const WhatIfProgress& on_progress) {
  const PredictionSummary& summary = iteration.summary;
  const PredictionFacts facts = facts_of(summary);
  const Machine roofs = with_overrides(machine, request.hardware);
  ExplainInput input{
      .profile = summary.profile,
      .machine = roofs,
      .facts = &facts,
      .predict_again = predict_again(graph, machine, request, summary.hardware, on_progress)};
  if (summary.expected) {
    input.expect_again = expect_again(graph, machine, request, on_progress);
    input.changes = user_changes(bind_model(graph, request.sizes), machine, request, facts.memory);
  }
  return explain(input);
}

ExplainedModel explain_model(const Graph& graph, const Machine& machine, PredictRequest request,
                             const WhatIfProgress& on_progress) {
  request.wants_alternatives = false;  // what-ifs say more
  ExplainedModel explained{.iteration = predict_model(graph, machine, request), .explanation = {}};
  explained.explanation =
      explain_iteration(graph, machine, request, explained.iteration, on_progress);
  return explained;
}

}  // namespace strata
