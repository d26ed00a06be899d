// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/timed_pass.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace strata {

Prediction& TimedPass::run(const PlannedSteps& plan, const PassLimits& limits,
                           const std::vector<double>& compute_s, Record record, double give_up_s) {
  begin(plan, limits, record);
  const bool may_give_up = give_up_s < std::numeric_limits<double>::infinity();
  if (may_give_up) find_rest(compute_s);
  const auto steps = static_cast<StepId>(compute_s.size());
  for (step_ = 0; step_ < steps; ++step_) {
    if (may_give_up && least_time_s() > give_up_s) {
      gave_up_ = true;
      result_.time_s = least_time_s();
      return result_;
    }
    occupied_bytes_ -= steps_[step_].freed_before_bytes;
    queued_write_backs_ = steps_[step_].queued_before;
    ahead_.advance_to(step_, ended_write_backs_);
    wait_for_step();
    run_step(compute_s[step_]);
  }
  result_.drain_s = -now_s_;
  while (has_write_backs()) issue_write_back(std::max(channel_free_s_, now_s_));
  result_.time_s = std::max(now_s_, channel_free_s_);
  result_.drain_s += result_.time_s;
  result_.stall_s = result_.time_s - result_.compute_s;
  return result_;
}

// What nothing can load ahead comes before its step. A step lasts as long as its arithmetic and as
// long as its stream; what the last one changed is written back after it.
void TimedPass::find_rest(const std::vector<double>& compute_s) {
  rest_s_.resize(compute_s.size());
  const double s_per_byte = 1 / bytes_per_s_;
  double rest_s = static_cast<double>(plan_->last_write_back_bytes()) * s_per_byte;
  for (std::size_t step = compute_s.size(); step-- > 0;) {
    const auto streamed =
        static_cast<double>(steps_[step].stream_in_bytes + steps_[step].stream_out_bytes);
    const auto late =
        static_cast<double>(plan_->late_bytes(static_cast<StepId>(step), capacity_bytes_));
    rest_s_[step] = rest_s += late * s_per_byte + std::max(compute_s[step], streamed * s_per_byte);
  }
}

// A lower bound on the rest of the iteration: the remaining steps and the remaining bytes. The
// factor is far larger than the rounding errors of the sums.
double TimedPass::least_time_s() const {
  constexpr double rounding = 1e-9;
  const std::int64_t left_bytes = plan_->traffic().total() - moved_bytes_;
  const double computed_s = now_s_ + rest_s_[step_];
  const double moved_s =
      std::max(now_s_, channel_free_s_) + static_cast<double>(left_bytes) / bytes_per_s_;
  return std::max(computed_s, moved_s) * (1 - rounding);
}

void TimedPass::begin(const PlannedSteps& plan, const PassLimits& limits, Record record) {
  plan_ = &plan;
  record_ = record;
  bytes_per_s_ = limits.bytes_per_s;
  offloads_first_ = limits.channel == ChannelOrder::offload_first;
  capacity_bytes_ = limits.capacity_bytes;
  ahead_.reset(plan, capacity_bytes_);
  steps_ = plan.steps().data();
  first_loads_ = plan.first_loads().data();
  loads_ = plan.loads().data();
  write_backs_ = plan.write_backs().data();
  // Until it is issued, the time that a load takes: dividing is slow where the next decision waits.
  arrives_s_.resize(plan.loads().size());
  for (std::size_t load = 0; load < arrives_s_.size(); ++load)
    arrives_s_[load] = static_cast<double>(loads_[load].bytes) / bytes_per_s_;
  now_s_ = 0;
  channel_free_s_ = 0;
  occupied_bytes_ = 0;
  step_peak_bytes_ = 0;
  moved_bytes_ = 0;
  queued_write_backs_ = issued_write_backs_ = ended_write_backs_ = 0;
  gave_up_ = false;
  margin_ = {};
  moving_.clear();
  charged_in_bytes_ = charged_out_bytes_ = 0;
  result_ = {};
  result_.in_bytes = plan.traffic().in_bytes;
  result_.out_bytes = plan.traffic().out_bytes;
  if (record_ != Record::totals) result_.steps.resize(plan.steps().size());
}

// --- the channel ---------------------------------------------------------------------------------

void TimedPass::record_transfer(const Transfer& transfer) {
  result_.steps[transfer.step].in_bytes += transfer.in_bytes;
  result_.steps[transfer.step].out_bytes += transfer.out_bytes;
  if (record_ == Record::transfers) result_.transfers.push_back(transfer);
  moving_.push_back(transfer);
}

// The step that ends now ran while the channel moved this, whatever it was for. Of the transfer
// under way it gets the whole bytes that have passed and that no step before it got.
void TimedPass::charge_moved(double end_s) {
  StepResult& step = result_.steps[step_];
  std::size_t done = 0;
  for (; done < moving_.size() && moving_[done].end_s <= end_s; ++done) {
    step.moved_in_bytes += moving_[done].in_bytes - std::exchange(charged_in_bytes_, 0);
    step.moved_out_bytes += moving_[done].out_bytes - std::exchange(charged_out_bytes_, 0);
  }
  moving_.erase(moving_.begin(), moving_.begin() + static_cast<std::ptrdiff_t>(done));
  if (moving_.empty() || moving_.front().start_s >= end_s) return;
  const Transfer& next = moving_.front();
  const double share = (end_s - next.start_s) / (next.end_s - next.start_s);
  const auto passed = [&](std::int64_t bytes, std::int64_t& charged) {
    const auto by_now = static_cast<std::int64_t>(share * static_cast<double>(bytes));
    return by_now - std::exchange(charged, by_now);
  };
  step.moved_in_bytes += passed(next.in_bytes, charged_in_bytes_);
  step.moved_out_bytes += passed(next.out_bytes, charged_out_bytes_);
}

// While a step runs, the channel prefetches a load. It writes back when the load needs room, or
// when there is nothing to load. It also chooses a load without room if a write-back may make room.
// With offload first it writes back whatever is queued before it looks for a load.
bool TimedPass::issue_in_background(double start_s) {
  if (offloads_first_ && has_write_backs()) {
    issue_write_back(start_s);
    return true;
  }
  const std::uint32_t load = ahead_.first(
      margin_, [&](const Load& any) { return has_write_backs() || has_room(any.bytes); });
  if (load != LoadsAhead::none && has_room(loads_[load].bytes)) {
    ahead_.mark_issued_ahead(load);
    issue_load(load, loads_[load].step, start_s);
    return true;
  }
  if (!has_write_backs()) return false;
  issue_write_back(start_s);
  return true;
}

void TimedPass::run_channel(double from_s, double until_s) {
  double at_s = std::max(channel_free_s_, from_s);
  while (at_s < until_s) {
    finish_transfer();
    if (!issue_in_background(at_s)) return;
    at_s = channel_free_s_;
  }
}

// --- the steps -----------------------------------------------------------------------------------

// Until the next write-back ends, room only shrinks, so that loads that were passed over need no
// other look; after it, only if one of them may go now.
bool TimedPass::may_go(const MissingLoads& passed_over) {
  if (passed_over.least_after <= ended_write_backs_) return true;
  return passed_over.least_bytes < unlimited_bytes && has_room(passed_over.least_bytes);
}

// The first load (by value) of the step that can go and has room now.
std::uint32_t TimedPass::first_missing_load(bool& is_complete) {
  const std::uint32_t end = first_loads_[step_ + 1];
  while (missing_.first < end && ahead_.is_issued(missing_.first)) ++missing_.first;
  if (missing_.first < end) is_complete = false;
  if (missing_.seen_write_backs != ended_write_backs_) {
    missing_.seen_write_backs = ended_write_backs_;
    if (missing_.next < end || may_go(missing_))
      missing_ = {
          .first = missing_.first, .next = missing_.first, .seen_write_backs = ended_write_backs_};
  }
  for (; missing_.next < end; ++missing_.next) {
    if (ahead_.is_issued(missing_.next)) continue;
    const Load& load = loads_[missing_.next];
    if (load.after > ended_write_backs_)
      missing_.least_after = std::min(missing_.least_after, load.after);
    else if (has_room(load.bytes))
      return missing_.next;
    else
      missing_.least_bytes = std::min(missing_.least_bytes, load.bytes);
  }
  return LoadsAhead::none;
}

// Until everything the step needs whole is on chip and there is room for the rest.
void TimedPass::wait_for_step() {
  const PlannedStep& planned = steps_[step_];
  limit_bytes_ = capacity_bytes_;
  if (plan_->tolerated_bytes() > 0) {
    const std::int64_t least = plan_->list().needs[step_].least_bytes;
    if (least <= plan_->tolerated_bytes()) limit_bytes_ = std::max(limit_bytes_, least);
  }
  double ready_s = now_s_;
  last_value_ = nobody;
  missing_ = {.first = first_loads_[step_],
              .next = first_loads_[step_],
              .seen_write_backs = ended_write_backs_};
  const bool is_there = planned.stream_after <= ended_write_backs_ &&
                        ahead_.are_issued(first_loads_[step_], first_loads_[step_ + 1]) &&
                        has_room(planned.rows_bytes + planned.outputs_bytes);
  while (!is_there) {
    bool is_complete = planned.stream_after <= ended_write_backs_;
    const std::uint32_t missing = first_missing_load(is_complete);
    if (is_complete && has_room(planned.rows_bytes + planned.outputs_bytes)) break;
    const double idle_s = std::max(channel_free_s_, now_s_);
    if (is_writing_back()) {  // its end may be what all wait for
      last_value_ = write_backs_[ended_write_backs_].value;
      finish_transfer();
      ready_s = std::max(ready_s, idle_s);
    } else if (missing != LoadsAhead::none && !(offloads_first_ && has_write_backs())) {
      ahead_.mark_issued(missing);
      issue_load(missing, step_, idle_s);
    } else {
      STRATA_CHECK(has_write_backs(), "a plan leaves room for every step");
      issue_write_back(idle_s);
    }
  }
  note_wait(ready_s);
}

// A step waited for the value that arrived last.
void TimedPass::note_wait(double ready_s) {
  ValueId cause = last_value_;
  const std::uint32_t end = first_loads_[step_ + 1];
  for (std::uint32_t load = first_loads_[step_]; load < end; ++load) {
    if (arrives_s_[load] <= ready_s) continue;
    ready_s = arrives_s_[load];
    cause = loads_[load].value;
  }
  if (record_ != Record::totals && ready_s > now_s_) {
    result_.steps[step_].wait_s = ready_s - now_s_;
    result_.steps[step_].cause = cause;
  }
  now_s_ = ready_s;
}

// Everything that a step does not hold whole passes the channel as one transfer.
double TimedPass::stream(const PlannedStep& planned, double start_s) {
  const std::int64_t refetch = plan_->refetch_bytes(step_);
  result_.refetch_bytes += refetch;
  if (record_ != Record::totals) result_.steps[step_].refetch_bytes = refetch;
  if (planned.stream_in_bytes + planned.stream_out_bytes == 0)
    return start_s;  // nothing, or only dead values
  const double idle_s = std::max(channel_free_s_, start_s);
  finish_transfer();  // before the stream begins
  const ValueId largest = planned.largest_streamed == no_use
                              ? nobody
                              : plan_->list().facts[planned.largest_streamed].value;
  return transfer(TransferKind::stream, largest, step_, idle_s, planned.stream_in_bytes,
                  planned.stream_out_bytes);
}

void TimedPass::run_step(double compute_s) {
  const PlannedStep& planned = steps_[step_];
  const double start_s = now_s_;
  occupy(planned.rows_bytes + planned.outputs_bytes);
  const double computed_s = start_s + compute_s;
  const double end_s = std::max(computed_s, stream(planned, start_s));
  const std::int64_t occupied = occupied_bytes_;
  run_channel(start_s, end_s);
  result_.compute_s += compute_s;
  if (record_ != Record::totals) {
    StepResult& step = result_.steps[step_];
    step.start_s = start_s;
    step.end_s = end_s;
    step.compute_s = compute_s;
    step.stream_s = end_s - computed_s;
    step.occupied_bytes = occupied;
    step.peak_occupied_bytes = step_peak_bytes_;
    charge_moved(end_s);
  }
  result_.peak_occupied_bytes = std::max(result_.peak_occupied_bytes, step_peak_bytes_);
  step_peak_bytes_ = 0;
  now_s_ = end_s;
  if (channel_free_s_ <= now_s_) finish_transfer();
  occupied_bytes_ -= planned.rows_bytes + planned.freed_after_bytes;
  queued_write_backs_ = planned.queued_after;
}

}  // namespace strata
