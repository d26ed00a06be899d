// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/reduction.hpp"
#include "strata/measure/training/constants.hpp"

#include <cmath>

namespace strata::cpu_training {
namespace {

/// Rows of numbers that share statistics, side by side in memory. Scale and shift of a row begin at
/// (row mod groups) · entries and hold for `repeats` neighbours each: 1 for layer norm, the space
/// of a channel for group norm.
struct RowNorm {
  std::int64_t rows = 0, length = 0;
  std::int64_t groups = 1, entries = 0, repeats = 1;
  bool takes_mean = true;
  bool has_scale = false, has_shift = false;
  double epsilon = 0;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  std::int64_t parameters() const { return groups * entries; }
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length); }
};

/// Around the first number, so that a large mean does not eat the digits of the variance.
template <class T>
void statistics_of(const RowNorm& norm, const T* x, T& mean, T& factor) {
  const T base = norm.takes_mean ? x[0] : T(0);
  const T n = static_cast<T>(norm.length);
  T shift = 0;
  if (norm.takes_mean) {
    shift = sum_loop<T>(norm.length, [&](std::int64_t i) { return x[i] - base; }) / n;
  }
  mean = base + shift;
  const T centre = mean;
  const T squares = sum_loop<T>(norm.length, [&](std::int64_t i) {
    const T centred = x[i] - centre;
    return centred * centred;
  });
  factor = T(1) / std::sqrt(squares / n + T(norm.epsilon));
}

/// y[i] = (x[i] − mean) · factor · scale + shift
template <class T>
void normalize_row(const RowNorm& norm, const T* x, T mean, T factor, const T* scale,
                   const T* shift, T* y) {
  if (norm.repeats == 1) {
    for (std::int64_t i = 0; i < norm.length; ++i) {
      T value = (x[i] - mean) * factor;
      if (scale != nullptr) value *= scale[i];
      y[i] = shift != nullptr ? value + shift[i] : value;
    }
    return;
  }
  for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
    const T a = factor * (scale != nullptr ? scale[entry] : T(1));
    const T b = (shift != nullptr ? shift[entry] : T(0)) - mean * a;
    const std::int64_t at = entry * norm.repeats;
    for (std::int64_t i = at; i < at + norm.repeats; ++i) y[i] = x[i] * a + b;
  }
}

template <class T>
void row_norm_forward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  T* const saved = real<T>(m.saved);
  workers.ranges(norm.rows, norm.least(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t first = row % norm.groups * norm.entries;
      const T* const x = real<T>(m.inputs[0]) + row * norm.length;
      T mean = 0, factor = 0;
      statistics_of(norm, x, mean, factor);
      normalize_row<T>(norm, x, mean, factor,
                       norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) + first : nullptr,
                       norm.has_shift ? real<T>(m.inputs[norm.shift_input()]) + first : nullptr,
                       real<T>(m.outputs[0]) + row * norm.length);
      if (saved == nullptr) continue;
      saved[2 * row] = mean;
      saved[2 * row + 1] = factor;
    }
  });
}

/// One row of backward: dx, and the row's share of the gradients of scale and shift.
template <class T>
struct RowGradient {
  const RowNorm& norm;
  const T* x;
  const T* dy;
  const T* scale;  // of the row; null without one
  T mean, factor;
  T* dx;  // each null when not wanted
  T* d_scale;
  T* d_shift;

  T hat(std::int64_t i) const { return (x[i] - mean) * factor; }

  void run() const {
    if (d_scale != nullptr || d_shift != nullptr) add_parameters();
    if (dx == nullptr) return;
    T sum = 0, product = 0;
    // Without repeats the whole row at once.
    const std::int64_t entries = norm.repeats == 1 ? 1 : norm.entries;
    for (std::int64_t entry = 0; entry < entries; ++entry) add_sums(entry, sum, product);
    const T n = static_cast<T>(norm.length);
    const T offset = norm.takes_mean ? sum / n : T(0), slope = product / n;
    if (norm.repeats == 1) {
      for (std::int64_t i = 0; i < norm.length; ++i) {
        const T d = scale != nullptr ? dy[i] * scale[i] : dy[i];
        dx[i] = factor * (d - offset - hat(i) * slope);
      }
      return;
    }
    for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
      const T a = scale != nullptr ? scale[entry] : T(1);
      for (std::int64_t i = entry * norm.repeats; i < (entry + 1) * norm.repeats; ++i) {
        dx[i] = factor * (dy[i] * a - offset - hat(i) * slope);
      }
    }
  }

 private:
  void add_sums(std::int64_t entry, T& sum, T& product) const {
    if (norm.repeats == 1) {
      const auto d = [&](std::int64_t i) { return scale != nullptr ? dy[i] * scale[i] : dy[i]; };
      sum = sum_loop<T>(norm.length, d);
      product = sum_loop<T>(norm.length, [&](std::int64_t i) { return d(i) * hat(i); });
      return;
    }
    const std::int64_t at = entry * norm.repeats;
    const T a = scale != nullptr ? scale[entry] : T(1);
    sum += a * sum_loop<T>(norm.repeats, [&](std::int64_t i) { return dy[at + i]; });
    product +=
        a * sum_loop<T>(norm.repeats, [&](std::int64_t i) { return dy[at + i] * hat(at + i); });
  }

  void add_parameters() const {
    if (norm.repeats == 1) {
      for (std::int64_t i = 0; d_scale != nullptr && i < norm.length; ++i) {
        d_scale[i] += dy[i] * hat(i);
      }
      for (std::int64_t i = 0; d_shift != nullptr && i < norm.length; ++i) d_shift[i] += dy[i];
      return;
    }
    for (std::int64_t entry = 0; entry < norm.entries; ++entry) {
      const std::int64_t at = entry * norm.repeats;
      if (d_scale != nullptr) {
        d_scale[entry] +=
            sum_loop<T>(norm.repeats, [&](std::int64_t i) { return dy[at + i] * hat(at + i); });
      }
      if (d_shift != nullptr) {
        d_shift[entry] += sum_loop<T>(norm.repeats, [&](std::int64_t i) { return dy[at + i]; });
      }
    }
  }
};

template <class T>
void row_norm_backward(const RowNorm& norm, const Workers& workers, const NodeMemory& m) {
  const T* const saved = real<T>(m.saved);
  T* const dx = real<T>(m.input_gradients[0]);
  T* const d_scale = norm.has_scale ? real<T>(m.input_gradients[norm.scale_input()]) : nullptr;
  T* const d_shift = norm.has_shift ? real<T>(m.input_gradients[norm.shift_input()]) : nullptr;
  const std::int64_t parameters = norm.parameters();
  const std::int64_t parts =
      workers.parts(norm.rows, norm.least(), [&](auto part, auto begin, auto end) {
        T* const sums = real<T>(m.scratch) + 2 * part * parameters;
        if (d_scale != nullptr || d_shift != nullptr) std::fill(sums, sums + 2 * parameters, T(0));
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t first = row % norm.groups * norm.entries, at = row * norm.length;
          RowGradient<T>{norm,
                         real<T>(m.inputs[0]) + at,
                         real<T>(m.output_gradients[0]) + at,
                         norm.has_scale ? real<T>(m.inputs[norm.scale_input()]) + first : nullptr,
                         saved[2 * row],
                         saved[2 * row + 1],
                         dx != nullptr ? dx + at : nullptr,
                         d_scale != nullptr ? sums + first : nullptr,
                         d_shift != nullptr ? sums + parameters + first : nullptr}
              .run();
        }
      });
  for (std::int64_t i = 0; i < parameters; ++i) {
    T scale_sum = 0, shift_sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) {
      const T* const sums = real<T>(m.scratch) + 2 * part * parameters;
      if (d_scale != nullptr) scale_sum += sums[i];
      if (d_shift != nullptr) shift_sum += sums[parameters + i];
    }
    if (d_scale != nullptr) d_scale[i] = scale_sum;
    if (d_shift != nullptr) d_shift[i] = shift_sum;
  }
}

KernelsOrReason row_norm_kernels(const RowNorm& norm, const Setting& s) {
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    constexpr auto element = static_cast<std::int64_t>(sizeof(T));
    const Workers& workers = s.workers;
    const bool has_backward = s.wants_any();
    return kernels_by(
        {[=, &workers](const NodeMemory& m) { row_norm_forward<T>(norm, workers, m); },
         [=, &workers](const NodeMemory& m) { row_norm_backward<T>(norm, workers, m); },
         {.inputs = true,
          .saved_bytes = has_backward ? 2 * norm.rows * element : 0,
          .scratch_bytes = has_backward ? 2 * workers.count() * norm.parameters() * element : 0,
          .backward_is_one = true}},
        s);
  });
}

/// Over the axes from `axis` to the last.
RowNorm trailing_norm(const BoundTensor& x, std::int64_t axis) {
  RowNorm norm{.rows = 1, .length = 1};
  const std::size_t first = normal_axis(axis, x.axes());
  for (std::size_t i = 0; i < x.axes(); ++i) (i < first ? norm.rows : norm.length) *= x[i];
  norm.entries = norm.length;
  return norm;
}

}  // namespace

KernelsOrReason make_kernels(const LayerNorm& op, const Setting& s) {
  RowNorm norm = trailing_norm(s.input(), op.axis);
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = training_constants::layer_norm_epsilon;
  return row_norm_kernels(norm, s);
}

KernelsOrReason make_kernels(const RmsNorm& op, const Setting& s) {
  RowNorm norm = trailing_norm(s.input(), op.axis);
  norm.takes_mean = false;
  norm.has_scale = op.scale;
  norm.epsilon = training_constants::rms_norm_epsilon;
  return row_norm_kernels(norm, s);
}

KernelsOrReason make_kernels(const GroupNorm& op, const Setting& s) {
  const std::int64_t batch = s.input()[0], channels = s.input()[1];
  RowNorm norm;
  norm.groups = op.groups == 0 ? channels : op.groups;
  norm.rows = batch * norm.groups;
  norm.length = s.input().elements / norm.rows;
  norm.entries = channels / norm.groups;
  norm.repeats = norm.length / norm.entries;
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = training_constants::group_norm_epsilon;
  return row_norm_kernels(norm, s);
}

}  // namespace strata::cpu_training
