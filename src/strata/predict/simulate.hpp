// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

/// The timed pass: a plan laid over time. One compute unit, one channel, one transfer at a time.
/// The rules are in docs/prediction.md, section "Time".
namespace strata {

/// How much of what happened is written down.
enum class Record : std::uint8_t { totals, steps, transfers };

/// Lays `plan` over time on hardware of at least its capacity. What the options say of prefetch and
/// offload holds; the policy has been decided with the plan.
Prediction simulate(const AccessList& list, const Plan& plan, const Hardware& hardware,
                    const PredictOptions& options, Record record = Record::steps);

/// The time a step computes.
double compute_time_s(const Step& step, const Hardware& hardware);
/// The same of every step.
void compute_times(const Program& program, const Hardware& hardware, std::vector<double>& times_s);

}  // namespace strata
