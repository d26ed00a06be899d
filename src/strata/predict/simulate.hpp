// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <tuple>

/// A plan becomes a timeline. One compute unit, one channel, one transfer at a time.
/// The rules are in docs/prediction.md, section "Time".
namespace strata {

/// How much of the timeline is kept.
enum class Record : std::uint8_t { totals, steps, transfers };

/// Schedules and times `plan` on hardware of at least its capacity, all of which may be used. Of
/// the options only prefetch and offload count (absent: soonest, look-ahead); the policy has made
/// the plan.
Prediction simulate(const AccessList& list, const Plan& plan, const Hardware& hardware,
                    const PredictOptions& options, Record record = Record::steps);
/// The same with the plan's own capacity, however much the hardware has: what a policy decides.
Prediction simulate_as_planned(const AccessList& list, const Plan& plan, const Hardware& hardware,
                               const PredictOptions& options, Record record = Record::steps);

/// All of the hardware but its capacity.
inline auto rates_of(const Hardware& hardware) {
  return std::tuple(hardware.bytes_per_s, hardware.dense_flop_per_s, hardware.other_flop_per_s,
                    hardware.mac_is_one);
}
using RateKey = decltype(rates_of(Hardware{}));

/// What a step does, as the hardware counts it.
std::int64_t operations_of(const Step& step, const Hardware& hardware);
/// The time a step computes.
double compute_time_s(const Step& step, const Hardware& hardware);
/// The same of every step.
void compute_times(const Program& program, const Hardware& hardware, std::vector<double>& times_s);

}  // namespace strata
