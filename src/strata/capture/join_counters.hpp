// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/recording.hpp"

#include <cstdint>

namespace strata {

/// How many kernels of a timed recording found their counters.
struct CounterJoin {
  std::int64_t joined = 0;
  std::int64_t without = 0;  ///< kernels of which the counted run had fewer, or none
  std::int64_t unused = 0;   ///< counted kernels of which the timed run had fewer
};

/// Adds the counters of one run of a program to the kernels of another, in which times were
/// recorded: the n-th launch of a name here is the n-th of that name there. A program that does not
/// do the same twice shows in the numbers that are returned.
CounterJoin join_counters(Recording& timed, const Recording& counted);

}  // namespace strata
