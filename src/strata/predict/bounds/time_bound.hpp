// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

/// Lower bounds on the time of one iteration, whatever the plan, the prefetching and the order of
/// transfers, for the program's order of steps.
namespace strata {

enum class TimeBoundKind : std::uint8_t {
  compute,  ///< the compute unit is never idle
  traffic,  ///< the channel is never idle, and moves no more than the traffic bound
  window,  ///< both, part by part: a window of steps starts and ends with no more than the capacity
  priced,  ///< some steps only compute, and what must move in the others keeps the channel busy
};
std::string_view name_of(TimeBoundKind kind);

struct TimeBound {
  double compute_s = 0;
  double traffic_s = 0;
  double window_s = 0;
  double priced_s = 0;
  TimeBoundKind largest = TimeBoundKind::compute;
  double time_s = 0;  ///< the largest of the four
};

/// `traffic_bound_bytes` is model_traffic_bound_at for the same program and capacity, whole values.
/// `schedule`, if there is one, is a prediction with its steps for the same hardware: where it
/// stalls is a good guess at where the channel limits, and makes the priced bound better, never
/// wrong.
TimeBound time_bound(const AccessList& list, const Hardware& hardware,
                     std::int64_t traffic_bound_bytes, const Prediction* schedule = nullptr);

/// The window bound alone: the best partition of the steps into windows, each of which takes at
/// least its compute time and at least the transfer time of what it reads and did not find on chip
/// and of what it made and could not leave there. Tries all windows of short programs and ever
/// fewer, but long ones too, of longer ones: near-linear in the number of uses.
double window_time_bound_s(const AccessList& list, const Hardware& hardware);

}  // namespace strata
