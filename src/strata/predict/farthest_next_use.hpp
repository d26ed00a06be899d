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
  /// Gives the plan away and gets memory for the next one in return.
  void swap_plan(Plan& other) { std::swap(plan_, other); }
  /// The plan is the same for any capacity that is larger by less than this.
  std::int64_t margin_bytes() const { return margin_.bytes(); }

 private:
  void run_step(StepId step);
  std::int64_t hold_part(StepId step, Fit fit);
  void choose_residents(StepId step);
  std::int64_t make_room(StepId step, std::int64_t room, std::int64_t kept_bytes);
  void let_go(std::uint32_t use, StepId step);
  void stream_what_is_not_kept();

  const AccessList& list_;
  PredictOptions options_;
  // What planning asks of a use when its step fits, side by side.
  struct Link {
    std::int64_t bytes = 0;
    std::uint32_t rank = no_use;         // no_use: it need not stay
    std::uint32_t rank_before = no_use;  // of the use before
  };
  // Whether the value is on chip when the step of this use begins. The ranks of what a step picks
  // up lie side by side.
  bool is_kept(std::uint32_t use) const {
    return links_[use].rank_before != no_use && kept_.has(links_[use].rank_before);
  }

  // Ranks are the order in which uses leave, the farthest next use last; of equally far ones the
  // lower value is behind, so that it goes first.
  std::vector<Link> links_;            // by use
  std::vector<std::uint32_t> use_at_;  // by rank

  Plan plan_;
  Margin margin_;
  std::int64_t kept_bytes_ = 0;
  HighestBit kept_;  // by rank
  std::vector<std::uint32_t> candidates_;
  std::vector<StepId> steps_in_rows_;
};

}  // namespace strata
