// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/hold_network.hpp"
#include "strata/predict/capacity.hpp"

#include <algorithm>
#include <bit>

namespace strata {

namespace {

/// The least of any range of steps, in constant time: level k holds that of 2^k steps.
class LeastOfRange {
 public:
  explicit LeastOfRange(std::vector<std::int64_t> values) {
    levels_.push_back(std::move(values));
    const std::size_t count = levels_[0].size();
    for (std::size_t half = 1; 2 * half <= count; half *= 2) {
      const std::vector<std::int64_t>& below = levels_.back();
      std::vector<std::int64_t> level(count - 2 * half + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::min(below[i], below[i + half]);
      levels_.push_back(std::move(level));
    }
  }

  /// Of [begin, end), which is not empty.
  std::int64_t of(std::size_t begin, std::size_t end) const {
    const auto level = static_cast<std::size_t>(std::bit_width(end - begin) - 1);
    return std::min(levels_[level][begin], levels_[level][end - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<std::int64_t>> levels_;
};

}  // namespace

std::vector<StepOwn> owns_at(const Program& program, std::int64_t capacity_bytes) {
  std::vector<StepOwn> owns;
  owns.reserve(program.steps.size());
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const StepNeed need = need_of(program, step);
    switch (fit_of(need, capacity_bytes)) {
      case Fit::whole: owns.push_back({.is_whole = true, .bytes = need.all_bytes}); break;
      case Fit::rows: owns.push_back({.bytes = need.least_bytes}); break;
      case Fit::slices: {
        const std::int64_t held = slicing_of(program, step, capacity_bytes).held_bytes;
        owns.push_back({.is_closed = true, .bytes = std::min(held, capacity_bytes)});
        break;
      }
    }
  }
  return owns;
}

std::vector<StepOwn> owns_up_to(const Program& program, std::int64_t capacity_bytes) {
  std::vector<StepOwn> owns;
  owns.reserve(program.steps.size());
  for (StepId step = 0; step < program.steps.size(); ++step) {
    const StepNeed need = need_of(program, step);
    // Below its rows no smaller capacity is planned for.
    const std::int64_t bytes = need.rows_bytes <= capacity_bytes
                                   ? need.rows_bytes
                                   : slicing_of(program, step, capacity_bytes).held_bytes;
    owns.push_back({.is_closed = fit_of(need, capacity_bytes) == Fit::slices, .bytes = bytes});
  }
  return owns;
}

std::vector<bool> which_fit(const Program& program, const std::vector<StepOwn>& owns,
                            std::int64_t capacity_bytes, std::int64_t granularity_bytes,
                            std::span<const Hold> holds) {
  std::vector<std::int64_t> rooms;
  for (const StepOwn& own : owns) rooms.push_back(capacity_bytes - own.bytes);
  const LeastOfRange least_room(rooms);
  const auto fits_at = [&](StepId step, std::uint32_t use, std::int64_t part) {
    if (use == not_a_use || owns[step].is_whole) return true;
    // Its own least may be among what the step owns.
    return !owns[step].is_closed &&
           part <= rooms[step] + least_bytes(program, step, program.uses[use]);
  };
  std::vector<bool> fits;
  fits.reserve(holds.size());
  for (const Hold& hold : holds) {
    const std::int64_t part =
        granularity_bytes > 0 ? std::min(hold.bytes, granularity_bytes) : hold.bytes;
    const bool passes =
        hold.begin + 1 >= hold.end || part <= least_room.of(hold.begin + 1, hold.end);
    fits.push_back(passes && part <= capacity_bytes && fits_at(hold.begin, hold.first_use, part) &&
                   fits_at(hold.end, hold.last_use, part));
  }
  return fits;
}

void drop_what_does_not_fit(const std::vector<bool>& fits, std::vector<Hold>& holds) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < holds.size(); ++i)
    if (fits[i]) holds[kept++] = holds[i];
  holds.resize(kept);
}

}  // namespace strata
