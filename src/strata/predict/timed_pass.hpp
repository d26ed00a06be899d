// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/loads_ahead.hpp"
#include "strata/predict/margin.hpp"
#include "strata/predict/planned_steps.hpp"
#include "strata/predict/simulate.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace strata {

/// What a pass may use of the hardware: a capacity, at least that of the plan, and the bandwidth;
/// and what the channel takes first.
struct PassLimits {
  std::int64_t capacity_bytes = 0;
  double bytes_per_s = 0;
  ChannelOrder channel = ChannelOrder::loads_first;
};

/// Simulates a scheduled plan. One object serves many passes, without new memory. The rules are in
/// docs/prediction.md, section "Time".
class TimedPass {
 public:
  /// `compute_s` is the time of each step on this hardware. The result stays until the next pass.
  /// A pass that is sure to take longer than `give_up_s` stops early, and its time is only the
  /// least that it takes.
  Prediction& run(const PlannedSteps& plan, const PassLimits& limits,
                  const std::vector<double>& compute_s, Record record,
                  double give_up_s = std::numeric_limits<double>::infinity());
  bool gave_up() const { return gave_up_; }

  /// The last pass comes out the same for any capacity that is larger by less than this, as long as
  /// the plan is the same.
  std::int64_t margin_bytes() const { return margin_.bytes(); }

 private:
  static constexpr ValueId nobody = ~ValueId{0};
  static constexpr std::int64_t unlimited_bytes = std::numeric_limits<std::int64_t>::max();

  /// How far the search for the loads of a step is that waits for them.
  struct MissingLoads {
    std::uint32_t first = 0;             ///< all before it are issued
    std::uint32_t next = 0;              ///< those before it are issued, or were passed over
    std::uint32_t seen_write_backs = 0;  ///< that had ended then
    std::int64_t least_bytes = unlimited_bytes;     ///< of those passed over for want of room
    std::uint32_t least_after = ~std::uint32_t{0};  ///< the write-back that others wait for
  };

  void begin(const PlannedSteps& plan, const PassLimits& limits, Record record);
  void find_rest(const std::vector<double>& compute_s);
  double least_time_s() const;
  void run_step(double compute_s);
  void wait_for_step();
  bool may_go(const MissingLoads& passed_over);
  std::uint32_t first_missing_load(bool& is_complete);
  void note_wait(double ready_s);
  double stream(const PlannedStep& planned, double start_s);

  void run_channel(double from_s, double until_s);
  bool issue_in_background(double start_s);
  void record_transfer(const Transfer& transfer);
  void charge_moved(double end_s);

  double transfer(TransferKind kind, ValueId value, StepId step, double start_s,
                  std::int64_t in_bytes, std::int64_t out_bytes) {
    channel_free_s_ = start_s + static_cast<double>(in_bytes + out_bytes) / bytes_per_s_;
    note_transfer(kind, value, step, start_s, in_bytes, out_bytes);
    return channel_free_s_;
  }
  void note_transfer(TransferKind kind, ValueId value, StepId step, double start_s,
                     std::int64_t in_bytes, std::int64_t out_bytes) {
    moved_bytes_ += in_bytes + out_bytes;
    last_value_ = value;
    if (record_ != Record::totals)
      record_transfer({kind, value, step, start_s, channel_free_s_, in_bytes, out_bytes});
  }
  // What the transfer under way changes when it ends; the channel decides nothing before.
  void finish_transfer() {
    if (!is_writing_back()) return;
    occupied_bytes_ -= write_backs_[ended_write_backs_].bytes;
    ahead_.write_back_ended(ended_write_backs_++);
  }
  void issue_load(std::uint32_t load, StepId step, double start_s) {
    const Load& issued = loads_[load];
    occupy(issued.bytes);
    channel_free_s_ = arrives_s_[load] += start_s;
    note_transfer(TransferKind::load, issued.value, step, start_s, issued.bytes, 0);
  }
  void issue_write_back(double start_s) {
    finish_transfer();
    const WriteBack& next = write_backs_[issued_write_backs_++];
    transfer(TransferKind::write_back, next.value, next.step, start_s, 0, next.bytes);
  }

  bool has_room(std::int64_t bytes) {
    const std::int64_t missing = occupied_bytes_ + bytes - limit_bytes_;
    if (missing > 0) margin_.grow_needed(missing);
    return missing <= 0;
  }
  void occupy(std::int64_t bytes) {
    occupied_bytes_ += bytes;
    step_peak_bytes_ = std::max(step_peak_bytes_, occupied_bytes_);
  }
  bool has_write_backs() const { return issued_write_backs_ < queued_write_backs_; }
  bool is_writing_back() const { return ended_write_backs_ < issued_write_backs_; }

  const PlannedSteps* plan_ = nullptr;
  const PlannedStep* steps_ = nullptr;  // of the plan, as are the next three
  const std::uint32_t* first_loads_ = nullptr;
  const Load* loads_ = nullptr;
  const WriteBack* write_backs_ = nullptr;
  Record record_ = Record::totals;
  double bytes_per_s_ = 0;
  bool offloads_first_ = false;
  std::int64_t capacity_bytes_ = 0;
  std::int64_t limit_bytes_ = 0;  // the capacity, or what the plan tolerates in this step
  LoadsAhead ahead_;
  std::vector<double> rest_s_;     // by step: what it and those after it take at least
  std::vector<double> arrives_s_;  // by load; before it is issued, the time it takes
  StepId step_ = 0;
  MissingLoads missing_;
  double now_s_ = 0;
  double channel_free_s_ = 0;
  ValueId last_value_ = nobody;
  std::int64_t occupied_bytes_ = 0;
  std::int64_t step_peak_bytes_ = 0;  // while a step waits and runs
  std::int64_t moved_bytes_ = 0;      // so far
  // Write-backs go in the order in which they are queued: three counts tell the state of all.
  std::uint32_t queued_write_backs_ = 0;
  std::uint32_t issued_write_backs_ = 0;
  std::uint32_t ended_write_backs_ = 0;
  bool gave_up_ = false;
  std::vector<Transfer> moving_;  // recorded, and not yet charged whole to the steps that ran then
  std::int64_t charged_in_bytes_ = 0;  // of the first of those
  std::int64_t charged_out_bytes_ = 0;
  Margin margin_;
  Prediction result_;
};

}  // namespace strata
