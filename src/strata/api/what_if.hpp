// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/predict.hpp"
#include "strata/explain/change.hpp"

/// "What if": the same iteration with one thing changed, for explanations and for the hints below
/// a prediction.
namespace strata {

/// How many of all changes were answered; called from any thread, one at a time.
using WhatIfProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Predicts the iteration again with each change, side by side. The same as predict_model of a
/// request with that change, of more than 5,000 steps without the search below its capacity; what
/// it refuses is a reason. `hardware` is what the machine and the request come to. Everything must
/// outlive the function.
PredictAgain predict_again(const Graph& graph, const Machine& machine,
                           const PredictRequest& request, const Hardware& hardware,
                           const WhatIfProgress& on_progress = {});

/// The expected time with each change. A reason also says where it runs out of memory, which no
/// time makes up for.
PredictAgain expect_again(const Graph& graph, const Machine& machine, const PredictRequest& request,
                          const WhatIfProgress& on_progress = {});

/// The expected time with one change, and the memory of the machine that it runs on.
struct ExpectedChange {
  ExpectedTime time;
  std::optional<double> device_bytes;
  double samples = 1;  ///< how many times the batch it became

  bool fits() const {
    return !device_bytes || static_cast<double>(time.memory_bytes) <= *device_bytes;
  }
};
ExpectedChange expected_with(const Graph& graph, const Machine& machine,
                             const PredictRequest& request, const Change& change);

/// What would help the limit: more on-chip memory, twice the bandwidth, lower precision. The
/// iteration must take time.
std::vector<Alternative> alternatives_to(const Graph& graph, const Machine& machine,
                                         const PredictRequest& request,
                                         const PredictedIteration& iteration);

}  // namespace strata
