// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// How a network is trained, in the words of every head line.
namespace strata {

/// "fp32", "bf16 autocast", "bf16 with fp32 master weights", "pure bf16". Of autocast, `dtype` is
/// the type of the products.
std::string precision_text(std::string_view dtype, bool is_autocast,
                           const TrainingOptions& training);

/// Precision, and what of the training is not as `usual` has it: "bf16 autocast, optimizer adam, 4
/// micro-batches of 16, recompute all". `samples` are those of the iteration.
std::string setup_text(std::string_view precision, const TrainingOptions& training,
                       std::int64_t samples, const TrainingOptions& usual = {});

}  // namespace strata
