// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/bounds/flow.hpp"
#include "strata/predict/bounds/keep_intervals.hpp"
#include "strata/predict/predict.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// Which bytes may stay on chip over time, as a minimum-cost flow from the first step boundary to
/// the last. A unit of flow is one byte of the chip. It goes from boundary to boundary at no cost,
/// or along an interval that it holds, and then earns what holding saves. The flow limits how much
/// is held at one time.
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

/// Every interval as something to hold, worth the read it saves.
std::vector<Hold> holds_of(const KeepIntervals& keep);

/// Room is counted between steps only. Node t is step t.
FlowNetwork gap_network(std::size_t steps, std::span<const Hold> holds);

/// Room is counted between steps and while steps run: a hold that begins or ends at a use is there
/// during that step, once where both are of one use. Node order is that of time.
FlowNetwork step_network(std::size_t steps, std::span<const Hold> holds);

/// What a step takes of a capacity, whatever is held.
struct StepOwn {
  bool is_closed = false;  ///< sliced: nothing is held until it or from it on
  bool is_whole = false;   ///< it holds all its values, so what is held until it or from it on is a
                           ///< part of that; otherwise it comes on top of the rest of its values
  std::int64_t bytes = 0;  ///< all its values, or the least of each, or what a sliced step holds
};

/// For plans made for just this capacity.
std::vector<StepOwn> owns_at(const Program& program, std::int64_t capacity_bytes);
/// For plans made for this capacity or for less: no more than the rows is sure, and only steps that
/// are sliced at this capacity are at all smaller ones.
std::vector<StepOwn> owns_up_to(const Program& program, std::int64_t capacity_bytes);

/// Plans keep whole values, or whole parts of them where values are cut into parts of
/// `granularity_bytes` (0: they are not). Says which holds have room for at least one part beside
/// what the steps own, and neither begin nor end at a closed step.
std::vector<bool> which_fit(const Program& program, const std::vector<StepOwn>& owns,
                            std::int64_t capacity_bytes, std::int64_t granularity_bytes,
                            std::span<const Hold> holds);
/// Keeps only those that fit.
void drop_what_does_not_fit(const std::vector<bool>& fits, std::vector<Hold>& holds);

/// As step_network, with what the steps own at just this capacity. The holds are those that
/// fit.
FlowNetwork capacity_network(const Program& program, std::span<const Hold> holds,
                             std::int64_t capacity_bytes);

}  // namespace strata
