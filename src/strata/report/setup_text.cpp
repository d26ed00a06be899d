// SPDX-License-Identifier: Apache-2.0
#include "strata/report/setup_text.hpp"

#include "strata/predict/option_names.hpp"

#include <fmt/format.h>

namespace strata {

std::string precision_text(std::string_view dtype, bool is_autocast,
                           const TrainingOptions& training) {
  if (is_autocast) return fmt::format("{} autocast", dtype);
  if (training.inference || (dtype != "bf16" && dtype != "fp16")) return std::string(dtype);
  return training.master_weights ? fmt::format("{} with fp32 master weights", dtype)
                                 : fmt::format("pure {}", dtype);
}

std::string setup_text(std::string_view precision, const TrainingOptions& training,
                       std::int64_t samples, const TrainingOptions& usual) {
  std::string text(precision);
  if (training.inference) return text;
  if (training.optimizer != usual.optimizer)
    text += training.optimizer == Optimizer::none
                ? ", no update"
                : fmt::format(", optimizer {}", name_of(training.optimizer));
  if (training.micro_batches > 1)
    text += fmt::format(", {} micro-batches of {}", training.micro_batches,
                        samples / training.micro_batches);
  if (training.recompute != usual.recompute)
    text += fmt::format(", recompute {}", name_of(training.recompute));
  return text;
}

}  // namespace strata
