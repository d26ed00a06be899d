// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/interrupt.hpp"
#include "strata/base/embedded.hpp"
#include "strata/reproduce/measured_sweeps.hpp"
#include "strata/reproduce/studies.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The reference kernels of the time-based roofline in our own engine, for the studies that look at
/// them: what ships, on whose machine, or measured now.
namespace strata {

/// "sweeps" or "machine"; null: it does not ship.
const EmbeddedFile* shipped_roofline(std::string_view name);

/// The one named, the one that ships with the sweeps, or the one that `strata measure` would take.
/// Errors (usage): none of them is there.
Machine machine_of_sweeps(const StudyRequest& request, const MeasuredSweeps& sweeps);

/// Measures on the device of the request; every point is in the file at once.
MeasuredSweeps run_sweeps(const StudyRequest& request, std::vector<KernelSweep> sweeps,
                          const std::string& path, const InterruptWatch& interrupts);

}  // namespace strata
