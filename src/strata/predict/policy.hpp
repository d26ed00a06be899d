// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/simulate.hpp"

namespace strata {

/// What a policy decides for a program on some hardware. `hardware.capacity_bytes` is what the
/// hardware has; `plan.capacity_bytes`, never more, is what the plan was made for and is simulated
/// with: a plan for less may be better.
struct Decision {
  Plan plan;
  Hardware hardware;
  PredictOptions options;                           ///< that hold under this policy
  std::optional<std::int64_t> least_traffic_bytes;  ///< of policy exact: proven by the solver
};

/// Errors (usage): a capacity below 1 byte; (input): rates that are not above 0.
void check(const Hardware& hardware);
/// The options that hold under their policy: belady loads and offloads on demand only; thesis has
/// the thesis's prefetch list unless another prefetch is asked for; best chooses what is absent.
PredictOptions effective_options(const PredictOptions& options);

Decision decide(const AccessList& list, const Hardware& hardware, const PredictOptions& options);
Prediction simulate(const AccessList& list, const Decision& decision,
                    Record record = Record::steps);

/// One prediction: makes a plan by the policy and simulates it. Errors: those of check(), and
/// (input) a capacity that is too small.
Prediction predict(const AccessList& list, const Hardware& hardware,
                   const PredictOptions& options = {}, Record record = Record::steps);

}  // namespace strata
