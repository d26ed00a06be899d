// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/tap_spread.hpp"

#include "strata/measure/cpu/training/pool_rows.hpp"
#include "strata/measure/cpu/training/row_pool.hpp"
#include "strata/measure/cpu/training/tap_loops.hpp"

#include <algorithm>
#include <vector>

namespace strata::cpu_training {
namespace {

void spread_pairs(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      float* const dx = real<float>(m.input_gradients[0]) + plane * plan.in_plane();
      tap_loops()->spread_pairs(real<const float>(m.output_gradients[0]) + at,
                                real<const std::uint8_t>(m.saved) + at, plan.out[2], plan.out[1],
                                dx, plan.in[2]);
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

/// The last plane of a tensor, behind which loops may read.
class LastPlane {
 public:
  LastPlane(const PlaneOfTaps& plane, std::int64_t count)
      : gradients_(static_cast<std::size_t>(count + TapLoops::read_behind)),
        taps_(gradients_.size()) {
    std::copy_n(plane.gradients, count, gradients_.data());
    std::copy_n(plane.taps, count, taps_.data());
  }
  PlaneOfTaps plane() const { return {gradients_.data(), taps_.data()}; }

 private:
  std::vector<float> gradients_;
  std::vector<std::uint8_t> taps_;
};

class ThreesBackward {
 public:
  explicit ThreesBackward(const PoolPlan& plan)
      : plan_(plan),
        spread_(plan),
        along_{.outputs = plan.out[2], .middle = 1 - plan.pad[2], .width = plan.in[2]} {}

  void plane(const PlaneOfTaps& from, float* dx) const {
    // Rows from the middle of the first window up to that of the last lie in the same way on every
    // two windows.
    const std::int64_t first = 1 - plan_.pad[1], pairs = plan_.out[1] - 1;
    for (std::int64_t row = 0; row < first; ++row) spread_row(from, row, dx);
    const bool is_right = tap_loops()->spread_row_pairs(from.gradients, from.taps, pairs, along_,
                                                        dx + first * plan_.in[2]);
    if (!is_right) return one_by_one(from, dx);
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
  /// Gradients that are not finite stay where they belong.
  void one_by_one(const PlaneOfTaps& from, float* dx) const {
    std::fill_n(dx, plan_.in_plane(), 0.0F);
    for (std::int64_t i = 0; i < plan_.out_plane(); ++i) {
      const std::int64_t row = plan_.begin(1, i / plan_.out[2]) + from.taps[i] / 3;
      const std::int64_t column = plan_.begin(2, i % plan_.out[2]) + from.taps[i] % 3;
      dx[row * plan_.in[2] + column] += from.gradients[i];
    }
  }

  const PoolPlan& plan_;
  SpreadPlan spread_;
  RowOfThrees along_;
};

void spread_threes(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const ThreesBackward threes(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      const PlaneOfTaps from{real<const float>(m.output_gradients[0]) + at,
                             real<const std::uint8_t>(m.saved) + at};
      float* const dx = real<float>(m.input_gradients[0]) + plane * plan.in_plane();
      if (plane + 1 < plan.planes) {
        threes.plane(from, dx);
      } else {
        threes.plane(LastPlane(from, plan.out_plane()).plane(), dx);
      }
    }
  });
}

}  // namespace

bool can_spread_taps(const PoolPlan& plan) {
  return tap_loops() != nullptr && can_pool_rows(plan) && plan.stride[2] == 2 &&
         plan.out[2] >= TapLoops::shortest && (plan.kernel[2] == 3 || has_whole_pairs(plan));
}

void spread_taps(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  (plan.kernel[2] == 2 ? spread_pairs : spread_threes)(plan, workers, m);
}

}  // namespace strata::cpu_training
