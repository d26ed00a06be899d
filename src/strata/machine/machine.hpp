// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A Machine is what a prediction needs to know of hardware: peak rates per data type, memory
/// levels, latencies. It is a JSON file with a source for every number; data/machines/ holds those
/// that ship. Rates are dense and in base units.
namespace strata {

/// A number and who says so.
struct Sourced {
  double value = 0;
  std::string source;
};

/// Which part of the chip reaches the rate: ordinary lanes, or matrix (tensor) units.
enum class ComputeUnit : std::uint8_t { vector, matrix };

struct Peak {
  DType dtype = DType::fp32;
  ComputeUnit unit = ComputeUnit::vector;
  Sourced flop_per_s;
};

/// One level of memory, innermost first in a Machine.
struct MemoryLevel {
  std::string name;
  bool is_on_chip = false;
  Sourced capacity_bytes;
  std::optional<Sourced> bandwidth_bytes_per_s;  ///< unknown for many on-chip levels
};

struct Machine {
  std::string name;   ///< "rtx-2080-ti": how it is called on the command line
  std::string title;  ///< for people
  std::string kind;   ///< "cpu", "gpu", …
  std::vector<Peak> peaks;
  std::vector<MemoryLevel> memory;
  std::optional<Sourced> launch_latency_s;
};

/// Reads a machine file's text. Errors (input) name the field, what was expected and what came.
Machine read_machine(std::string_view json_text);

/// Every machine that ships, sorted by name.
const std::vector<Machine>& shipped_machines();

std::string_view name_of(ComputeUnit unit);

}  // namespace strata
