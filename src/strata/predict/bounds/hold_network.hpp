// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/bounds/flow.hpp"
#include "strata/predict/predict.hpp"

#include <cstdint>
#include <limits>
#include <span>

/// What may be held on chip over time, as a flow along the path of step boundaries: a unit of flow
/// is a byte of the chip that walks from the first boundary to the last, past the steps for nothing
/// or along what it holds meanwhile, for what that is worth. What is held at one time never is more
/// than the flow.
namespace strata {

inline constexpr std::uint32_t not_a_use = std::numeric_limits<std::uint32_t>::max();

/// Up to `bytes` bytes of a value, from step `begin` to step `end`.
struct Hold {
  StepId begin = 0;
  StepId end = 0;
  std::uint32_t first_use = not_a_use;  ///< of step begin; otherwise it comes in during that step
  std::uint32_t last_use = not_a_use;   ///< of step end; otherwise it leaves during that step
  std::int64_t bytes = 0;
  std::int64_t worth = 0;  ///< per byte held
};

/// Room is counted between steps only. Node t is step t.
FlowNetwork gap_network(std::size_t steps, std::span<const Hold> holds);

/// Room is counted between steps and while steps run: a hold that begins or ends at a use is there
/// during that step, once where both are of one use. Node order is that of time.
FlowNetwork step_network(std::size_t steps, std::span<const Hold> holds);

/// As step_network, for just one capacity, with what each step itself needs at that capacity: all
/// its values where they fit, otherwise the least of each, otherwise the slices of its weights and
/// nothing held until or from it.
FlowNetwork capacity_network(const Program& program, std::span<const Hold> holds,
                             std::int64_t capacity_bytes);

}  // namespace strata
