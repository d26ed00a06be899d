// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// Multiply-adds of 16 and 8 bits, for which Highway has no loops of its own: those instructions of
/// x86 CPUs that compilers know and some CPUs have.
namespace strata::cpu {

struct LowPrecisionLoop {
  DType dtype = DType::bf16;
  ComputeUnit unit = ComputeUnit::vector;
  std::string_view instructions;  ///< "AMX-BF16"
  std::int64_t flop_per_round = 0;
  std::optional<int> flop_per_clock;  ///< of one core, where documents say so
  std::string_view source;            ///< of that
  /// Rounds of multiply-adds in registers that leave every number where it was; whether they did.
  bool (*run)(std::int64_t rounds) = nullptr;
};

/// Those that this CPU and its system have; empty on others than x86.
std::span<const LowPrecisionLoop> low_precision_loops();

}  // namespace strata::cpu
