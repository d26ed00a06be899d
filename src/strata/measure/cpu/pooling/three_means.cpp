// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/three_means.hpp"

#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/pooling/row_pool.hpp"
#include "strata/measure/cpu/pooling/three_mean_loops.hpp"

#include <algorithm>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t behind = ThreeMeanLoops::read_behind_long;
static_assert(behind >= ThreeMeanLoops::read_behind && behind >= SumOfLongRows::again);

/// Planes [in] of which sums over windows make planes [out]; `top` and `left` is what of the first
/// window lies outside.
struct PlanesOfThrees {
  std::int64_t in_rows, width, out_rows, outputs, top, left;

  std::int64_t in_plane() const { return in_rows * width; }
  /// Rows follow each other in the same way on both sides.
  bool are_long() const { return left == 1 && outputs == width; }
};

/// What columns are multiplied by.
class ColumnFactors {
 public:
  /// of(column) is the factor of a column, if they are scaled first, else of the output there.
  template <class Of>
  ColumnFactors(std::int64_t width, bool scales_first, const Of& of) : width_(width) {
    for (std::int64_t beside = -1; beside <= 1; ++beside) {
      for (std::int64_t i = 0; i < width + behind; ++i) {
        const std::int64_t column = i % width, from = column + beside;
        const bool is_inside = from >= 0 && from < width;
        numbers_.push_back(is_inside ? of(scales_first ? from : column) : 0.0F);
      }
    }
  }
  /// For what lies −1, 0 or 1 columns beside the output; the first ones again behind the last.
  const float* operator[](std::int64_t beside) const {
    return numbers_.data() + (beside + 1) * (width_ + behind);
  }

 private:
  std::int64_t width_;
  std::vector<float> numbers_;
};

/// A small plane between rows of what is above it and below it, which makes it one long row.
class PaddedPlane {
 public:
  explicit PaddedPlane(const PlanesOfThrees& planes)
      : planes_(planes),
        numbers_(static_cast<std::size_t>((planes.in_rows + 2) * planes.width + behind)) {}

  /// Larger planes take longer to copy than their ends do, of which there are more where the first
  /// and the last row are scaled.
  static bool fits(const PlanesOfThrees& planes, bool scales_rows) {
    const std::int64_t most = scales_rows ? 2048 : 1024;
    return planes.are_long() && planes.top == 1 && planes.out_rows == planes.in_rows &&
           planes.in_plane() <= most;
  }
  void copy(const float* plane) {
    copy_from_memory(row(0), plane, planes_.in_plane() * static_cast<std::int64_t>(sizeof(float)),
                     bytes_asked_ahead);
  }
  float* row(std::int64_t row) { return numbers_.data() + (row + 1) * planes_.width; }
  void scale(std::int64_t which, float factor) {
    if (factor == 1) return;
    std::transform(row(which), row(which + 1), row(which),
                   [factor](float number) { return number * factor; });
  }
  /// A row outside becomes the sum of the two beside it, as much of it as makes the sum of three
  /// rows what that of two would be with another factor. More is how much larger that is.
  void pad(std::int64_t outside, std::int64_t first, std::int64_t second, float more) {
    if (more == 0) return;
    std::transform(row(first), row(first + 1), row(second), row(outside),
                   [more](float a, float b) { return more * (a + b); });
  }
  void sum(const ColumnFactors& by, bool scales_first, float* y) {
    const SumOfLongRows of_long{.above = row(-1),
                                .row = row(0),
                                .below = row(1),
                                .of_left = by[-1],
                                .of_middle = by[0],
                                .of_right = by[1],
                                .width = planes_.width,
                                .comes_from_memory = false};
    if (three_mean_loops()->sum_of_long_rows(of_long, y, planes_.in_plane(), false)) return;
    const SumOfThrees of{.rows = {row(-1), row(0), row(1)},
                         .width = planes_.width,
                         .pad = planes_.left,
                         .outputs = planes_.outputs,
                         .factors = by[0],
                         .scales_first = scales_first};
    three_mean_loops()->sum_of_threes(of, y, planes_.out_rows);
  }

 private:
  PlanesOfThrees planes_;
  std::vector<float> numbers_;
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

  /// is_last: too little may be read behind it. The first and the last row are multiplied by a
  /// number each: fewer numbers than in other rows are what their windows are the mean of.
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
  /// How many rows at either end lie somewhere else.
  std::int64_t first_apart() const { return first_factor_ == 1 ? 0 : 1; }
  std::int64_t last_apart() const { return last_factor_ == 1 ? 0 : 1; }

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
    const std::int64_t above = row - planes.top;
    const ColumnFactors& by = factors(row);
    float* const to = y + row * planes.outputs;
    const SumOfThrees of{.rows = {rows.of(above), rows.of(above + 1), rows.of(above + 2)},
                         .width = planes.width,
                         .pad = planes.left,
                         .outputs = planes.outputs,
                         .factors = by[0],
                         .scales_first = scales_first};
    if (planes.are_long()) {
      const SumOfLongRows of_long{of.rows[0], of.rows[1], of.rows[2],  by[-1],
                                  by[0],      by[1],      planes.width};
      // What is written behind a row comes again: rows are long enough.
      const bool writes_behind = row + count < planes.out_rows;
      if (three_mean_loops()->sum_of_long_rows(of_long, to, count * planes.outputs,
                                               writes_behind)) {
        return;
      }
    }
    three_mean_loops()->sum_of_threes(of, to, count);
  };
  const std::int64_t begin = std::min(planes.top + rows.first_apart(), planes.out_rows);
  const std::int64_t end =
      std::clamp(planes.in_rows - 2 + planes.top - rows.last_apart(), begin, planes.out_rows);
  for (std::int64_t row = 0; row < begin; ++row) sum(row, 1);
  if (begin < end) sum(begin, end - begin);
  for (std::int64_t row = end; row < planes.out_rows; ++row) sum(row, 1);
}

/// Whether less than loops read lies behind the first of so many planes.
bool is_near_end(const PlanesOfThrees& planes, std::int64_t count) {
  return (count - 1) * planes.in_plane() < behind;
}

}  // namespace

bool can_mean_threes(const PoolPlan& plan) {
  return can_pool_rows(plan) && plan.kernel[2] == 3 && plan.stride[2] == 1 &&
         std::min(plan.in[2], plan.out[2]) >= SumOfLongRows::again;
}

void means_of_threes(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                     const NodeMemory& m) {
  const PlanesOfThrees planes{.in_rows = plan.in[1],
                              .width = plan.in[2],
                              .out_rows = plan.out[1],
                              .outputs = plan.out[2],
                              .top = plan.pad[1],
                              .left = plan.pad[2]};
  // Few kinds of them: rows are of as many numbers but at the ends.
  std::vector<ColumnFactors> kinds;
  std::vector<std::size_t> kind_of_row;
  for (std::int64_t row = 0; row < plan.out[1]; ++row) {
    const float share = shares.of_rows[row];
    if (row == 0 || share != shares.of_rows[row - 1]) {
      kinds.emplace_back(plan.out[2], false,
                         [&](std::int64_t o) { return share * shares.of_columns[o]; });
    }
    kind_of_row.push_back(kinds.size() - 1);
  }
  if (PaddedPlane::fits(planes, false) && plan.out[1] > 1) {
    const std::int64_t last = plan.out[1] - 1, middle = plan.out[1] / 2;
    const float share = shares.of_rows[middle];
    each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
      PaddedPlane padded(planes);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        padded.copy(real<const float>(m.inputs[0]) + plane * plan.in_plane());
        padded.pad(-1, 0, 1, shares.of_rows[0] / share - 1);
        padded.pad(last + 1, last - 1, last, shares.of_rows[last] / share - 1);
        padded.sum(kinds[kind_of_row[static_cast<std::size_t>(middle)]], false,
                   real<float>(m.outputs[0]) + plane * plan.out_plane());
      }
    });
    return;
  }
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    PlaneRows rows(planes);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      rows.begin(real<const float>(m.inputs[0]) + plane * plan.in_plane(),
                 is_near_end(planes, plan.planes - plane), 1, 1);
      sum_plane(
          planes, rows, false,
          [&](std::int64_t row) -> const ColumnFactors& {
            return kinds[kind_of_row[static_cast<std::size_t>(row)]];
          },
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
  const ColumnFactors factors(plan.out[2], true,
                              [&](std::int64_t o) { return share * shares.of_columns[o]; });
  if (PaddedPlane::fits(planes, shares.of_rows[0] != share)) {
    each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
      PaddedPlane padded(planes);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        padded.copy(real<const float>(m.output_gradients[0]) + plane * plan.out_plane());
        padded.scale(0, shares.of_rows[0] / share);
        if (last > 0) padded.scale(last, shares.of_rows[last] / share);
        padded.sum(factors, true, real<float>(m.input_gradients[0]) + plane * plan.in_plane());
      }
    });
    return;
  }
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    PlaneRows rows(planes);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      rows.begin(real<const float>(m.output_gradients[0]) + plane * plan.out_plane(),
                 is_near_end(planes, plan.planes - plane), shares.of_rows[0] / share,
                 shares.of_rows[last] / share);
      sum_plane(
          planes, rows, true, [&](std::int64_t) -> const ColumnFactors& { return factors; },
          real<float>(m.input_gradients[0]) + plane * plan.in_plane());
    }
  });
}

}  // namespace strata::cpu_training
