// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/api/what_if.hpp"
#include "strata/explain/explain.hpp"

/// The façade of explain/ for predictions, which explain/ itself cannot make.
namespace strata {

/// What a prediction knows beyond its rows.
PredictionFacts facts_of(const PredictionSummary& summary);

/// What limits an iteration that was predicted by this request; it is predicted again for what-ifs.
Explanation explain_iteration(const Graph& graph, const Machine& machine,
                              const PredictRequest& request, const PredictedIteration& iteration,
                              const WhatIfProgress& on_progress = {});

/// Predicts a network and explains it.
struct ExplainedModel {
  PredictedIteration iteration;
  Explanation explanation;
};
ExplainedModel explain_model(const Graph& graph, const Machine& machine, PredictRequest request,
                             const WhatIfProgress& on_progress = {});

}  // namespace strata
