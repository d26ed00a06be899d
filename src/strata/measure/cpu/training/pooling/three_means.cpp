// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/pooling/three_means.hpp"

#include "strata/measure/cpu/training/pooling/row_pool.hpp"
#include "strata/measure/cpu/training/pooling/row_pool_loops.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t behind = RowPoolLoops::read_behind;

/// Planes [in] of which sums over windows make planes [out]; `top` and `left` is what of the first
/// window lies outside.
struct PlanesOfThrees {
  std::int64_t in_rows, width, out_rows, outputs, top, left;

  std::int64_t in_plane() const { return in_rows * width; }
};

/// Rows of a plane by their number, which need not be there.
class PlaneRows {
 public:
  explicit PlaneRows(const PlanesOfThrees& planes)
      : planes_(planes),
        nothing_(row_room()),
        first_(row_room()),
        last_(row_room()),
        copy_(static_cast<std::size_t>(planes.in_plane() + behind)) {}

  /// is_last: nothing may be read behind it. The first and the last row are multiplied by a number
  /// each: fewer numbers than in other rows are what their windows are the mean of.
  void begin(const float* plane, bool is_last, float first_factor, float last_factor) {
    plane_ = plane;
    if (is_last) {
      std::copy_n(plane, planes_.in_plane(), copy_.data());
      plane_ = copy_.data();
    }
    first_factor_ = first_factor;
    last_factor_ = last_factor;
    has_first_ = has_last_ = false;
  }
  const float* of(std::int64_t row) {
    if (row < 0 || row >= planes_.in_rows) return nothing_.data();
    if (row == 0) return end_row(row, first_factor_, first_, has_first_);
    // Not before it is needed: what lies before it would be waited for then.
    if (row == planes_.in_rows - 1) return end_row(row, last_factor_, last_, has_last_);
    return plane_ + row * planes_.width;
  }

 private:
  std::size_t row_room() const { return static_cast<std::size_t>(planes_.width + behind); }
  const float* end_row(std::int64_t row, float factor, std::vector<float>& room, bool& is_made) {
    const float* const from = plane_ + row * planes_.width;
    if (factor == 1) return from;
    if (!is_made) {
      std::transform(from, from + planes_.width, room.begin(),
                     [factor](float number) { return number * factor; });
    }
    is_made = true;
    return room.data();
  }

  PlanesOfThrees planes_;
  std::vector<float> nothing_, first_, last_, copy_;
  const float* plane_ = nullptr;
  float first_factor_ = 1, last_factor_ = 1;
  bool has_first_ = false, has_last_ = false;
};

/// A plane of sums. factors(row) are those of a row of outputs; rows that look at neither end of
/// the plane have the same.
template <class Factors>
void sum_plane(const PlanesOfThrees& planes, PlaneRows& rows, bool scales_first,
               const Factors& factors, float* y) {
  const auto sum = [&](std::int64_t row, std::int64_t count) {
    SumOfThrees of{.width = planes.width,
                   .pad = planes.left,
                   .outputs = planes.outputs,
                   .factors = factors(row),
                   .scales_first = scales_first};
    for (std::int64_t k = 0; k < 3; ++k) of.rows[k] = rows.of(row - planes.top + k);
    row_pool_loops()->sum_of_threes(of, y + row * planes.outputs, count);
  };
  const std::int64_t begin = std::min(planes.top + 1, planes.out_rows);
  const std::int64_t end = std::clamp(planes.in_rows - 3 + planes.top, begin, planes.out_rows);
  for (std::int64_t row = 0; row < begin; ++row) sum(row, 1);
  if (begin < end) sum(begin, end - begin);
  for (std::int64_t row = end; row < planes.out_rows; ++row) sum(row, 1);
}

}  // namespace

bool can_mean_threes(const PoolPlan& plan) {
  return can_pool_rows(plan) && plan.kernel[2] == 3 && plan.stride[2] == 1;
}

void means_of_threes(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                     const NodeMemory& m) {
  const PlanesOfThrees planes{.in_rows = plan.in[1],
                              .width = plan.in[2],
                              .out_rows = plan.out[1],
                              .outputs = plan.out[2],
                              .top = plan.pad[1],
                              .left = plan.pad[2]};
  const std::int64_t pitch = plan.out[2] + behind;
  std::vector<float> factors(static_cast<std::size_t>(plan.out[1] * pitch));
  for (std::int64_t row = 0; row < plan.out[1]; ++row) {
    for (std::int64_t o = 0; o < plan.out[2]; ++o) {
      factors[static_cast<std::size_t>(row * pitch + o)] =
          shares.of_rows[row] * shares.of_columns[o];
    }
  }
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    PlaneRows rows(planes);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      rows.begin(real<const float>(m.inputs[0]) + plane * plan.in_plane(), plane + 1 == plan.planes,
                 1, 1);
      sum_plane(
          planes, rows, false, [&](std::int64_t row) { return factors.data() + row * pitch; },
          real<float>(m.outputs[0]) + plane * plan.out_plane());
    }
  });
}

void means_of_threes_backward(const PoolPlan& plan, const Workers& workers,
                              const PoolShares& shares, const NodeMemory& m) {
  // Number x gets the outputs x + pad − 2 … x + pad.
  const PlanesOfThrees planes{.in_rows = plan.out[1],
                              .width = plan.out[2],
                              .out_rows = plan.in[1],
                              .outputs = plan.in[2],
                              .top = 2 - plan.pad[1],
                              .left = 2 - plan.pad[2]};
  const std::int64_t last = plan.out[1] - 1;
  const float share = shares.of_rows[plan.out[1] / 2];
  std::vector<float> factors(static_cast<std::size_t>(plan.out[2] + behind));
  std::transform(shares.of_columns, shares.of_columns + plan.out[2], factors.begin(),
                 [share](float of_column) { return share * of_column; });
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    PlaneRows rows(planes);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      rows.begin(real<const float>(m.output_gradients[0]) + plane * plan.out_plane(),
                 plane + 1 == plan.planes, shares.of_rows[0] / share, shares.of_rows[last] / share);
      sum_plane(
          planes, rows, true, [&](std::int64_t) { return factors.data(); },
          real<float>(m.input_gradients[0]) + plane * plan.in_plane());
    }
  });
}

}  // namespace strata::cpu_training
