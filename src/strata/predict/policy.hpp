// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/simulate.hpp"

namespace strata {

/// What a policy makes of a program and hardware: the plan, and how it is laid over time. The
/// hardware may have less capacity than was asked for, when a plan for less is better.
struct Decision {
  Plan plan;
  Hardware hardware;
  PredictOptions options;
  std::optional<std::int64_t> least_traffic_bytes;  ///< of policy exact: proven by the solver
};

/// Errors (input): rates that are not above 0, no capacity.
void check(const Hardware& hardware);
/// The options as the policy has them: belady loads and lets go on demand only.
PredictOptions laid_over_time(const PredictOptions& options);

Decision decide(const AccessList& list, const Hardware& hardware, const PredictOptions& options);
Prediction simulate(const AccessList& list, const Decision& decision,
                    Record record = Record::steps);

/// One prediction: plans as the policy says, then lays the plan over time. Errors (input): rates
/// that are not above 0, a capacity that is too small.
Prediction predict(const AccessList& list, const Hardware& hardware,
                   const PredictOptions& options = {}, Record record = Record::steps);

}  // namespace strata
