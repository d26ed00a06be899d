// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference_planner.hpp"

#include <set>
#include <stdexcept>

/// The timed pass of docs/prediction.md a second time: written from the page alone, event by event.
/// At every event everything is looked at again; nothing is remembered that can be recounted.
namespace strata::reference {

struct StepTime {
  double start_s = 0;
  double end_s = 0;
  double wait_s = 0;
  std::optional<ValueId> cause;
};

struct Outcome {
  double time_s = 0;
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  std::vector<StepTime> steps;
};

class Simulator {
 public:
  Simulator(const Program& program, const Plan& plan, const Hardware& hardware, Prefetch prefetch,
            Offload offload, ChannelOrder channel)
      : uses_(program),
        plan_(plan),
        hardware_(hardware),
        prefetch_(prefetch),
        offload_(offload),
        channel_(channel) {
    for (StepId step = 0; step < step_count(); ++step) plan_free_.push_back(free_by_plan(step));
  }

  Outcome run() {
    become_current(0);
    while (true) {
      end_transfer();
      while (end_step() || start_step()) continue;
      if (!in_flight_) begin_transfer();
      const bool computes = is_running_ && compute_end_s_ > now_s_;
      if (!in_flight_ && !computes) break;
      if (in_flight_ && computes) {
        now_s_ = std::min(in_flight_->end_s, compute_end_s_);
      } else {
        now_s_ = in_flight_ ? in_flight_->end_s : compute_end_s_;
      }
    }
    if (current_ < step_count() || !write_backs_.empty()) throw std::logic_error("nothing can go");
    outcome_.time_s = now_s_;
    return outcome_;
  }

 private:
  struct InFlight {
    TransferKind kind;
    std::size_t use;  ///< of a load, or the one after which a write-back left
    double end_s;
  };
  enum class Stream { none, waits, flies };

  // What the plan says.
  StepId step_count() const { return static_cast<StepId>(uses_.program.steps.size()); }
  bool is_resident(std::size_t use) const {
    return plan_.uses[use].residency == Residency::resident;
  }
  bool stayed_until(std::size_t use) const {
    const auto before = uses_.previous[use];
    return before && plan_.uses[*before].stays;
  }
  bool is_load(std::size_t use) const {
    return is_resident(use) && uses_.at(use).reads && !stayed_until(use);
  }
  bool is_changed(std::size_t use) const {  // "was written since it came on chip"
    return uses_.at(use).writes || (stayed_until(use) && is_changed(*uses_.previous[use]));
  }
  bool leaves_on_demand(std::size_t use) const {
    return offload_ == Offload::on_demand && is_resident(use) && !plan_.uses[use].stays &&
           uses_.is_read_again(use);
  }
  double compute_s(StepId id) const {
    const Step& step = uses_.program.steps[id];
    const auto operations =
        static_cast<double>(hardware_.mac_is_one ? step.flop - step.mac : step.flop);
    return operations / (step.layer_class == LayerClass::dense ? hardware_.dense_flop_per_s
                                                               : hardware_.other_flop_per_s);
  }
  double transfer_s(std::int64_t bytes) const {
    return static_cast<double>(bytes) / hardware_.bytes_per_s;
  }

  // What is on chip.
  std::int64_t rows_bytes(StepId step) const {
    const Holding holding = holding_of(uses_, step, plan_.capacity_bytes);
    if (holding.fits == 3) return holding.least_bytes;
    std::int64_t bytes = 0;
    for (const std::size_t use : uses_.of_step[step]) {
      if (!is_resident(use)) bytes += uses_.least(use);
    }
    return bytes;
  }
  std::vector<std::size_t> outputs(StepId step) const {
    std::vector<std::size_t> found;
    for (const std::size_t use : uses_.of_step[step]) {
      if (is_resident(use) && !uses_.at(use).reads && !on_chip_.contains(uses_.at(use).value)) {
        found.push_back(use);
      }
    }
    return found;
  }
  std::int64_t free_bytes() const {
    std::int64_t free = hardware_.capacity_bytes;
    for (const ValueId value : on_chip_) free -= uses_.program.values[value].bytes;
    if (is_running_) free -= rows_bytes(current_);
    return free;
  }
  bool is_to_be_written_back(ValueId value) const {
    return std::any_of(write_backs_.begin(), write_backs_.end(),
                       [&](std::size_t use) { return uses_.at(use).value == value; });
  }

  // Steps.
  bool can_start() const {
    std::int64_t room = rows_bytes(current_);
    for (const std::size_t use : outputs(current_)) room += uses_.bytes(use);
    for (const std::size_t use : uses_.of_step[current_]) {
      if (is_load(use) && !arrived_.contains(use)) return false;
      if (!is_resident(use) && uses_.at(use).reads && is_to_be_written_back(uses_.at(use).value)) {
        return false;
      }
    }
    return room <= free_bytes();
  }

  bool start_step() {
    if (current_ == step_count() || is_running_ || !can_start()) return false;
    for (const std::size_t use : outputs(current_)) on_chip_.insert(uses_.at(use).value);
    is_running_ = true;
    compute_end_s_ = now_s_ + compute_s(current_);
    stream_ = stream_bytes().first + stream_bytes().second > 0 ? Stream::waits : Stream::none;
    const double waited_s = now_s_ - current_since_s_;
    outcome_.steps.push_back(
        {now_s_, 0, waited_s, waited_s > 0 ? last_ended_ : std::optional<ValueId>{}});
    return true;
  }

  bool end_step() {
    if (!is_running_ || now_s_ < compute_end_s_ || stream_ != Stream::none) return false;
    outcome_.steps.back().end_s = now_s_;
    is_running_ = false;
    for (const std::size_t use : uses_.of_step[current_]) {
      if (is_resident(use) && !plan_.uses[use].stays && !leaves_on_demand(use)) leave(use);
    }
    become_current(current_ + 1);
    return true;
  }

  void become_current(StepId step) {
    current_ = step;
    current_since_s_ = now_s_;
    std::erase_if(ahead_, [&](std::size_t load) { return uses_.step_of[load] <= step; });
    std::map<ValueId, std::size_t> leaving;
    for (std::size_t use = 0; use < plan_.uses.size(); ++use) {
      if (leaves_on_demand(use) && plan_.uses[use].leaves_at == step) {
        leaving[uses_.at(use).value] = use;
      }
    }
    for (const auto& [value, use] : leaving) leave(use);
  }

  void leave(std::size_t use) {
    if (is_changed(use) && uses_.is_live(use)) {
      write_backs_.push_back(use);
    } else {
      on_chip_.erase(uses_.at(use).value);
    }
  }

  // The channel.
  std::pair<std::int64_t, std::int64_t> stream_bytes() const {  // in and out
    std::int64_t in = plan_.refetch_bytes.empty() ? 0 : plan_.refetch_bytes[current_];
    std::int64_t out = 0;
    for (const std::size_t use : uses_.of_step[current_]) {
      if (is_resident(use)) continue;
      if (uses_.at(use).reads) in += uses_.bytes(use);
      if (uses_.at(use).writes && uses_.is_live(use)) out += uses_.bytes(use);
    }
    return {in, out};
  }

  void end_transfer() {
    if (!in_flight_ || in_flight_->end_s > now_s_) return;
    const InFlight ended = *in_flight_;
    in_flight_.reset();
    if (ended.kind == TransferKind::stream) {
      stream_ = Stream::none;
      return;
    }
    last_ended_ = uses_.at(ended.use).value;
    if (ended.kind == TransferKind::load) {
      arrived_.insert(ended.use);
    } else {
      write_backs_.erase(std::find(write_backs_.begin(), write_backs_.end(), ended.use));
      on_chip_.erase(uses_.at(ended.use).value);
    }
  }

  void begin_transfer() {
    if (stream_ == Stream::waits) {
      const auto [in, out] = stream_bytes();
      outcome_.in_bytes += in;
      outcome_.out_bytes += out;
      stream_ = Stream::flies;
      in_flight_ = {TransferKind::stream, 0, now_s_ + transfer_s(in + out)};
      return;
    }
    std::optional<std::size_t> load = is_running_ ? load_ahead() : load_of_current();
    if (load && uses_.bytes(*load) > free_bytes()) load.reset();
    if (channel_ == ChannelOrder::offload_first && !write_backs_.empty()) load.reset();
    if (load) {
      ahead_.insert(*load);
      on_chip_.insert(uses_.at(*load).value);
      outcome_.in_bytes += uses_.bytes(*load);
      in_flight_ = {TransferKind::load, *load, now_s_ + transfer_s(uses_.bytes(*load))};
    } else if (!write_backs_.empty()) {
      const std::size_t use = write_backs_.front();
      outcome_.out_bytes += uses_.bytes(use);
      in_flight_ = {TransferKind::write_back, use, now_s_ + transfer_s(uses_.bytes(use))};
    }
  }

  /// "its first load (by id) that can go and has room"
  std::optional<std::size_t> load_of_current() const {
    if (current_ == step_count()) return std::nullopt;
    for (const std::size_t use : uses_.of_step[current_]) {
      if (is_load(use) && can_go(use) && uses_.bytes(use) <= free_bytes()) return use;
    }
    return std::nullopt;
  }

  /// "the first load of a later step (by step, then id) that may be issued ahead, can go, and for
  /// which the plan has room: what the plan leaves free, less what was loaded ahead, is at least
  /// its bytes in every step from the current one up to the one before its own"
  std::optional<std::size_t> load_ahead() const {
    std::int64_t room = hardware_.capacity_bytes;
    for (StepId step = current_ + 1; step < step_count(); ++step) {
      room = std::min(room, plan_free_[step - 1] - loaded_ahead_bytes(step - 1));
      for (const std::size_t use : uses_.of_step[step]) {
        const bool has_room = uses_.bytes(use) <= room;
        if (is_load(use) && may_be_issued(use) && can_go(use) && has_room) return use;
      }
    }
    return std::nullopt;
  }

  std::int64_t loaded_ahead_bytes(StepId step) const {
    std::int64_t bytes = 0;
    for (const std::size_t load : ahead_) {
      if (uses_.step_of[load] > step) bytes += uses_.bytes(load);
    }
    return bytes;
  }

  /// "the use before is over, the value has left the chip and its write-back has ended"
  bool can_go(std::size_t use) const {
    const auto before = uses_.previous[use];
    return (!before || uses_.step_of[*before] < current_) &&
           !on_chip_.contains(uses_.at(use).value);
  }

  bool may_be_issued(std::size_t use) const {
    const StepId step = uses_.step_of[use];
    if (step - current_ > 1024) return false;
    switch (prefetch_) {
      case Prefetch::none: return false;
      case Prefetch::soonest: return true;
      case Prefetch::next_layer: return current_ + 1 == step;
      case Prefetch::listing: return covering(step, use) <= current_;
      case Prefetch::listing_printed: break;
    }
    StepId from = step;  // of the steps that the queue has taken, the first
    for (const std::size_t queued : uses_.of_step[step]) {
      if (!is_load(queued)) continue;
      from = covering(from, queued);
      if (queued == use) break;
    }
    return (from == 0 ? 0 : from - 1) <= current_;
  }

  /// "the latest step such that the compute times from its start up to" `end` "cover the transfer
  /// (the first step if none does)"
  StepId covering(StepId end, std::size_t use) const {
    StepId from = end;
    double covered_s = 0;
    while (from > 0 && (from == end || covered_s < transfer_s(uses_.bytes(use))))
      covered_s += compute_s(--from);
    return from;
  }

  std::int64_t free_by_plan(StepId step) const {
    std::int64_t free = hardware_.capacity_bytes - rows_bytes(step);
    for (std::size_t use = 0; use < plan_.uses.size(); ++use) {
      if (occupies(use, step)) free -= uses_.bytes(use);
    }
    return free;
  }

  /// Whether by the plan the value of this use lies on chip in this step because of this use.
  bool occupies(std::size_t use, StepId step) const {
    if (!is_resident(use) || step < uses_.step_of[use]) return false;
    if (step == uses_.step_of[use]) return true;
    if (plan_.uses[use].stays) return step < uses_.next_step(use);
    return leaves_on_demand(use) && step < plan_.uses[use].leaves_at;
  }

  Uses uses_;
  const Plan& plan_;
  Hardware hardware_;
  Prefetch prefetch_;
  Offload offload_;
  ChannelOrder channel_;
  std::vector<std::int64_t> plan_free_;  ///< what the plan leaves free in each step

  double now_s_ = 0;
  StepId current_ = 0;
  double current_since_s_ = 0;
  bool is_running_ = false;
  double compute_end_s_ = 0;
  Stream stream_ = Stream::none;
  std::set<ValueId> on_chip_;  ///< all its bytes have room, whether or not they are there yet
  std::vector<std::size_t> write_backs_;  ///< the oldest first; the one in flight among them
  std::set<std::size_t> arrived_;         ///< loads
  std::set<std::size_t> ahead_;           ///< loads that were issued for steps still to come
  std::optional<InFlight> in_flight_;
  std::optional<ValueId> last_ended_;
  Outcome outcome_;
};

inline Outcome simulate(const Program& program, const Plan& plan, const Hardware& hardware,
                        Prefetch prefetch, Offload offload,
                        ChannelOrder channel = ChannelOrder::loads_first) {
  return Simulator(program, plan, hardware, prefetch, offload, channel).run();
}

}  // namespace strata::reference
