// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/tap_spread.hpp"

#include "strata/measure/cpu/pooling/pool_rows.hpp"
#include "strata/measure/cpu/pooling/row_pool.hpp"
#include "strata/measure/cpu/pooling/tap_loops.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace strata::cpu_training {
namespace {

void spread_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      float* const dx = real<float>(m.input_gradients[0]) + plane * plan.in_plane();
      compared_tap_loops()->spread_pairs(real<const float>(m.output_gradients[0]) + at,
                                         real<const std::uint8_t>(m.saved) + at, plan.out[2],
                                         plan.out[1], dx, plan.in[2]);
      // A row behind the last window.
      std::fill(dx + 2 * plan.out[1] * plan.in[2], dx + plan.in_plane(), 0.0F);
    }
  });
}

/// Outputs of a plane.
struct PlaneOfTaps {
  const float* gradients;
  const std::uint8_t* taps;
};

/// A plane at an end of a tensor, outside of which loops may read.
class EndPlane {
 public:
  EndPlane(const PlaneOfTaps& plane, std::int64_t count)
      : gradients_(static_cast<std::size_t>(count + 2 * margin)), taps_(gradients_.size()) {
    std::copy_n(plane.gradients, count, gradients_.data() + margin);
    std::copy_n(plane.taps, count, taps_.data() + margin);
  }
  PlaneOfTaps plane() const { return {gradients_.data() + margin, taps_.data() + margin}; }

 private:
  static constexpr std::int64_t margin = TapLoops::read_behind;

  std::vector<float> gradients_;
  std::vector<std::uint8_t> taps_;
};

/// Gradients that are not finite stay where they belong.
void spread_one_by_one(const PoolPlan& plan, const PlaneOfTaps& from, float* dx) {
  std::fill_n(dx, plan.in_plane(), 0.0F);
  for (std::int64_t i = 0; i < plan.out_plane(); ++i) {
    const std::int64_t row = plan.begin(1, i / plan.out[2]) + from.taps[i] / 3;
    const std::int64_t column = plan.begin(2, i % plan.out[2]) + from.taps[i] % 3;
    dx[row * plan.in[2] + column] += from.gradients[i];
  }
}

RowOfThrees along_rows(const PoolPlan& plan) {
  return {.outputs = plan.out[2], .middle = 1 - plan.pad[2], .width = plan.in[2]};
}

/// With stride 2.
class ThreesBackward {
 public:
  explicit ThreesBackward(const PoolPlan& plan)
      : plan_(plan), spread_(plan), along_(along_rows(plan)) {}

  void plane(const PlaneOfTaps& from, float* dx) const {
    // Rows from the middle of the first window up to that of the last lie in the same way on every
    // two windows.
    const std::int64_t first = 1 - plan_.pad[1], pairs = plan_.out[1] - 1;
    for (std::int64_t row = 0; row < first; ++row) spread_row(from, row, dx);
    const bool is_right = tap_loops()->spread_row_pairs(from.gradients, from.taps, pairs, along_,
                                                        dx + first * plan_.in[2]);
    if (!is_right) return spread_one_by_one(plan_, from, dx);
    for (std::int64_t row = first + 2 * pairs; row < plan_.in[1]; ++row) spread_row(from, row, dx);
  }

 private:
  /// One that at most one row of outputs reaches.
  void spread_row(const PlaneOfTaps& from, std::int64_t row, float* dx) const {
    if (spread_.holders(row).empty()) {
      std::fill_n(dx + row * plan_.in[2], plan_.in[2], 0.0F);
      return;
    }
    const auto& [output, tap_row] = spread_.holders(row).front();
    const std::int64_t at = output * plan_.out[2];
    tap_loops()->spread_row({from.gradients + at, from.taps + at, tap_row}, along_,
                            dx + row * plan_.in[2]);
  }

  const PoolPlan& plan_;
  SpreadPlan spread_;
  RowOfThrees along_;
};

/// With stride 1.
class NextThreesBackward {
 public:
  explicit NextThreesBackward(const PoolPlan& plan)
      : plan_(plan),
        along_(along_rows(plan)),
        no_gradients_(static_cast<std::size_t>(plan.out[2] + 2 * margin)),
        no_taps_(no_gradients_.size(), 15) {}

  void plane(const PlaneOfTaps& from, float* dx) const {
    // Rows that lie in three rows of windows follow each other.
    const std::int64_t begin = std::min(2 - plan_.pad[1], plan_.in[1]);
    const std::int64_t end = std::clamp(plan_.out[1] - plan_.pad[1], begin, plan_.in[1]);
    bool is_right = true;
    for (std::int64_t row = 0; row < begin; ++row) is_right &= spread(from, row, 1, dx);
    if (begin < end) is_right &= spread(from, begin, end - begin, dx);
    for (std::int64_t row = end; row < plan_.in[1]; ++row) is_right &= spread(from, row, 1, dx);
    // What is around comes last: what lies behind the plane would be waited for before.
    if (!is_right || !are_finite_around(from)) spread_one_by_one(plan_, from, dx);
  }

 private:
  static constexpr std::int64_t margin = TapLoops::read_behind;

  bool spread(const PlaneOfTaps& from, std::int64_t row, std::int64_t count, float* dx) const {
    std::array<TapRow, 3> rows;
    for (std::int64_t tap_row = 0; tap_row < 3; ++tap_row) {
      const std::int64_t output = row + plan_.pad[1] - tap_row, at = output * plan_.out[2];
      const bool is_there = output >= 0 && output < plan_.out[1];
      rows[static_cast<std::size_t>(tap_row)] =
          is_there ? TapRow{from.gradients + at, from.taps + at, tap_row}
                   : TapRow{no_gradients_.data() + margin, no_taps_.data() + margin, tap_row};
    }
    return tap_loops()->spread_next_rows(rows.data(), along_, count, dx + row * plan_.in[2]);
  }
  /// What is looked at in front of a plane and behind it.
  bool are_finite_around(const PlaneOfTaps& from) const {
    constexpr std::int64_t reach = TapLoops::looked_at_outside;
    const float* const front = from.gradients - reach;
    const float* const end = from.gradients + plan_.out_plane();
    float sum = 0;  // 0 times what is not finite is not 0
    for (std::int64_t i = 0; i < reach; ++i) sum += 0 * front[i] + 0 * end[i];
    return sum == 0;
  }

  const PoolPlan& plan_;
  RowOfThrees along_;
  std::vector<float> no_gradients_;
  std::vector<std::uint8_t> no_taps_;
};

template <class Threes>
void spread_threes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const Threes threes(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      const PlaneOfTaps from{real<const float>(m.output_gradients[0]) + at,
                             real<const std::uint8_t>(m.saved) + at};
      float* const dx = real<float>(m.input_gradients[0]) + plane * plan.in_plane();
      if (plane > 0 && plane + 1 < plan.planes) {
        threes.plane(from, dx);
      } else {
        threes.plane(EndPlane(from, plan.out_plane()).plane(), dx);
      }
    }
  });
}

/// Whether windows lie around each number, or around every other one of every other row, so that
/// those of a plane reach as far as it does and no row has ends.
bool is_around(const PoolPlan& plan) {
  bool is_around = plan.kernel[2] == 3;
  for (const std::size_t axis : {1U, 2U}) {
    is_around =
        is_around && plan.pad[axis] == 1 && plan.in[axis] == plan.stride[axis] * plan.out[axis];
  }
  return is_around;
}

/// Some planes that follow each other, and what may be read around them.
void spread_planes(const PoolPlan& plan, const PlaneOfTaps& from, std::int64_t planes, float* dx) {
  if (plan.stride[2] == 1) {
    return compared_tap_loops()->spread_around(from.gradients, from.taps, plan.out[2], dx,
                                               planes * plan.out_plane());
  }
  compared_tap_loops()->spread_around_halves(from.gradients, from.taps, plan.out[2],
                                             planes * plan.out[1], dx);
}

/// A plane at an end of the tensor, with room around it.
void spread_end_plane(const PoolPlan& plan, const PlaneOfTaps& from, float* dx) {
  const std::int64_t count = plan.out_plane(),
                     room = plan.out[2] + ComparedTapLoops::looked_at_around;
  std::vector<float> gradients(static_cast<std::size_t>(count + 2 * room));
  std::vector<std::uint8_t> taps(gradients.size());
  std::copy_n(from.gradients, count, gradients.data() + room);
  std::copy_n(from.taps, count, taps.data() + room);
  spread_planes(plan, {gradients.data() + room, taps.data() + room}, 1, dx);
}

void spread_around(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  // So many planes at either end are read beyond.
  const std::int64_t ends =
      (plan.out[2] + ComparedTapLoops::looked_at_around + plan.out_plane() - 1) / plan.out_plane();
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    const auto from = [&](std::int64_t plane) {
      const std::int64_t at = plane * plan.out_plane();
      return PlaneOfTaps{real<const float>(m.output_gradients[0]) + at,
                         real<const std::uint8_t>(m.saved) + at};
    };
    const auto to = [&](std::int64_t plane) {
      return real<float>(m.input_gradients[0]) + plane * plan.in_plane();
    };
    const std::int64_t first = std::clamp(ends, begin, end);
    const std::int64_t last = std::clamp(plan.planes - ends, first, end);
    for (std::int64_t plane = begin; plane < first; ++plane) {
      spread_end_plane(plan, from(plane), to(plane));
    }
    if (first < last) spread_planes(plan, from(first), last - first, to(first));
    for (std::int64_t plane = last; plane < end; ++plane) {
      spread_end_plane(plan, from(plane), to(plane));
    }
  });
}

}  // namespace

bool can_spread_taps(const PoolPlan& plan) {
  if (tap_loops() == nullptr || !can_pool_rows(plan)) return false;
  const bool has_ends = plan.kernel[2] == 3 && !is_around(plan);
  return plan.out[2] >= (has_ends ? TapLoops::shortest : ComparedTapLoops::shortest) &&
         (plan.kernel[2] == 3 || has_whole_pairs(plan));
}

void spread_taps(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (is_around(plan)) return spread_around(plan, workers, m);
  (plan.kernel[2] == 2   ? spread_pairs
   : plan.stride[2] == 2 ? spread_threes<ThreesBackward>
                         : spread_threes<NextThreesBackward>)(plan, workers, m);
}

}  // namespace strata::cpu_training
