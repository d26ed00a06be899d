// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/simulate.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/loads.hpp"
#include "strata/predict/plan.hpp"

#include <algorithm>
#include <deque>

namespace strata {

double compute_time_s(const Step& step, const Hardware& hardware) {
  const std::int64_t operations = hardware.mac_is_one ? step.flop - step.mac : step.flop;
  return static_cast<double>(operations) / (step.layer_class == LayerClass::type_1
                                                ? hardware.type_1_flop_per_s
                                                : hardware.other_flop_per_s);
}

namespace {

/// Prefetch looks this far ahead; it bounds the cost of a decision, and nothing is needed from so
/// far away.
constexpr StepId most_steps_ahead = 1024;

std::vector<double> compute_times(const Program& program, const Hardware& hardware) {
  std::vector<double> times(program.steps.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    times[i] = compute_time_s(program.steps[i], hardware);
  return times;
}

class Simulation {
 public:
  Simulation(const AccessList& list, const Plan& plan, const Hardware& hardware,
             const PredictOptions& options, Record record)
      : list_(list),
        program_(list.program),
        plan_(plan),
        hardware_(hardware),
        is_on_demand_(options.offload == Offload::on_demand),
        record_(record),
        compute_s_(compute_times(program_, hardware)),
        loads_(list, plan, compute_s_, hardware.bytes_per_s, options),
        free_(occupied_bytes(list, plan)),
        is_dirty_(program_.values.size()),
        is_leaving_(program_.values.size()) {
    for (std::int64_t& bytes : free_) bytes = hardware_.capacity_bytes - bytes;
    if (is_on_demand_) list_leavers();
    if (record_ != Record::totals) result_.steps.resize(program_.steps.size());
  }

  Prediction run() && {
    for (step_ = 0; step_ < program_.steps.size(); ++step_) {
      leave_on_demand();
      window_end_ = static_cast<StepId>(
          std::min<std::size_t>(program_.steps.size(), std::size_t{step_} + 1 + most_steps_ahead));
      loads_.advance_to(step_, window_end_);
      wait_for_step();
      run_step();
    }
    result_.drain_s = -now_s_;
    while (!write_backs_.empty()) issue_write_back(std::max(channel_free_s_, now_s_));
    result_.time_s = std::max(now_s_, channel_free_s_);
    result_.drain_s += result_.time_s;
    result_.stall_s = result_.time_s - result_.compute_s;
    return std::move(result_);
  }

 private:
  struct WriteBack {
    ValueId value = 0;
    StepId step = 0;
  };

  std::int64_t bytes_of(ValueId value) const { return program_.values[value].bytes; }
  bool has_room(std::int64_t bytes) const { return occupied_bytes_ + bytes <= limit_bytes_; }
  void occupy(std::int64_t bytes) {
    occupied_bytes_ += bytes;
    result_.peak_occupied_bytes = std::max(result_.peak_occupied_bytes, occupied_bytes_);
  }

  // --- the channel -------------------------------------------------------------------------------

  double transfer(TransferKind kind, ValueId value, StepId step, double start_s,
                  std::int64_t in_bytes, std::int64_t out_bytes) {
    channel_free_s_ = start_s + static_cast<double>(in_bytes + out_bytes) / hardware_.bytes_per_s;
    result_.in_bytes += in_bytes;
    result_.out_bytes += out_bytes;
    if (record_ != Record::totals) {
      result_.steps[step].in_bytes += in_bytes;
      result_.steps[step].out_bytes += out_bytes;
    }
    if (record_ == Record::transfers)
      result_.transfers.push_back(
          {kind, value, step, start_s, channel_free_s_, in_bytes, out_bytes});
    last_value_ = value;
    return channel_free_s_;
  }

  // What the transfer under way changes when it ends; the channel decides nothing before.
  void finish_transfer() {
    if (leaving_ == nobody) return;
    occupied_bytes_ -= bytes_of(leaving_);
    is_leaving_[leaving_] = false;
    leaving_ = nobody;
  }

  void issue_load(Load& load, StepId step, double start_s) {
    const ValueId value = program_.uses[load.use].value;
    occupy(load.bytes);
    loads_.mark_issued(load);
    load.arrives_s = transfer(TransferKind::load, value, step, start_s, load.bytes, 0);
  }

  void issue_write_back(double start_s) {
    finish_transfer();
    const WriteBack next = write_backs_.front();
    write_backs_.pop_front();
    leaving_ = next.value;
    transfer(TransferKind::write_back, next.value, next.step, start_s, 0, bytes_of(next.value));
  }

  // Its use before is over by now; its write-back may not be.
  bool can_be_loaded(const Load& load) const { return !is_leaving_[program_.uses[load.use].value]; }

  // The soonest-needed load that the plan has room for until its step, and that finds room now or
  // could have the room of a write-back.
  Load* soonest_load() {
    if (nothing_to_load_in_ == step_) return nullptr;
    std::int64_t room = free_[step_];  // in every step up to `seen`
    StepId seen = step_;
    std::int64_t smallest = INT64_MAX;
    bool saw_all = true;
    bool is_hopeless = true;  // until the next step: the plan has room for none
    Load* chosen = nullptr;
    loads_.for_each_eligible(step_ + 1, window_end_, [&](Load& load) {
      while (++seen < load.step) room = std::min(room, free_[seen]);
      seen = load.step - 1;
      smallest = std::min(smallest, load.bytes);
      saw_all = room >= loads_.smallest_bytes();
      if (!saw_all || load.bytes > room) return saw_all;
      is_hopeless = false;
      if (!can_be_loaded(load) || (!has_room(load.bytes) && write_backs_.empty())) return true;
      chosen = &load;
      saw_all = false;
      return false;
    });
    if (saw_all) loads_.set_smallest_bytes(smallest);
    if (is_hopeless) nothing_to_load_in_ = step_;
    return chosen;
  }

  // While a step runs: a load ahead of its step; a write-back when that load needs its room, or
  // when there is nothing to load.
  bool issue_in_background(double start_s) {
    Load* load = soonest_load();
    if (load != nullptr && has_room(load->bytes)) {
      for (StepId held = step_; held < load->step; ++held) free_[held] -= load->bytes;
      issue_load(*load, load->step, start_s);
      return true;
    }
    if (write_backs_.empty()) return false;
    issue_write_back(start_s);
    return true;
  }

  void run_channel(double from_s, double until_s) {
    double at_s = std::max(channel_free_s_, from_s);
    while (at_s < until_s) {
      finish_transfer();
      if (!issue_in_background(at_s)) return;
      at_s = channel_free_s_;
    }
  }

  // --- the steps ---------------------------------------------------------------------------------

  struct StepRoom {
    std::int64_t rows_bytes = 0;     // of what it streams
    std::int64_t outputs_bytes = 0;  // that are not on chip yet
  };

  StepRoom room_for_start() const {
    StepRoom room;
    std::uint32_t u = program_.steps[step_].first_use;
    for (const Use& use : program_.uses_of(step_)) {
      const std::uint32_t before = list_.previous[u];
      const bool is_on_chip = before != no_use && plan_.uses[before].stays;
      if (plan_.uses[u].place == Place::streamed) {
        room.rows_bytes += least_bytes(program_, step_, use);
      } else if (!use.reads && !is_on_chip) {
        room.outputs_bytes += bytes_of(use.value);
      }
      ++u;
    }
    if (fit_of(list_.needs[step_], plan_) == Fit::slices)
      room.rows_bytes = slicing_of(program_, step_, plan_.capacity_bytes).held_bytes;
    return room;
  }

  // What passes through must have been written back first.
  bool streams_what_is_leaving() const {
    if (step_room_.rows_bytes == 0) return false;
    std::uint32_t u = program_.steps[step_].first_use;
    for (const Use& use : program_.uses_of(step_)) {
      if (plan_.uses[u++].place == Place::streamed && use.reads && is_leaving_[use.value])
        return true;
    }
    return false;
  }

  // Until everything the step needs whole is on chip and there is room for the rest.
  void wait_for_step() {
    step_room_ = room_for_start();
    limit_bytes_ = hardware_.capacity_bytes;
    if (list_.needs[step_].least_bytes <= plan_.tolerated_bytes)
      limit_bytes_ = std::max(limit_bytes_, list_.needs[step_].least_bytes);
    const std::int64_t needed = step_room_.rows_bytes + step_room_.outputs_bytes;
    double ready_s = now_s_;
    last_value_ = nobody;
    for (;;) {
      Load* missing = nullptr;
      bool is_complete = !streams_what_is_leaving();
      for (Load& load : loads_.of(step_)) {
        if (load.is_issued) continue;
        is_complete = false;
        if (missing == nullptr && can_be_loaded(load) && has_room(load.bytes)) missing = &load;
      }
      if (is_complete && has_room(needed)) break;
      const double idle_s = std::max(channel_free_s_, now_s_);
      if (leaving_ != nobody) {  // its end may be what all wait for
        last_value_ = leaving_;
        finish_transfer();
        ready_s = std::max(ready_s, idle_s);
        continue;
      }
      if (missing != nullptr) {
        issue_load(*missing, step_, idle_s);
      } else {
        STRATA_CHECK(!write_backs_.empty(), "a plan leaves room for every step");
        issue_write_back(idle_s);
      }
    }
    ValueId cause = last_value_;
    for (const Load& load : loads_.of(step_)) {
      if (load.arrives_s <= ready_s) continue;
      ready_s = load.arrives_s;
      cause = program_.uses[load.use].value;
    }
    if (record_ != Record::totals && ready_s > now_s_) {
      result_.steps[step_].wait_s = ready_s - now_s_;
      result_.steps[step_].cause = cause;
    }
    now_s_ = ready_s;
  }

  // Everything that a step does not hold whole passes the channel as one transfer.
  double stream(double start_s) {
    std::int64_t in = plan_.refetch_bytes.empty() ? 0 : plan_.refetch_bytes[step_];
    result_.refetch_bytes += in;
    if (record_ != Record::totals) result_.steps[step_].refetch_bytes = in;
    std::int64_t out = 0;
    ValueId largest = nobody;
    std::uint32_t u = program_.steps[step_].first_use;
    for (const Use& use : program_.uses_of(step_)) {
      if (plan_.uses[u].place == Place::streamed) {
        if (use.reads) in += bytes_of(use.value);
        if (use.writes && list_.is_live[u]) out += bytes_of(use.value);
        if (largest == nobody || bytes_of(use.value) > bytes_of(largest)) largest = use.value;
      }
      ++u;
    }
    if (in + out == 0) return start_s;  // nothing, or only what nobody reads again
    const double idle_s = std::max(channel_free_s_, start_s);
    finish_transfer();  // before the stream begins
    return transfer(TransferKind::stream, largest, step_, idle_s, in, out);
  }

  void run_step() {
    const double start_s = now_s_;
    occupy(step_room_.rows_bytes + step_room_.outputs_bytes);
    const double computed_s = start_s + compute_s_[step_];
    const double end_s = std::max(computed_s, stream(start_s));
    const std::int64_t occupied = occupied_bytes_;
    run_channel(start_s, end_s);
    result_.compute_s += compute_s_[step_];
    if (record_ != Record::totals) {
      StepResult& step = result_.steps[step_];
      step.start_s = start_s;
      step.end_s = end_s;
      step.compute_s = compute_s_[step_];
      step.stream_s = end_s - computed_s;
      step.occupied_bytes = occupied;
    }
    now_s_ = end_s;
    if (channel_free_s_ <= now_s_) finish_transfer();
    end_step();
  }

  void end_step() {
    occupied_bytes_ -= step_room_.rows_bytes;
    const std::size_t queued = write_backs_.size();
    std::uint32_t u = program_.steps[step_].first_use;
    for (const Use& use : program_.uses_of(step_)) {
      if (plan_.uses[u].place == Place::resident) {
        if (use.writes) is_dirty_[use.value] = true;
        const bool lingers = is_on_demand_ && list_.is_reused(u);
        if (!plan_.uses[u].stays && !lingers) leave(u);
      }
      ++u;
    }
    sort_new_write_backs(queued);
  }

  // --- leaving -----------------------------------------------------------------------------------

  void leave(std::uint32_t u) {
    const ValueId value = program_.uses[u].value;
    const bool is_written = is_dirty_[value] && list_.is_live[u];
    is_dirty_[value] = false;
    if (!is_written) {
      occupied_bytes_ -= bytes_of(value);
      return;
    }
    is_leaving_[value] = true;
    write_backs_.push_back({value, list_.step_of[u]});
  }

  // Of what leaves at the same moment, the lower value goes first.
  void sort_new_write_backs(std::size_t queued) {
    std::sort(write_backs_.begin() + static_cast<std::ptrdiff_t>(queued), write_backs_.end(),
              [](const WriteBack& a, const WriteBack& b) { return a.value < b.value; });
  }

  // On demand, a value stays until the step that needs its room.
  void list_leavers() {
    std::vector<std::int64_t> change(free_.size() + 1, 0);  // of what lingers, step by step
    for (std::uint32_t u = 0; u < plan_.uses.size(); ++u) {
      const UsePlan& use = plan_.uses[u];
      if (use.stays || use.place == Place::streamed || !list_.is_reused(u)) continue;
      leavers_.push_back(u);
      change[list_.step_of[u] + 1] += list_.bytes_of(u);
      change[use.leaves_at] -= list_.bytes_of(u);
    }
    std::int64_t lingering = 0;
    for (std::size_t step = 0; step < free_.size(); ++step) {
      lingering += change[step];
      free_[step] -= lingering;
    }
    std::stable_sort(leavers_.begin(), leavers_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return plan_.uses[a].leaves_at < plan_.uses[b].leaves_at;
    });
  }

  void leave_on_demand() {
    const std::size_t queued = write_backs_.size();
    while (next_leaver_ < leavers_.size() && plan_.uses[leavers_[next_leaver_]].leaves_at <= step_)
      leave(leavers_[next_leaver_++]);
    sort_new_write_backs(queued);
  }

  static constexpr ValueId nobody = ~ValueId{0};

  const AccessList& list_;
  const Program& program_;
  const Plan& plan_;
  const Hardware& hardware_;
  const bool is_on_demand_;
  const Record record_;
  const std::vector<double> compute_s_;
  Loads loads_;
  std::vector<std::int64_t> free_;  // of every step, beside the plan and what was loaded ahead
  std::vector<bool> is_dirty_;
  std::vector<bool> is_leaving_;  // its write-back is queued or under way
  std::vector<std::uint32_t> leavers_;
  std::size_t next_leaver_ = 0;

  StepId step_ = 0;        // that waits or runs
  StepId window_end_ = 0;  // prefetch looks no farther
  StepId nothing_to_load_in_ = never;
  StepRoom step_room_;
  double now_s_ = 0;
  double channel_free_s_ = 0;
  ValueId leaving_ = nobody;  // the write-back under way
  ValueId last_value_ = nobody;
  std::int64_t occupied_bytes_ = 0;
  std::int64_t limit_bytes_ = 0;  // the capacity, or what the plan tolerates in this step
  std::deque<WriteBack> write_backs_;
  Prediction result_;
};

}  // namespace

Prediction simulate(const AccessList& list, const Plan& plan, const Hardware& hardware,
                    const PredictOptions& options, Record record) {
  STRATA_CHECK(hardware.capacity_bytes >= plan.capacity_bytes,
               "a plan needs the capacity it was made for");
  return Simulation(list, plan, hardware, options, record).run();
}

}  // namespace strata
