// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/access_list.hpp"
#include "strata/predict/load_sizes.hpp"
#include "strata/predict/plan.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace strata {

/// Whether the first step at which a load may be issued depends on compute times and bandwidth.
constexpr bool goes_by_rates(Prefetch prefetch) {
  return prefetch == Prefetch::listing || prefetch == Prefetch::listing_printed;
}

/// What a plan makes of a step, as far as it does not depend on time.
struct PlannedStep {
  std::int64_t rows_bytes = 0;       ///< it takes for what it streams, while it runs
  std::int64_t outputs_bytes = 0;    ///< it takes at its start for values that are not on chip
  std::int64_t stream_in_bytes = 0;  ///< all that passes through, and what slices read again
  std::int64_t stream_out_bytes = 0;
  std::int64_t freed_before_bytes = 0;  ///< on demand, when it becomes current, without write-back
  std::int64_t freed_after_bytes = 0;   ///< at its end, without write-back
  std::uint32_t largest_streamed = no_use;  ///< the use; of equals the first
  std::uint32_t stream_after = 0;   ///< so many write-backs must have ended before it streams
  std::uint32_t queued_before = 0;  ///< write-backs in the queue so far when it becomes current
  std::uint32_t queued_after = 0;   ///< and after its end
};

/// A value that a step must have on chip and that does not stay from its use before.
struct Load {
  std::int64_t bytes = 0;
  StepId step = 0;
  std::uint32_t after = 0;  ///< so many write-backs must have ended: its own is the last of them
  StepId eligible_at = 0;   ///< may be issued ahead of its step from this step on
  ValueId value = 0;
};

struct WriteBack {
  std::int64_t bytes = 0;
  ValueId value = 0;
  StepId step = 0;  ///< that made or changed it last
};

/// A scheduled plan: loads by step and, within a step, by value; write-backs in the order in which
/// they are queued, which does not depend on time. One object serves many plans, without new
/// memory.
class PlannedSteps {
 public:
  explicit PlannedSteps(const AccessList& list) : list_(list) {}

  /// `compute_s` is the time each step computes; only the prefetch that goes by a list looks at it,
  /// and at the bandwidth.
  void schedule(const Plan& plan, const PredictOptions& options,
                const std::vector<double>& compute_s, double bytes_per_s);
  /// The same plan and offload with another prefetch, or at other rates.
  void set_prefetch(Prefetch prefetch, const std::vector<double>& compute_s, double bytes_per_s);

  static constexpr std::uint32_t no_load = ~std::uint32_t{0};

  Prefetch prefetch() const { return prefetch_; }

  const AccessList& list() const { return list_; }
  std::int64_t tolerated_bytes() const { return tolerated_bytes_; }
  const std::vector<PlannedStep>& steps() const { return steps_; }
  /// The first load of every step, and their number: the loads of a step end where those of the
  /// next one begin.
  const std::vector<std::uint32_t>& first_loads() const { return first_loads_; }
  std::span<const Load> loads() const { return {loads_.data(), load_count_}; }
  std::span<const WriteBack> write_backs() const {
    return {write_backs_.data(), write_back_count_};
  }
  /// What is queued for write-back at the end of the last step.
  std::int64_t last_write_back_bytes() const;
  std::int64_t refetch_bytes(StepId step) const {
    return refetch_bytes_.empty() ? 0 : refetch_bytes_[step];
  }
  /// All that the plan moves, whatever the rates are; the same as traffic_of(list, plan).
  const PlanTraffic& traffic() const { return traffic_; }
  /// On chip while each step runs, in bytes, if nothing is loaded ahead.
  const std::vector<std::int64_t>& occupied_bytes() const { return occupied_; }
  /// Of the loads of a step, the bytes that nothing can load ahead: the step before it leaves too
  /// little room, or there is none. The channel moves them between the end of that step and the
  /// start of this one.
  std::int64_t late_bytes(StepId step, std::int64_t capacity_bytes) const;
  /// The loads, by the step from which they are eligible.
  const std::vector<std::uint32_t>& by_eligibility() const { return by_eligibility_; }
  const LoadSizes& sizes() const { return sizes_; }
  /// The load that waits for a write-back; no_load: none does.
  std::uint32_t load_after(std::uint32_t write_back) const { return load_after_[write_back]; }

 private:
  template <bool is_on_demand>
  void schedule_step(const Plan& plan, StepId step);
  void schedule_streamed(std::uint32_t use, PlannedStep& planned);
  template <bool is_on_demand>
  void schedule_load(const Plan& plan, const AccessList::Facts& use, StepId step);
  void linger(std::uint32_t use, StepId leaves_at, StepId step);
  void let_leave(const AccessList::Facts& use, StepId step, std::int64_t& freed_bytes);
  void let_leave_on_demand(StepId step, PlannedStep& planned);

  const AccessList& list_;
  Prefetch prefetch_ = Prefetch::soonest;
  std::int64_t tolerated_bytes_ = 0;
  PlanTraffic traffic_;
  std::vector<PlannedStep> steps_;
  std::vector<std::uint32_t> first_loads_;
  std::vector<Load> loads_;      // so many of them as are counted
  std::vector<StepId> left_at_;  // by load: from this step on its value is off chip
  std::vector<WriteBack> write_backs_;
  std::uint32_t load_count_ = 0;
  std::uint32_t write_back_count_ = 0;
  std::vector<std::int64_t> refetch_bytes_;
  std::vector<std::int64_t> occupied_;
  std::vector<std::uint32_t> by_eligibility_;
  std::vector<std::uint32_t> load_after_;
  LoadSizes sizes_;

  std::int64_t passing_bytes_ = 0;  // by the step that is scheduled
  struct Held {
    std::uint32_t last_write_back = 0;  // its place in the queue, from 1 on
    bool is_dirty = false;
  };
  std::vector<Held> held_;            // by value
  std::vector<std::uint32_t> count_;  // of loads by the step of eligibility
  std::vector<double> elapsed_s_;     // compute time before each step
  // On demand: what lingers after its use, as changes from one step to the next; and the uses whose
  // value leaves before a step, as lists from each step on.
  std::vector<std::int64_t> lingering_change_;
  std::vector<std::uint32_t> first_leaver_;
  std::vector<std::uint32_t> next_leaver_;
  std::vector<std::uint32_t> leavers_;
};

}  // namespace strata
