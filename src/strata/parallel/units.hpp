// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Where a network can be cut into stages: between layers where a single tensor goes on.
namespace strata {

/// A run of layers that stays together: a block of a network that has blocks, else what lies
/// between two places where it can be cut.
struct Unit {
  std::string name;         ///< of its block, or of its first layer
  TensorId output = 0;      ///< the tensor that goes on to the next unit
  bool has_output = false;  ///< false for the last one
};

struct UnitList {
  std::vector<Unit> units;             ///< at least one
  std::vector<std::uint32_t> of_node;  ///< which unit each node is in
};

/// Of a program with forward steps in the order in which they run.
UnitList find_units(const Program& program);

}  // namespace strata
