// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/packing.hpp"

namespace strata {

/// Makes a plan move fewer bytes: an interval that has no room takes the place of others that save
/// less, and what then fits comes back, until no such exchange helps. The plan may come from any
/// planner. Meant for programs of some thousand steps: a round looks at pairs of intervals.
Plan exchanged_plan(const AccessList& list, const Plan& plan, const PredictOptions& options);

}  // namespace strata
