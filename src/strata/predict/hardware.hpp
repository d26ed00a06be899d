// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/predict/predict.hpp"

#include <cstdint>
#include <optional>

namespace strata {

/// Numbers that replace those of the machine.
struct HardwareOverrides {
  std::optional<std::int64_t> capacity_bytes;
  std::optional<double> bytes_per_s;
  std::optional<double> flop_per_s;  ///< of every step, whatever its class
};

/// What a prediction needs of a machine. Capacity: its last on-chip level. Bandwidth: its outermost
/// memory. Rate of sums of products (dense): the matrix units where they know the data type, else
/// the vector units. Rate of all other steps: the vector units in that type, or in fp32 where
/// they do not know it, or what the matrix units do where nothing is said of lanes. Errors (input,
/// usage) say what the machine lacks and what it has.
Hardware hardware_of(const Machine& machine, DType dtype, const HardwareOverrides& overrides = {});

/// Bytes of the outermost memory, if the machine says.
std::optional<double> outer_memory_bytes(const Machine& machine);

}  // namespace strata
