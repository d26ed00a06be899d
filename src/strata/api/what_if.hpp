// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/explain/change.hpp"

/// "What if": the same iteration with one thing changed, for explanations and for the hints below
/// a prediction.
namespace strata {

/// Predicts the iteration again with each change, side by side. The same as predict_model of a
/// request with that change; what it refuses is a reason. `hardware` is what the machine and the
/// request come to. Everything must outlive the function.
PredictAgain predict_again(const Graph& graph, const Machine& machine,
                           const PredictRequest& request, const Hardware& hardware);

/// What would help: more on-chip memory, twice the bandwidth, lower precision, half the batch. The
/// iteration must take time.
std::vector<Alternative> alternatives_to(const Graph& graph, const Machine& machine,
                                         const PredictRequest& request,
                                         const PredictedIteration& iteration);

}  // namespace strata
