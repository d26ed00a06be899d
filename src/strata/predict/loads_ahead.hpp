// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/margin.hpp"
#include "strata/predict/planned_steps.hpp"
#include "strata/predict/room_ahead.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace strata {

/// Which loads may be prefetched, and for which of them the plan has room. A load has room when
/// every step from the current one to the one before its own leaves that many bytes free.
///
/// A bit per load says whether to check it again. A load without room is not checked again until
/// room can have grown: room only shrinks while a step is current, and when a step ends, it grows
/// only for loads up to the first later step that is as full as the step that ended.
class LoadsAhead {
 public:
  static constexpr std::uint32_t none = PlannedSteps::no_load;

  void reset(const PlannedSteps& plan, std::int64_t capacity_bytes);
  /// Step `step` is current; that many write-backs have ended. Steps in order.
  void advance_to(StepId step, std::uint32_t ended_write_backs);
  /// A write-back has ended: the load that waited for it can go.
  void write_back_ended(std::uint32_t write_back) {
    const std::uint32_t load = plan_->load_after(write_back);
    if (load != none && loads_[load].eligible_at <= step_) make_eligible(load);
  }

  bool is_issued(std::uint32_t load) const { return is_issued_[load] != 0; }
  bool are_issued(std::uint32_t first, std::uint32_t end) const {
    for (; first < end; ++first) {
      if (is_issued_[first] == 0) return false;
    }
    return true;
  }
  void mark_issued(std::uint32_t load) {
    is_issued_[load] = 1;
    clear(is_eligible_, load);
    clear(is_worth_a_look_, load);
  }
  /// The same, and its bytes are taken from the steps up to its own.
  void mark_issued_ahead(std::uint32_t load);

  /// The soonest-needed load for which the plan has room and `accepts` is true; none: no_load.
  template <class Accepts>
  std::uint32_t first(Margin& margin, Accepts accepts) {
    const std::uint32_t first = std::max(look_from_, behind_step_);
    look_from_ = window_loads_;
    if (first >= window_loads_) return none;
    const std::uint32_t last_word = (window_loads_ - 1) / 64;
    std::uint64_t mask = ~std::uint64_t{0} << (first % 64);
    for (std::uint32_t word = first / 64; word <= last_word; ++word) {
      std::uint64_t bits = is_worth_a_look_[word] & mask;
      mask = ~std::uint64_t{0};
      if (word == last_word) bits &= mask >> (63 - (window_loads_ - 1) % 64);
      while (bits != 0) {
        const std::uint32_t at = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
        const Load& load = loads_[at];
        if (load.step < seen_.end) seen_ = room_.nothing();
        if (load.bytes <= seen_.least) room_.see(seen_, load.step);
        if (load.bytes <= seen_.least) {
          look_from_ = std::min(look_from_, at);
          if (accepts(load)) return at;
          bits &= bits - 1;
          continue;
        }
        // Later loads that are larger than what was seen have no room either.
        const std::uint64_t too_large =
            (bits & plan_->sizes().larger_than(word, seen_.least)) | (bits & (~bits + 1));
        margin.grow_needed(std::min(load.bytes, LoadSizes::least_larger_than(seen_.least)) -
                           seen_.least);
        is_worth_a_look_[word] &= ~too_large;
        dormant_end_ = std::max(
            dormant_end_, word * 64 + 64 - static_cast<std::uint32_t>(std::countl_zero(too_large)));
        bits &= ~too_large;
      }
    }
    return none;
  }

 private:
  static void set(std::vector<std::uint64_t>& bits, std::uint32_t at) {
    bits[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  static void clear(std::vector<std::uint64_t>& bits, std::uint32_t at) {
    bits[at / 64] &= ~(std::uint64_t{1} << (at % 64));
  }

  // The bits of a word that stand for loads of [first, end).
  static std::uint64_t range_in(std::uint32_t word, std::uint32_t first, std::uint32_t end) {
    std::uint64_t bits = ~std::uint64_t{0};
    if (first / 64 == word) bits <<= first % 64;
    if (end / 64 == word) bits &= (std::uint64_t{1} << (end % 64)) - 1;
    return bits;
  }

  void wake_loads(std::int64_t before_bytes);
  void look_again(std::uint32_t first, std::uint32_t end);
  void make_eligible(std::uint32_t load) {
    if (is_issued_[load] != 0) return;
    set(is_eligible_, load);
    set(is_worth_a_look_, load);
    look_from_ = std::min(look_from_, load);
  }

  const PlannedSteps* plan_ = nullptr;
  RoomAhead room_;
  StepId step_ = 0;
  const Load* loads_ = nullptr;     // of the plan
  std::uint32_t behind_step_ = 0;   // the first load of a later step
  std::uint32_t window_loads_ = 0;  // as many loads are not too far ahead
  RoomAhead::Seen seen_;
  std::size_t next_ = 0;  // of the loads by eligibility
  std::vector<std::uint8_t> is_issued_;
  std::vector<std::uint64_t> is_eligible_;
  std::vector<std::uint64_t> is_worth_a_look_;  // of the eligible ones
  std::uint32_t look_from_ = 0;                 // no load before it is worth a look
  std::uint32_t dormant_end_ = 0;               // every eligible load from here on is worth a look
};

}  // namespace strata
