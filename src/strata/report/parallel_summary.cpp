// SPDX-License-Identifier: Apache-2.0
#include "strata/report/parallel_report.hpp"
#include "strata/report/setup_text.hpp"

namespace strata {

std::string ParallelContext::precision() const {
  return precision_text(dtype, is_autocast, {.master_weights = master_weights});
}

std::optional<double> ParallelContext::mfu(double time_s) const {
  if (!peak_flop_per_s || time_s <= 0) return std::nullopt;
  return model_flop / time_s / (*peak_flop_per_s * static_cast<double>(devices));
}

bool ParallelSummary::fits() const {
  return !context.device_memory_bytes ||
         static_cast<double>(result.most_memory().total_bytes()) <= *context.device_memory_bytes;
}

TrainingPace ParallelSummary::pace() const {
  return {.devices = context.devices,
          .samples = context.samples,
          .tokens = context.tokens,
          .time_s = result.time_s,
          .low_s = result.low_s,
          .high_s = result.high_s};
}

}  // namespace strata
