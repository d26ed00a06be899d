// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/trace_tables.hpp"
#include "strata/explain/finding.hpp"
#include "strata/machine/machine.hpp"

#include <vector>

namespace strata {

/// What stands out in a recording: each with its number, what it costs in time, and what to do.
/// Costs are shares of the time from the first kernel to the last, over all devices. Whether copies
/// are slow is asked only where a machine says how fast its links are. Largest cost first; what is
/// not about time comes last.
std::vector<ProfileFinding> find_in_trace(const TraceTables& tables, const Machine* machine);

/// The rate of the link over which copies of a row go; nothing where the machine does not say.
std::optional<double> copy_ceiling(const CopyRow& row, const Machine& machine);

}  // namespace strata
