// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>

namespace strata {

/// Where the host and the device of a rank are, in seconds.
struct RankClock {
  double host_s = 0, device_s = 0;
};

/// What a row of calls does to the clock of a rank. The host dispatches call after call, and the
/// device runs each as soon as both are ready; so a call is a linear map of (host, device) in which
/// "plus" is the maximum, and a row of calls is such a map again: three numbers, however long it
/// is.
struct Section {
  double host_s = 0;                                            ///< that the host dispatches
  double device_s = 0;                                          ///< that the device works
  double through_s = -std::numeric_limits<double>::infinity();  ///< until the device is done, from
                                                                ///< the host's start

  static Section call(double host, double device) { return {host, device, host + device}; }

  RankClock after(const RankClock& clock) const {
    return {clock.host_s + host_s, std::max(clock.device_s + device_s, clock.host_s + through_s)};
  }
  /// This one, then the other.
  Section then(const Section& next) const {
    return {host_s + next.host_s, device_s + next.device_s,
            std::max(through_s + next.device_s, host_s + next.through_s)};
  }
};

}  // namespace strata
