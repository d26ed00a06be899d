// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/program.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace strata {

/// What the plan leaves free in the steps from the current one on, less what was loaded ahead.
/// Steps behind the current one are not looked at any more. Kept in blocks, so that taking from a
/// range of steps and finding its least touch few numbers.
class RoomAhead {
 public:
  static constexpr std::int64_t plenty = INT64_MAX;

  void reset(const std::vector<std::int64_t>& occupied_bytes, std::int64_t capacity_bytes) {
    const std::size_t blocks = occupied_bytes.size() / width + 1;
    free_.assign(blocks * width, INT64_MAX / 2);
    for (std::size_t step = 0; step < occupied_bytes.size(); ++step)
      free_[step] = capacity_bytes - occupied_bytes[step];
    change_.assign(blocks, 0);
    least_.resize(blocks);
    for (std::size_t block = 0; block < blocks; ++block) find_least(block);
  }

  std::int64_t at(StepId step) const { return free_[step] + change_[step / width]; }

  /// Takes bytes from every step from the current one up to the one before `end`.
  void take(StepId current, StepId end, std::int64_t bytes) {
    const std::size_t last = end / width;
    for (std::size_t block = current / width; block < last; ++block) {
      change_[block] -= bytes;
      least_[block] -= bytes;
    }
    if (end % width == 0) return;
    for (std::size_t step = last * width; step < end; ++step) free_[step] -= bytes;
    find_least(last);
  }

  /// The least of the steps [first, end), and of `so_far`. `first` is the current step or a later
  /// one.
  std::int64_t least(StepId first, StepId end, std::int64_t so_far) const {
    StepId step = first;
    for (; step < end && step % width != 0; ++step) so_far = std::min(so_far, at(step));
    for (; step + width <= end; step += width) so_far = std::min(so_far, least_[step / width]);
    for (; step < end; ++step) so_far = std::min(so_far, at(step));
    return so_far;
  }

  /// The first of the steps [first, end) that has at most that much; `end` when none has.
  StepId first_at_most(StepId first, StepId end, std::int64_t bytes) const {
    for (StepId step = first; step < end;) {
      if (step % width == 0 && step + width <= end && least_[step / width] > bytes) {
        step += width;
      } else if (at(step) <= bytes) {
        return step;
      } else {
        ++step;
      }
    }
    return end;
  }

 private:
  static constexpr StepId width = 16;  // steps of a block

  void find_least(std::size_t block) {
    std::int64_t least = free_[block * width];
    for (std::size_t i = 1; i < width; ++i) least = std::min(least, free_[block * width + i]);
    least_[block] = least + change_[block];
  }

  std::vector<std::int64_t> free_;    // by step, without the change of its block
  std::vector<std::int64_t> change_;  // by block
  std::vector<std::int64_t> least_;   // by block
};

}  // namespace strata
