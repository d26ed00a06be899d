// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/lowering.hpp"

#include <cstdint>
#include <optional>
#include <vector>

/// The address of every slot of a lowered program. It is made once, so that an iteration allocates
/// nothing and can be recorded.
namespace strata {

inline constexpr std::int64_t device_alignment = 256;

struct SlotLocation {
  bool is_permanent = false;  ///< in the block that keeps its content; otherwise in the arena
  std::int64_t offset = 0;
};

struct MemoryPlan {
  std::vector<std::optional<SlotLocation>> places;  ///< by slot; nothing: nobody touches it
  std::int64_t permanent_bytes = 0;
  std::int64_t arena_bytes = 0;
  std::int64_t least_arena_bytes = 0;  ///< what lives at once; no arena is smaller

  std::int64_t total_bytes() const;
};

/// A slot of the arena lives from the first to the last step that touches it; what may be looked at
/// afterwards, to the end. A sum of gradients takes the place of one that ends with it.
/// `keeps_everything`: no memory is used twice, so that every tensor can be looked at.
MemoryPlan plan_memory(const LoweredProgram& program, bool keeps_everything = false);

/// The memory of a layer: its results, saved activations, weights with gradients and optimizer
/// states, and scratch.
struct LayerMemory {
  NodeId node = no_node;
  std::int64_t bytes = 0;
};
/// The largest first; what belongs to no layer is left out.
std::vector<LayerMemory> memory_by_layer(const LoweredProgram& program);

}  // namespace strata
