// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/row_pool.hpp"

#include "strata/measure/cpu/pooling/pool_rows.hpp"
#include "strata/measure/cpu/pooling/row_pool_loops.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr std::int64_t most_rows = 3;  // of a window
/// Before and behind rows that are copied; loops read less.
constexpr std::int64_t row_margin = 16;
static_assert(row_margin >= RowPoolLoops::read_behind);

RowWindows windows_of(const PoolPlan& plan) { return {plan.kernel[2], plan.stride[2]}; }

/// Rows of a tensor, which loops read a little beyond. They are read where they are, but for those
/// at the ends of the tensor, which are copied.
class ReadableRows {
 public:
  ReadableRows(const float* tensor, std::int64_t count, std::int64_t width)
      : begin_(tensor),
        end_(tensor + count),
        width_(width),
        copy_(static_cast<std::size_t>(width + 2 * row_margin)) {}

  /// Whether rows from this one on can be read where they are.
  bool are_inside(const float* row, std::int64_t rows) const {
    return row - begin_ >= row_margin && end_ - row >= rows * width_ + row_margin;
  }
  /// Until the next call.
  const float* of(const float* row) {
    if (are_inside(row, 1)) return row;
    std::copy_n(row, width_, copy_.data() + row_margin);
    return copy_.data() + row_margin;
  }
  /// Calls work(rows, number of the first, count) for some rows: for all at once, where they can be
  /// read where they are.
  template <class Work>
  void reduce(const float* rows, std::int64_t count, const Work& work) {
    if (are_inside(rows, count)) return work(rows, 0, count);
    for (std::int64_t row = 0; row < count; ++row) work(of(rows + row * width_), row, 1);
  }

 private:
  const float *begin_, *end_;
  std::int64_t width_;
  std::vector<float> copy_;
};

/// An output whose window is cut off at an end of its row: what is left of it.
struct CutWindow {
  std::int64_t output, place, first_tap, taps;
};

std::vector<CutWindow> cut_windows(const PoolPlan& plan) {
  std::vector<CutWindow> all;
  for (std::int64_t o = 0; o < plan.out[2]; ++o) {
    const PoolPlan::Range wide = plan.inside(2, o);
    if (wide.count() == plan.kernel[2]) continue;
    all.push_back({o, plan.begin(2, o) + wide.first, wide.first, wide.count()});
  }
  return all;
}

/// So many reduced numbers stay in the first cache.
constexpr std::int64_t numbers_at_once = 6144;

std::int64_t band_height(const PoolPlan& plan) {
  return std::clamp<std::int64_t>(numbers_at_once / (plan.stride[1] * plan.out[2]), 1, plan.out[1]);
}

/// How many whole planes are reduced at once.
std::int64_t planes_together(const PoolPlan& plan) {
  return std::max<std::int64_t>(1, numbers_at_once / (plan.in[1] * plan.out[2]));
}

std::int64_t rows_of_band(const PoolPlan& plan) {
  return std::max((band_height(plan) - 1) * plan.stride[1] + plan.kernel[1],
                  planes_together(plan) * plan.in[1]);
}

/// Rows of outputs whose windows lie inside, from the first up to the end.
struct WholeRows {
  std::int64_t begin = 0, end;

  explicit WholeRows(const PoolPlan& plan) : end(plan.out[1]) {
    while (begin < end && plan.begin(1, begin) < 0) ++begin;
    while (end > begin && plan.begin(1, end - 1) + plan.kernel[1] > plan.in[1]) --end;
  }
  /// Calls join(first, count) for some rows: for all of these at once, as they hold as many rows.
  template <class Join>
  void each(std::int64_t from, std::int64_t to, const Join& join) const {
    const std::int64_t first = std::clamp(begin, from, to), last = std::clamp(end, first, to);
    for (std::int64_t row = from; row < first; ++row) join(row, 1);
    if (first < last) join(first, last - first);
    for (std::int64_t row = last; row < to; ++row) join(row, 1);
  }
};

/// Calls reduce(plane, first row, count) for rows of a plane, or for those of this plane and the
/// next ones; and then join(plane, which of the reduced rows is the plane's first, first, count)
/// for their rows of outputs. Results of several small planes are written at once: a core that
/// writes something else in between has to read what it writes on.
template <class Reduce, class Join>
void each_row_band(const PoolPlan& plan, std::int64_t planes_begin, std::int64_t planes_end,
                   const Reduce& reduce, const Join& join) {
  const std::int64_t step = band_height(plan), together = planes_together(plan);
  const WholeRows whole(plan);
  for (std::int64_t plane = planes_begin; plane < planes_end; plane += together) {
    const std::int64_t planes = std::min(together, planes_end - plane);
    if (planes > 1) {
      reduce(plane, 0, planes * plan.in[1]);
      for (std::int64_t k = 0; k < planes; ++k) {
        whole.each(0, plan.out[1], [&](std::int64_t first, std::int64_t count) {
          join(plane + k, k * plan.in[1], first, count);
        });
      }
      continue;
    }
    for (std::int64_t begin = 0; begin < plan.out[1]; begin += step) {
      const std::int64_t end = std::min(begin + step, plan.out[1]);
      const std::int64_t in_begin = std::max<std::int64_t>(0, plan.begin(1, begin));
      const std::int64_t in_end = std::min(plan.in[1], plan.begin(1, end - 1) + plan.kernel[1]);
      reduce(plane, in_begin, in_end - in_begin);
      whole.each(begin, end, [&](std::int64_t first, std::int64_t count) {
        join(plane, -in_begin, first, count);
      });
    }
  }
}

/// PyTorch's rule: of equals the first, and what is not a number is larger than all.
struct Largest {
  float value;
  std::int64_t tap;

  /// Without branches, which nobody can foresee.
  void take(const float* x, std::int64_t first_tap, std::int64_t taps) {
    for (std::int64_t k = 0; k < taps; ++k) {
      const bool is_larger = static_cast<int>(x[k] > value) + static_cast<int>(x[k] != x[k]) != 0;
      value = is_larger ? x[k] : value;
      tap = is_larger ? first_tap + k : tap;
    }
  }
};

/// A row of outputs, one by one: some of them are not numbers.
void largest_one_by_one(const PoolPlan& plan, const std::vector<RowInWindow>& rows,
                        const float* plane, float* most, std::uint8_t* which) {
  for (std::int64_t o = 0; o < plan.out[2]; ++o) {
    const PoolPlan::Range wide = plan.inside(2, o);
    const auto place = [&](const RowInWindow& each) {
      return plane + each.row * plan.in[2] + plan.begin(2, o) + wide.first;
    };
    const auto tap = [&](const RowInWindow& each) {
      return each.tap_row * plan.kernel[2] + wide.first;
    };
    Largest best{*place(rows[0]), tap(rows[0])};
    for (const RowInWindow& each : rows) best.take(place(each), tap(each), wide.count());
    most[o] = best.value;
    if (which != nullptr) which[o] = static_cast<std::uint8_t>(best.tap);
  }
}

void pairs_by_rows(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const std::int64_t at = plane * plan.out_plane();
      const float* const x = real<const float>(m.inputs[0]) + plane * plan.in_plane();
      float* const y = real<float>(m.outputs[0]) + at;
      auto* const which = m.saved != nullptr ? real<std::uint8_t>(m.saved) + at : nullptr;
      if (!row_pool_loops()->largest_of_pairs(x, plan.in[2], y, which, plan.out[2], plan.out[1])) {
        continue;
      }
      for (std::int64_t row = 0; row < plan.out[1]; ++row) {
        const std::int64_t from = row * plan.out[2];
        largest_one_by_one(plan, {{2 * row, 0}, {2 * row + 1, 1}}, x, y + from,
                           which != nullptr ? which + from : nullptr);
      }
    }
  });
}

}  // namespace

bool has_whole_pairs(const PoolPlan& plan) {
  bool fits = can_pool_rows(plan) && plan.kernel[2] == 2 && plan.stride[2] == 2;
  for (const std::size_t axis : {1U, 2U}) {
    fits = fits && plan.in[axis] >= 2 * plan.out[axis];
  }
  return fits;
}

bool can_pool_rows(const PoolPlan& plan) {
  const std::int64_t taps = plan.kernel[2];
  bool fits = row_pool_loops() != nullptr && !plan.is_adaptive && plan.in[0] == 1 &&
              plan.out[0] == 1 && plan.kernel[0] == 1 && (taps == 2 || taps == 3) &&
              std::min(plan.out[2], plan.in[2]) >= RowPoolLoops::shortest;
  for (const std::size_t axis : {1U, 2U}) {
    fits = fits && plan.kernel[axis] == taps && plan.dilation[axis] == 1 &&
           plan.stride[axis] == plan.stride[2] && plan.stride[axis] <= 2 &&
           plan.pad[axis] <= taps - 2 && plan.begin(axis, plan.out[axis] - 1) < plan.in[axis];
  }
  return fits;
}

void largest_by_rows(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (has_whole_pairs(plan)) return pairs_by_rows(plan, workers, m);
  const RowPoolLoops& loops = *row_pool_loops();
  const RowWindows windows = windows_of(plan);
  const std::vector<CutWindow> cut = cut_windows(plan);
  const RowLists lists = rows_of_windows(plan);
  const std::int64_t width = plan.out[2];
  const auto* const x = real<const float>(m.inputs[0]);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> most(static_cast<std::size_t>(rows_of_band(plan) * width));
    std::vector<std::uint8_t> before(most.size());
    ReadableRows readable(x, plan.planes * plan.in_plane(), plan.in[2]);
    const auto reduce = [&](const float* rows, std::int64_t first, std::int64_t count) {
      const LargestOfRow to{most.data() + first * width, before.data() + first * width};
      // Rows that lie as close as their outputs are one long row; what is wrong at the ends of each
      // is put right below.
      const bool is_one = plan.in[2] == windows.stride * width;
      loops.largest_along(rows - plan.pad[2], plan.in[2], windows, to, width,
                          is_one ? count * width : width, is_one ? 1 : count);
      for (const CutWindow& each : cut) {
        if (each.taps == 2) {
          loops.larger_of_two(rows + each.place, plan.in[2],
                              static_cast<std::uint8_t>(each.first_tap),
                              {to.most + each.output, to.before + each.output}, width, count);
          continue;
        }
        for (std::int64_t row = 0; row < count; ++row) {
          const float* const place = rows + row * plan.in[2] + each.place;
          Largest best{*place, each.first_tap};
          best.take(place + 1, each.first_tap + 1, each.taps - 1);
          to.most[row * width + each.output] = best.value;
          to.before[row * width + each.output] = static_cast<std::uint8_t>(-best.tap);
        }
      }
    };
    const auto join = [&](std::int64_t plane, std::int64_t plane_row, std::int64_t first,
                          std::int64_t count) {
      std::array<RowOfWindows, most_rows> rows;
      auto* next = rows.begin();
      for (const auto& [row, tap_row] : lists[static_cast<std::size_t>(first)]) {
        const std::int64_t at = (plane_row + row) * width;
        *next++ = {{most.data() + at, before.data() + at},
                   static_cast<std::uint8_t>(tap_row * windows.taps)};
      }
      const std::int64_t at = plane * plan.out_plane() + first * width;
      float* const y = real<float>(m.outputs[0]) + at;
      auto* const which = m.saved != nullptr ? real<std::uint8_t>(m.saved) + at : nullptr;
      const bool is_one = windows.stride == 1;
      if (!loops.largest_of(rows.data(), next - rows.begin(), y, which,
                            is_one ? count * width : width, windows.stride * width,
                            is_one ? 1 : count)) {
        return;
      }
      for (std::int64_t row = 0; row < count; ++row) {
        largest_one_by_one(plan, lists[static_cast<std::size_t>(first + row)],
                           x + plane * plan.in_plane(), y + row * width,
                           which != nullptr ? which + row * width : nullptr);
      }
    };
    each_row_band(
        plan, begin, end,
        [&](std::int64_t plane, std::int64_t row, std::int64_t count) {
          readable.reduce(x + plane * plan.in_plane() + row * plan.in[2], count, reduce);
        },
        join);
  });
}

void mean_by_rows(const PoolPlan& plan, const Workers& workers, const PoolShares& shares,
                  const NodeMemory& m) {
  const RowPoolLoops& loops = *row_pool_loops();
  const RowWindows windows = windows_of(plan);
  const std::vector<CutWindow> cut = cut_windows(plan);
  const RowLists lists = rows_of_windows(plan);
  const std::int64_t width = plan.out[2];
  const auto* const x = real<const float>(m.inputs[0]);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sums(static_cast<std::size_t>(rows_of_band(plan) * width));
    ReadableRows readable(x, plan.planes * plan.in_plane(), plan.in[2]);
    const auto reduce = [&](const float* rows, std::int64_t first, std::int64_t count) {
      float* const to = sums.data() + first * width;
      const bool is_one = plan.in[2] == windows.stride * width;
      loops.sum_along(rows - plan.pad[2], plan.in[2], windows, to, width,
                      is_one ? count * width : width, is_one ? 1 : count);
      for (const CutWindow& each : cut) {
        for (std::int64_t row = 0; row < count; ++row) {
          const float* const place = rows + row * plan.in[2] + each.place;
          float sum = *place;
          for (std::int64_t k = 1; k < each.taps; ++k) sum += place[k];
          to[row * width + each.output] = sum;
        }
      }
    };
    each_row_band(
        plan, begin, end,
        [&](std::int64_t plane, std::int64_t row, std::int64_t count) {
          readable.reduce(x + plane * plan.in_plane() + row * plan.in[2], count, reduce);
        },
        [&](std::int64_t plane, std::int64_t plane_row, std::int64_t first, std::int64_t count) {
          std::array<const float*, most_rows> rows{};
          auto* next = rows.begin();
          for (const RowInWindow& each : lists[static_cast<std::size_t>(first)]) {
            *next++ = sums.data() + (plane_row + each.row) * width;
          }
          loops.sum_of(rows.data(), next - rows.begin(), shares.of_rows[first], shares.of_columns,
                       real<float>(m.outputs[0]) + plane * plan.out_plane() + first * width, width,
                       windows.stride * width, count);
        });
  });
}

}  // namespace strata::cpu_training
