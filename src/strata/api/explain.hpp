// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/explain/explain.hpp"

/// The façade of explain/ for predictions, which explain/ itself cannot make.
namespace strata {

/// What a prediction knows beyond its rows.
PredictionFacts facts_of(const PredictionSummary& summary);

/// Predicts the iteration again with each change, side by side. The same as predict_model of a
/// request with that change; what it refuses is a reason. Everything must outlive the function.
PredictAgain predict_again(const Graph& graph, const Machine& machine,
                           const PredictRequest& request, const Hardware& hardware);

/// The machine with the bandwidth and the rates that were asked for instead of its own: whose roofs
/// a prediction lies under.
Machine as_asked(Machine machine, const HardwareOverrides& overrides);

/// Predicts a network and explains it.
struct ExplainedModel {
  PredictedIteration iteration;
  Explanation explanation;
};
ExplainedModel explain_model(const Graph& graph, const Machine& machine, PredictRequest request);

}  // namespace strata
