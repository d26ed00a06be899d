// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/highest_bit.hpp"
#include "strata/predict/margin.hpp"
#include "strata/predict/plan.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace strata {

/// Belady's rule on whole tensors of unequal size: when a step needs room, the value whose next use
/// is farthest leaves. The decision falls at the step that needs the room and is dated back to the
/// value's last use, so that a look-ahead schedule can let it go right there.
///
/// One object plans for many capacities, without new memory.
class FarthestNextUse {
 public:
  FarthestNextUse(const AccessList& list, const PredictOptions& options);

  /// Errors (input) as empty_plan.
  const Plan& at(std::int64_t capacity_bytes);
  const Plan& plan() const { return plan_; }
  Plan take() && { return std::move(plan_); }
  /// The plan is the same for any capacity that is larger by less than this.
  std::int64_t margin_bytes() const { return margin_.bytes(); }

 private:
  void run_step(StepId step);
  void choose_residents(StepId step);
  void make_room(StepId step, std::int64_t room);
  void let_go(std::uint32_t use, StepId step);
  void keep(std::uint32_t use);
  void stream_what_is_not_kept();

  const AccessList& list_;
  PredictOptions options_;
  // The order in which uses leave, the farthest next use last; of equally far ones the lower value
  // is behind, so that it goes first.
  std::vector<std::uint32_t> rank_of_;
  std::vector<std::uint32_t> use_at_;  // by rank

  Plan plan_;
  Margin margin_;
  std::vector<std::uint32_t> kept_use_;  // by value: since which use it stays; no_use: it does not
  std::int64_t kept_bytes_ = 0;
  HighestBit kept_;  // by rank
  std::vector<std::uint32_t> candidates_;
  std::vector<StepId> steps_in_rows_;
};

}  // namespace strata
