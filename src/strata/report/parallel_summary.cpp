// SPDX-License-Identifier: Apache-2.0
#include "strata/report/parallel_report.hpp"

namespace strata {

std::optional<double> ParallelContext::mfu(double time_s) const {
  if (!peak_flop_per_s || time_s <= 0) return std::nullopt;
  return model_flop / time_s / (*peak_flop_per_s * static_cast<double>(devices));
}

bool ParallelSummary::fits() const {
  return !context.device_memory_bytes ||
         static_cast<double>(result.most_memory().total_bytes()) <= *context.device_memory_bytes;
}

}  // namespace strata
