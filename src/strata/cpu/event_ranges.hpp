// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/event_counters.hpp"
#include "strata/gpu/range_counters.hpp"

#include <memory>

namespace strata::cpu {

/// Counters of the CPU range by range, in the form in which those of a GPU come: every preset but
/// `time` reads the same events, in one run. Its threads are those that exist now, so it is opened
/// when the work has run before.
std::unique_ptr<RangeCounters> event_range_counters(std::unique_ptr<EventCounters> events);

/// The same of this process. Errors (environment) say why there are no counters, and what helps.
std::unique_ptr<RangeCounters> open_event_ranges();

}  // namespace strata::cpu
