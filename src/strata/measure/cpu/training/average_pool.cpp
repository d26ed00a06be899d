// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/pool_plan.hpp"
#include "strata/measure/cpu/training/result_stream.hpp"

#include <utility>
#include <vector>

namespace strata::cpu_training {
namespace {

/// 1 / how many rows of the input an output row is the mean of.
template <class T>
T row_share(const PoolPlan& plan, std::int64_t z, std::int64_t y) {
  const std::int64_t count = plan.counts_padding
                                 ? plan.kernel[0] * plan.kernel[1]
                                 : plan.inside(0, z).count() * plan.inside(1, y).count();
  return T(1) / static_cast<T>(std::max<std::int64_t>(1, count));
}

/// For each output of a row: 1 / how many columns it is the mean of.
template <class T>
std::vector<T> column_shares(const PoolPlan& plan) {
  std::vector<T> shares;
  for (std::int64_t o = 0; o < plan.out[2]; ++o) {
    const std::int64_t count = plan.counts_padding ? plan.kernel[2] : plan.inside(2, o).count();
    shares.push_back(T(1) / static_cast<T>(std::max<std::int64_t>(1, count)));
  }
  return shares;
}

/// The way back along a row: numbers of the input that lie `stride` apart get the same taps of
/// neighbouring outputs, so each such phase is a sum of whole rows.
template <class T>
class RowSpread {
 public:
  explicit RowSpread(const PoolPlan& plan)
      : plan_(plan),
        phases_(plan.stride[2]),
        length_((plan.in[2] + phases_ - 1) / phases_),
        margin_((plan.kernel[2] * plan.dilation[2] + plan.pad[2]) / phases_ + 1),
        padded_(static_cast<std::size_t>(2 * margin_ + std::max(plan.out[2], length_))),
        sums_(static_cast<std::size_t>(phases_ * length_)) {}

  /// Where the row of outputs goes, zeros around it.
  T* row() { return padded_.data() + margin_; }

  /// dx[i] = Σ of the outputs whose windows hold i.
  void run(T* dx) {
    const T* const first = phase(0);
    if (phases_ == 1) {
      std::copy_n(first, plan_.in[2], dx);
      return;
    }
    const T* const second = phase(1);
    const std::int64_t pairs = phases_ == 2 ? plan_.in[2] / 2 : 0;
    vector_loops<T>().interleave(first, second, dx, pairs);
    if (phases_ == 2) {
      if (plan_.in[2] % 2 != 0) dx[plan_.in[2] - 1] = first[pairs];
      return;
    }
    for (std::int64_t k = 0; k < phases_; ++k) {
      const T* const from = phase(k);
      for (std::int64_t i = k; i < plan_.in[2]; i += phases_) dx[i] = from[i / phases_];
    }
  }

 private:
  /// The numbers k, k + stride, … of the result.
  const T* phase(std::int64_t k) {
    T* const sums = sums_.data() + k * length_;
    const T* only = nullptr;
    bool is_summed = false;
    for (std::int64_t tap = 0; tap < plan_.kernel[2]; ++tap) {
      const std::int64_t apart = k + plan_.pad[2] - tap * plan_.dilation[2];
      if (apart % phases_ != 0) continue;
      const T* const shifted = row() + apart / phases_;
      if (only == nullptr) {
        only = shifted;
        continue;
      }
      if (!std::exchange(is_summed, true)) std::copy_n(only, length_, sums);
      vector_loops<T>().add_row(shifted, sums, length_);
    }
    if (only != nullptr && !is_summed) return only;
    if (only == nullptr) std::fill_n(sums, length_, T(0));
    return sums;
  }

  const PoolPlan& plan_;
  std::int64_t phases_, length_, margin_;
  std::vector<T> padded_, sums_;
};

/// For each row of the input: the output rows whose windows hold it, and what share each has.
template <class T>
std::vector<std::vector<std::pair<std::int64_t, T>>> rows_that_hold(const PoolPlan& plan) {
  std::vector<std::vector<std::pair<std::int64_t, T>>> rows(
      static_cast<std::size_t>(plan.in_rows()));
  for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
    const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
    each_input_row(plan, z, y, [&](std::int64_t place, std::int64_t) {
      rows[static_cast<std::size_t>(place / plan.in[2])].emplace_back(row,
                                                                      row_share<T>(plan, z, y));
    });
  }
  return rows;
}

}  // namespace

template <class T>
void average_pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const std::vector<T> shares = column_shares<T>(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    // The sum of the rows of a window, zeros around it.
    std::vector<T> padded(static_cast<std::size_t>(plan.padded_width()));
    T* const sums = padded.data() + plan.pad[2];
    std::vector<T> result(static_cast<std::size_t>(plan.out[2]));
    ResultStream<T> stream(real<T>(m.outputs[0]), begin * plan.out_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const x = real<T>(m.inputs[0]) + plane * plan.in_plane();
      for (std::int64_t row = 0; row < plan.out_rows(); ++row) {
        const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
        bool is_first = true;
        each_input_row(plan, z, y, [&](std::int64_t place, std::int64_t) {
          if (std::exchange(is_first, false)) {
            std::copy_n(x + place, plan.in[2], sums);
          } else {
            loops.add_row(x + place, sums, plan.in[2]);
          }
        });
        if (is_first) std::fill_n(sums, plan.in[2], T(0));
        loops.sum_of_taps(padded.data(), plan.kernel[2], plan.dilation[2], plan.stride[2],
                          shares.data(), row_share<T>(plan, z, y), result.data(), plan.out[2]);
        stream.copy(result.data(), plan.out[2]);
      }
    }
  });
}

template <class T>
void average_pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (m.input_gradients[0] == nullptr) return;
  const VectorLoops<T>& loops = vector_loops<T>();
  const std::vector<T> shares = column_shares<T>(plan);
  const auto holders = rows_that_hold<T>(plan);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    RowSpread<T> spread(plan);
    std::vector<T> result(static_cast<std::size_t>(plan.in[2]));
    ResultStream<T> stream(real<T>(m.input_gradients[0]), begin * plan.in_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const dy = real<T>(m.output_gradients[0]) + plane * plan.out_plane();
      for (std::size_t i = 0; i < holders.size(); ++i) {
        // Neighbouring rows of the same windows are the same.
        if (i == 0 || holders[i] != holders[i - 1]) {
          T* const row = spread.row();
          if (holders[i].empty()) std::fill_n(row, plan.out[2], T(0));
          for (std::size_t k = 0; k < holders[i].size(); ++k) {
            const auto& [from, share] = holders[i][k];
            const T* const of_row = dy + from * plan.out[2];
            if (k == 0) {
              loops.sum_of_taps(of_row, 1, 1, 1, shares.data(), share, row, plan.out[2]);
            } else {
              loops.add_scaled_products(of_row, shares.data(), share, row, plan.out[2]);
            }
          }
          spread.run(result.data());
        }
        stream.copy(result.data(), plan.in[2]);
      }
    }
  });
}

template void average_pool_forward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_forward<double>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_backward<float>(const PoolPlan&, const Workers&, const NodeMemory&);
template void average_pool_backward<double>(const PoolPlan&, const Workers&, const NodeMemory&);

}  // namespace strata::cpu_training
