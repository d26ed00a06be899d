// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/thesis_numbers.hpp"

#include <cstdint>
#include <optional>
#include <vector>

/// What the thesis's policies do over capacity, and what the open places of its text change.
namespace strata {

/// One network at one capacity by the preset, by naive prefetch and by on-demand offload.
struct PolicyTimes {
  std::int64_t capacity_mib = 0;
  double time_s = 0;
  std::int64_t bytes = 0;
  double naive_s = 0;
  double on_demand_s = 0;
};
/// Times from 24 to 1000 MiB by 2 (networks whose iterations are long: by 8), on all cores.
std::vector<PolicyTimes> policy_times(const ThesisNetwork& network);

/// Two capacities, of which the larger one takes more time although it has more room.
struct TimeRise {
  std::int64_t from_mib = 0;
  std::int64_t to_mib = 0;
  double share = 0;             ///< of the time before
  std::int64_t more_bytes = 0;  ///< that the plan moves; negative: fewer
};
/// The most that time is above an earlier, smaller capacity's; none where it never rises.
std::optional<TimeRise> largest_rise(const std::vector<PolicyTimes>& times);

/// Figures 4.1 and 4.2 for the thesis's networks, and whether time falls with capacity.
void add_policy_rows(const ThesisNetworks& networks, ThesisRows& rows);
/// Listing 1 and the order of the channel by every reading, against every printed number.
void add_readings(const ThesisNetworks& networks, ThesisRows& rows);

}  // namespace strata
