// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/pooling/pool_rows.hpp"
#include "strata/measure/cpu/pooling/row_pool.hpp"
#include "strata/measure/cpu/pooling/three_means.hpp"
#include "strata/measure/cpu/pooling/window_pool.hpp"

#include <type_traits>
#include <vector>

namespace strata::cpu_training {
namespace {

/// For each row of outputs: 1 / how many rows of the input it is the mean of.
template <class T>
std::vector<T> row_shares(const PoolPlan& plan) {
  std::vector<T> shares;
  for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
    const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
    const std::int64_t count = plan.counts_padding
                                   ? plan.kernel[0] * plan.kernel[1]
                                   : plan.inside(0, z).count() * plan.inside(1, y).count();
    shares.push_back(T(1) / static_cast<T>(std::max<std::int64_t>(1, count)));
  }
  return shares;
}

/// For each output of a row: 1 / how many columns it is the mean of.
template <class T>
std::vector<T> column_shares(const PoolPlan& plan) {
  std::vector<T> shares;
  for (std::int64_t o = 0; o < plan.out[2]; ++o) {
    const std::int64_t count = plan.counts_padding ? plan.kernel[2] : plan.inside(2, o).count();
    shares.push_back(T(1) / static_cast<T>(std::max<std::int64_t>(1, count)));
  }
  shares.resize(shares.size() + room_behind_rows);
  return shares;
}

/// More rows than this are added up before their taps are: each number is added once, then.
constexpr std::int64_t few_rows = 4;

/// Several rows become their sum.
template <class T>
class SumOfRows {
 public:
  explicit SumOfRows(std::int64_t width) : sum_(static_cast<std::size_t>(width)) {}

  /// row(k) is row k of `count`, whose first `left` numbers lie before it.
  template <class Row>
  const T* of(std::int64_t count, std::int64_t left, const Row& row) {
    const auto width = static_cast<std::int64_t>(sum_.size());
    std::copy_n(row(0) - left, width, sum_.data());
    for (std::int64_t k = 1; k < count; ++k) {
      vector_loops<T>().add_row(row(k) - left, sum_.data(), width);
    }
    return sum_.data() + left;
  }

 private:
  std::vector<T> sum_;
};

}  // namespace

template <class T>
void average_pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_pairs(plan)) return mean_of_pairs(plan, workers, m);
  }
  const std::vector<T> shares = column_shares<T>(plan), of_rows = row_shares<T>(plan);
  if constexpr (std::is_same_v<T, float>) {
    if (can_mean_threes(plan)) {
      return means_of_threes(plan, workers, {of_rows.data(), shares.data()}, m);
    }
    if (can_pool_rows(plan)) {
      return mean_by_rows(plan, workers, {of_rows.data(), shares.data()}, m);
    }
    if (has_windows_of_three(plan)) {
      return mean_of_threes(plan, workers, {of_rows.data(), shares.data()}, m);
    }
  }
  const RowLists lists = rows_of_windows(plan);
  const T* const x = real<T>(m.inputs[0]);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    WindowRows<T> windows(plan, lists, T(0), x);
    SumOfRows<T> sum(plan.padded_width() + room_behind_rows);
    std::vector<T> room;
    ResultStream<T> stream(real<T>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      windows.begin(x + plane * plan.in_plane());
      for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
        const std::vector<WindowRow<T>>& rows = windows.of(row);
        WindowShape shape{static_cast<std::int64_t>(rows.size()), plan.kernel[2], plan.dilation[2],
                          plan.stride[2]};
        WindowRow<T> one{};
        const WindowRow<T>* used = rows.data();
        if (shape.rows > few_rows) {
          one.numbers = sum.of(shape.rows, 0,
                               [&](auto k) { return rows[static_cast<std::size_t>(k)].numbers; });
          used = &one;
          shape.rows = 1;
        }
        make_row(stream, room, plan.out[2], [&](T* to) {
          pool_loops<T>().sum(used, shape, shares.data(), of_rows[static_cast<std::size_t>(row)],
                              to, plan.out[2]);
        });
      }
    }
  });
}

template <class T>
void average_pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (m.input_gradients[0] == nullptr) return;
  if constexpr (std::is_same_v<T, float>) {
    if (has_pairs(plan)) return mean_of_pairs_backward(plan, workers, m);
  }
  const std::vector<T> shares = column_shares<T>(plan), of_rows = row_shares<T>(plan);
  if constexpr (std::is_same_v<T, float>) {
    if (can_mean_threes(plan)) {
      return means_of_threes_backward(plan, workers, {of_rows.data(), shares.data()}, m);
    }
    if (has_windows_of_three(plan) && plan.stride[2] == 1) {
      return mean_of_threes_backward(plan, workers, {of_rows.data(), shares.data()}, m);
    }
  }
  const SpreadPlan spread(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    RowsHeld<T> held = spread.room<T>();
    SumOfRows<T> sum(held.width());
    std::vector<SpreadRow<T>> rows;
    std::vector<T> room;
    ResultStream<T> stream(real<T>(m.input_gradients[0]), begin * plan.in_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const dy = real<T>(m.output_gradients[0]) + plane * plan.out_plane();
      held.forget();
      for (std::int64_t row = 0; row < plan.in_rows(); ++row) {
        rows.clear();
        for (const auto& [from, tap_row] : spread.holders(row)) {
          held.make_up_to(spread.last_with(from), [&](std::int64_t made, T* to) {
            vector_loops<T>().line(dy + made * plan.out[2], of_rows[static_cast<std::size_t>(made)],
                                   T(0), shares.data(), nullptr, to, plan.out[2]);
          });
          rows.push_back({held[from], nullptr, 0});
        }
        if (static_cast<std::int64_t>(rows.size()) > few_rows) {
          const T* const of_all =
              sum.of(static_cast<std::int64_t>(rows.size()), spread.margin(),
                     [&](auto k) { return rows[static_cast<std::size_t>(k)].gradients; });
          rows.assign(1, {of_all, nullptr, 0});
        }
        make_row(stream, room, plan.in[2], [&](T* to) {
          pool_loops<T>().spread(rows.data(), static_cast<std::int64_t>(rows.size()),
                                 spread.along(), to, plan.in[2]);
        });
      }
    }
  });
}

template void average_pool_forward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_forward<double>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_backward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_backward<double>(const PoolPlan&, const Workers&, const NodeMemory&);

}  // namespace strata::cpu_training
