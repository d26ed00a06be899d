// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace strata {

/// When each of `count` events happened, in seconds after the first. CUDA tells the time between
/// two events as a float: after ten seconds that is exact to a microsecond only. So only the times
/// between neighbours are asked for, seconds_between(i, i + 1), and added up in double precision.
template <class SecondsBetween>
std::vector<double> times_of_events(std::size_t count, const SecondsBetween& seconds_between) {
  std::vector<double> times(count);
  for (std::size_t i = 1; i < count; ++i) times[i] = times[i - 1] + seconds_between(i - 1, i);
  return times;
}

}  // namespace strata
