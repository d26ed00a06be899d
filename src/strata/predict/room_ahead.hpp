// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace strata {

/// What the plan leaves free in the steps from the current one on, less what was loaded ahead. What
/// is loaded ahead takes room from the current step up to the one before its own, so it is enough
/// to remember where it ends: what is taken from a step is what ends behind it. Steps are kept in
/// blocks, so that finding the least of a range touches few numbers.
class RoomAhead {
 public:
  /// The least of the steps from the current one up to the one before `end`. Goes forward only.
  struct Seen {
    StepId end = 0;
    std::int64_t least = INT64_MAX;
    std::int64_t taken = 0;  // from the last of them
  };

  void reset(const std::vector<std::int64_t>& occupied_bytes, std::int64_t capacity_bytes) {
    const std::size_t steps = occupied_bytes.size();
    const std::size_t blocks = steps / width + 1;
    free_.resize(blocks * width);
    for (std::size_t step = 0; step < steps; ++step)
      free_[step] = capacity_bytes - occupied_bytes[step];
    std::fill(free_.begin() + static_cast<std::ptrdiff_t>(steps), free_.end(), INT64_MAX / 2);
    ends_.assign(blocks * width, 0);
    ends_in_.assign(blocks, 0);
    least_.resize(blocks);
    free_in_row_.assign(blocks / width + 1, INT64_MAX / 2);
    ends_in_row_.assign(blocks / width + 1, 0);
    for (std::size_t block = 0; block < blocks; ++block) {
      find_least(block);
      free_in_row_[block / width] = std::min(free_in_row_[block / width], least_[block]);
    }
    current_ = 0;
    taken_ = 0;
  }

  void advance_to(StepId step) {
    current_ = step;
    taken_ -= ends_[step];
  }

  std::int64_t in_current_step() const { return free_[current_] - taken_; }

  /// Takes bytes from every step from the current one up to the one before `end`.
  void take(StepId end, std::int64_t bytes) {
    taken_ += bytes;
    ends_[end] += bytes;
    ends_in_[end / width] += bytes;
    find_least(end / width);
    ends_in_row_[end / row] += bytes;
  }

  /// Nothing seen so far.
  Seen nothing() const { return {.end = current_, .taken = taken_ + ends_[current_]}; }

  void see(Seen& seen, StepId end) const {
    StepId step = seen.end;
    std::int64_t least = seen.least;
    std::int64_t taken = seen.taken;
    const auto see_steps = [&](StepId until) {
      for (; step < until; ++step) {
        taken -= ends_[step];
        least = std::min(least, free_[step] - taken);
      }
    };
    see_steps(std::min(end, (step + width - 1) / width * width));
    for (; step + width <= end; step += width) {
      taken -= ends_in_[step / width];
      least = std::min(least, least_[step / width] - taken);
    }
    see_steps(end);
    seen = {end, least, taken};
  }

  /// The first step behind the current one and before `end` that has at most that much; `end` when
  /// none has.
  StepId first_at_most(StepId end, std::int64_t bytes) const {
    std::int64_t taken = taken_;
    StepId step = current_ + 1;
    while (step < end) {
      if (step % width == 0) {
        step = skip_blocks(step, end, bytes, taken);
        if (step >= end) return end;
      }
      taken -= ends_[step];
      if (free_[step] - taken <= bytes) return step;
      ++step;
    }
    return end;
  }

 private:
  static constexpr StepId width = 8;            // steps of a block
  static constexpr StepId row = width * width;  // steps of a row of blocks

  // Over blocks in which every step has more than that; `taken` is what is taken from the step
  // before and becomes what is taken from the one before the result.
  StepId skip_blocks(StepId step, StepId end, std::int64_t bytes, std::int64_t& taken) const {
    while (step < end) {
      // What is taken from a row is at most what is taken before it.
      if (step % row == 0 && free_in_row_[step / row] - taken > bytes) {
        taken -= ends_in_row_[step / row];
        step += row;
        continue;
      }
      const std::int64_t behind = taken - ends_in_[step / width];
      if (least_[step / width] - behind <= bytes) return step;
      taken = behind;
      step += width;
    }
    return end;
  }

  void find_least(std::size_t block) {
    const std::int64_t* free = &free_[block * width];
    const std::int64_t* ends = &ends_[block * width];
    std::int64_t taken = 0;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = width; i-- > 0;) {
      least = std::min(least, free[i] - taken);
      taken += ends[i];
    }
    least_[block] = least;
  }

  StepId current_ = 0;
  std::int64_t taken_ = 0;                 // from the current step
  std::vector<std::int64_t> free_;         // by step, when nothing is loaded ahead
  std::vector<std::int64_t> ends_;         // by step: what was loaded ahead for it
  std::vector<std::int64_t> ends_in_;      // the same by block
  std::vector<std::int64_t> least_;        // by block, less what ends behind a step in the block
  std::vector<std::int64_t> free_in_row_;  // the least by row, when nothing is loaded ahead
  std::vector<std::int64_t> ends_in_row_;
};

}  // namespace strata
