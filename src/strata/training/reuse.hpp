// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/// How far apart the uses of a value lie, and what memory it takes to bridge them: facts about the
/// program alone. What a machine of some capacity makes of them is predict's to say.
namespace strata {

/// Why a value is used again. What a step does with a value while it runs is reuse inside the layer
/// and assumed to be captured.
enum class ReuseScope : std::uint8_t {
  recurrent,         ///< the same weight, or its gradient, at another time step of its layer
  forward_backward,  ///< kept from a forward step to what follows the loss
  adjacent,          ///< from one step to the very next
  block,             ///< the rest: across a residual block, a branch, a micro-batch
};
inline constexpr std::size_t reuse_scopes = 4;
std::string_view name_of(ReuseScope scope);

/// Two uses of a value that follow each other, the second of which reads it.
struct ReuseInterval {
  std::uint32_t use = 0;       ///< index in Program::uses
  std::uint32_t next_use = 0;  ///< the same
  StepId step = 0;
  StepId next_step = 0;
  ReuseScope scope = ReuseScope::block;
};

/// All of them, in the order of their second use. Each has exactly one scope: the first of the
/// enumeration's that it fits. Linear in uses.
std::vector<ReuseInterval> reuse_intervals(const Program& program);

/// Bytes that need not be read again if everything of a scope is captured.
std::array<std::int64_t, reuse_scopes> offered_bytes(const Program& program,
                                                     const std::vector<ReuseInterval>& intervals);

/// One direction of one layer.
struct PassReuse {
  std::int64_t flop = 0;
  std::int64_t mac = 0;
  std::int64_t touched_bytes = 0;   ///< Σ over its steps of all values of the step
  std::int64_t adjacent_bytes = 0;  ///< capacity for adjacent reuse: its largest step; forward X, W
                                    ///< and Y, backward X, dY, W, dW and dX
  std::int64_t block_bytes = 0;     ///< the same with what passes by for a block

  /// FLOP per byte of what the layer touches; 0 where there is no such step.
  double frequency() const {
    return touched_bytes == 0 ? 0 : static_cast<double>(flop) / static_cast<double>(touched_bytes);
  }
};

/// What reuse a layer offers and the capacity that each scope needs for it.
struct LayerReuse {
  NodeId node = no_node;
  PassReuse forward;
  PassReuse backward;
  std::int64_t recurrent_bytes = 0;  ///< x, h, all weights and features of one time step; 0: none
  std::int64_t forward_backward_bytes = 0;  ///< what it adds to what stays until backward: what it
                                            ///< made or, of weights, read first
};

/// Of every node of the graph, in its order; without a graph, nothing. Linear in uses.
std::vector<LayerReuse> layer_reuse(const Program& program,
                                    const std::vector<ReuseInterval>& intervals);

}  // namespace strata
