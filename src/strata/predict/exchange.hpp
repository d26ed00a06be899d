// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/packing.hpp"

namespace strata {

/// Reduces the traffic of a plan by local search: an interval without room replaces others that
/// save less, and intervals that fit again are added, until no exchange helps. The plan may come
/// from any planner. Meant for programs of some thousand steps: a round looks at pairs of
/// intervals.
Plan exchanged_plan(const AccessList& list, const Plan& plan, const PredictOptions& options);

}  // namespace strata
