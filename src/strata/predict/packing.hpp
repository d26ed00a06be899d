// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/free_room.hpp"
#include "strata/predict/plan.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// A plan that grows and shrinks interval by interval and never breaks the capacity rule. An
/// interval is named by the use that begins it.
///
/// An interval takes its bytes from every step strictly between its two uses. Steps that fit hold
/// their own values anyway; in one that does not fit, a value held whole takes what exceeds its
/// least, once, however many intervals meet there.
class Packing {
 public:
  explicit Packing(const AccessList& list) : list_(list) {}

  /// Starts again from the plan in which nothing stays. Errors (input) as empty_plan.
  Margin start(std::int64_t capacity_bytes, const PredictOptions& options);

  bool stays(std::uint32_t use) const { return plan_.uses[use].stays; }
  /// Whether the interval can be kept at all: read again, and neither end in a sliced step.
  bool is_possible(std::uint32_t use) const;
  /// Whether there is room for it now.
  bool fits(std::uint32_t use) const;
  /// By how many bytes; 0 or less: it fits.
  std::int64_t missing_bytes(std::uint32_t use) const;
  /// A step where there is not; `never` when it fits.
  StepId shortage(std::uint32_t use) const;
  /// Whether keeping the interval takes room from a step.
  bool takes_room_in(std::uint32_t use, StepId step) const;
  void keep(std::uint32_t use);
  void release(std::uint32_t use);

  const Plan& plan() const { return plan_; }
  /// To see what another choice would move; put it back before anything else is called.
  Plan& plan_for_trial() { return plan_; }

 private:
  std::int64_t more_when_whole(std::uint32_t use) const;
  bool needs_residence(std::uint32_t use) const;
  void make_resident(std::uint32_t use);
  void make_streamed_unless_kept(std::uint32_t use);

  const AccessList& list_;
  Plan plan_;
  FreeRoom free_;
};

/// Plans that keep the most worthy intervals first, for one capacity after the other.
class Packer {
 public:
  Packer(const AccessList& list, const PredictOptions& options,
         const std::vector<double>& worth_of_use);

  /// Errors (input) as empty_plan.
  const Plan& at(std::int64_t capacity_bytes);
  /// The plan is the same for any capacity that is larger by less than this.
  std::int64_t margin_bytes() const { return margin_.bytes(); }

 private:
  const AccessList& list_;
  PredictOptions options_;
  std::vector<std::uint32_t> candidates_;  // the most worthy first
  Packing packing_;
  Margin margin_;
};

}  // namespace strata
