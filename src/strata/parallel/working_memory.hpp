// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/parallel/units.hpp"
#include "strata/predict/expected/allocated_memory.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Memory of a network of which only some of its equal blocks are there (repeated_blocks.hpp).
namespace strata {

/// What stands for those that are left out: a block, or layers of a network without blocks.
struct RepeatedBlock {
  std::span<const std::string> names = {};
  std::int64_t left_out = 0;  ///< how many there are besides
};

/// Whether a block is another one, or lies in it: "layers.0.experts.3" in "layers.0".
bool is_within(std::string_view block, std::string_view outer);

/// The most that the steps of the whole network make for one another, beyond what forward saves.
/// While a block that is left out is at work, what all of them save is there as well.
std::int64_t working_bytes(const Program& program, const UnitList& units,
                           const ActivationMemory& memory, const RepeatedBlock& repeated);

/// Inputs and tables of the whole network, which no unit has: each block has its own tables.
std::int64_t other_given_bytes(const Program& program, const UnitList& units,
                               const std::vector<bool>& is_of_unit, const RepeatedBlock& repeated);

}  // namespace strata
