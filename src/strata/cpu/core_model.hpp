// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Which core this is, and what its multiply-add units could do: the only part of an arithmetic
/// peak that no program can ask the CPU for.
namespace strata::cpu {

/// As /proc/cpuinfo has it.
struct CoreModel {
  std::string name;  ///< "AMD EPYC 9654 96-Core Processor", "Arm Neoverse V2"
  std::string vendor;
  std::int64_t family = -1;  ///< x86
  std::int64_t model = -1;   ///< x86; of Arm the part
};
CoreModel core_model_from(std::span<const std::string> cpuinfo_lines);

/// Multiply-add units of one core.
struct FmaUnits {
  std::string_view architecture;  ///< "Sapphire Rapids"
  int units = 0;                  ///< that start one multiply-add in each clock
  int most_bits = 0;              ///< together in one clock: two of 512 bits are 1024
  std::string_view source;

  /// In one clock, when each works on registers of that size.
  int bits_per_clock(int register_bits) const {
    return units * register_bits < most_bits ? units * register_bits : most_bits;
  }
};
/// Nothing for cores that the table does not have, and for chips with cores of two kinds.
std::optional<FmaUnits> fma_units_of(const CoreModel& core);

}  // namespace strata::cpu
