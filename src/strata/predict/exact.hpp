// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/plan.hpp"

#include <cstdint>

/// The plan that moves the fewest bytes, found and proven by a solver of integer programs. For
/// small networks and for tests: what other plans are measured against.
namespace strata {

struct ExactOptions {
  double time_limit_s = 60;     ///< then the best plan so far is taken, with the gap that is left
  double enough_gap = 1e-4;     ///< a plan so close to the bound, as a share of its traffic, is
                                ///< taken; 0 proves the optimum to the byte, which may take long
  const Plan* start = nullptr;  ///< a valid plan for the same capacity to begin with, if there is
};

struct ExactPlan {
  Plan plan;
  std::int64_t traffic_bytes = 0;  ///< of the plan
  std::int64_t bound_bytes = 0;    ///< no plan made for this capacity moves less
  bool is_optimal() const { return traffic_bytes == bound_bytes; }
  /// How much less than this plan's traffic another may move, as a share of it.
  double gap() const {
    return traffic_bytes == 0 ? 0
                              : static_cast<double>(traffic_bytes - bound_bytes) /
                                    static_cast<double>(traffic_bytes);
  }
};

/// The plan of least traffic for a capacity. Errors: as empty_plan; (environment) a build without
/// the solver.
ExactPlan exact_plan(const AccessList& list, std::int64_t capacity_bytes,
                     const PredictOptions& options = {}, const ExactOptions& exact = {});

}  // namespace strata
