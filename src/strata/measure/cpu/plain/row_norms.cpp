// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/engine/constants.hpp"

#include <cmath>

/// Layer, RMS and group norm: each row of numbers is normalised on its own.
namespace strata::cpu_training::plain {
namespace {

using namespace training_constants;

/// X is `rows` rows of `length` numbers. A row has `entries` scales and shifts, each for `repeats`
/// neighbours; rows r, r + groups, r + 2 groups … share theirs.
struct RowNorm {
  std::int64_t rows = 1, length = 1;
  std::int64_t groups = 1, entries = 1, repeats = 1;
  bool takes_mean = true, has_scale = false, has_shift = false;
  double epsilon = 0;

  std::size_t scale_input() const { return 1; }
  std::size_t shift_input() const { return has_scale ? 2 : 1; }
  /// The scale of number i of a row.
  std::int64_t entry(std::int64_t row, std::int64_t i) const {
    return row % groups * entries + i / repeats;
  }
};

template <class T>
const T* own_input(const NodeMemory& m, bool is_there, std::size_t input) {
  return is_there ? numbers<T>(m.inputs[input]) : nullptr;
}

template <class T>
struct RowMoments {
  T mean = 0, factor = 0;  // factor: 1 / √(variance + ε)

  RowMoments(const RowNorm& norm, const T* x) {
    double sum = 0, squares = 0;
    const auto count = static_cast<double>(norm.length);
    for (std::int64_t i = 0; norm.takes_mean && i < norm.length; ++i) {
      sum += static_cast<double>(x[i]);
    }
    const double exact_mean = sum / count;
    for (std::int64_t i = 0; i < norm.length; ++i) {
      const double distance = static_cast<double>(x[i]) - exact_mean;
      squares += distance * distance;
    }
    mean = static_cast<T>(exact_mean);
    factor = static_cast<T>(1 / std::sqrt(squares / count + norm.epsilon));
  }
};

template <class T>
void row_norm_forward(const RowNorm& norm, const NodeMemory& m) {
  const T* const scale = own_input<T>(m, norm.has_scale, norm.scale_input());
  const T* const shift = own_input<T>(m, norm.has_shift, norm.shift_input());
  T* const saved = numbers<T>(m.saved);
  parallel_for(norm.rows, norm.length, [&](std::int64_t row) {
    const T* const x = numbers<T>(m.inputs[0]) + row * norm.length;
    T* const y = numbers<T>(m.outputs[0]) + row * norm.length;
    const RowMoments<T> moments(norm, x);
    for (std::int64_t i = 0; i < norm.length; ++i) {
      const std::int64_t entry = norm.entry(row, i);
      y[i] = (x[i] - moments.mean) * moments.factor * (scale != nullptr ? scale[entry] : T(1)) +
             (shift != nullptr ? shift[entry] : T(0));
    }
    if (saved == nullptr) return;
    saved[2 * row] = moments.mean;
    saved[2 * row + 1] = moments.factor;
  });
}

/// dx = factor · (g − mean(g) − hat · mean(g · hat)) with g = dy · scale and hat = (x − mean) ·
/// factor; without a mean the term mean(g) is left out.
template <class T>
void row_norm_input_gradient(const RowNorm& norm, const NodeMemory& m, T* dx) {
  const T* const scale = own_input<T>(m, norm.has_scale, norm.scale_input());
  parallel_for(norm.rows, norm.length, [&](std::int64_t row) {
    const T* const x = numbers<T>(m.inputs[0]) + row * norm.length;
    const T* const dy = numbers<T>(m.output_gradients[0]) + row * norm.length;
    const T mean = numbers<T>(m.saved)[2 * row], factor = numbers<T>(m.saved)[2 * row + 1];
    const auto scaled = [&](std::int64_t i) {
      return scale != nullptr ? dy[i] * scale[norm.entry(row, i)] : dy[i];
    };
    double sum = 0, products = 0;
    for (std::int64_t i = 0; i < norm.length; ++i) {
      sum += static_cast<double>(scaled(i));
      products += static_cast<double>(scaled(i) * (x[i] - mean) * factor);
    }
    const T mean_g =
        norm.takes_mean ? static_cast<T>(sum / static_cast<double>(norm.length)) : T(0);
    const T mean_product = static_cast<T>(products / static_cast<double>(norm.length));
    for (std::int64_t i = 0; i < norm.length; ++i) {
      const T hat = (x[i] - mean) * factor;
      dx[row * norm.length + i] = factor * (scaled(i) - mean_g - hat * mean_product);
    }
  });
}

/// d_scale = Σ dy · hat and d_shift = Σ dy, over the rows and neighbours that share an entry.
template <class T>
void row_norm_own_gradients(const RowNorm& norm, const NodeMemory& m, T* d_scale, T* d_shift) {
  const T *const saved = numbers<T>(m.saved), *const x = numbers<T>(m.inputs[0]);
  const T* const dy = numbers<T>(m.output_gradients[0]);
  const std::int64_t work = norm.rows / norm.groups * norm.repeats;
  parallel_for(norm.groups * norm.entries, work, [&](std::int64_t entry) {
    double products = 0, sum = 0;
    for (std::int64_t row = entry / norm.entries; row < norm.rows; row += norm.groups) {
      const std::int64_t first = row * norm.length + entry % norm.entries * norm.repeats;
      const T mean = saved[2 * row], factor = saved[2 * row + 1];
      for (std::int64_t i = first; i < first + norm.repeats; ++i) {
        products += static_cast<double>(dy[i] * (x[i] - mean) * factor);
        sum += static_cast<double>(dy[i]);
      }
    }
    if (d_scale != nullptr) d_scale[entry] = static_cast<T>(products);
    if (d_shift != nullptr) d_shift[entry] = static_cast<T>(sum);
  });
}

template <class T>
void row_norm_backward(const RowNorm& norm, const NodeMemory& m) {
  if (T* const dx = numbers<T>(m.input_gradients[0])) row_norm_input_gradient<T>(norm, m, dx);
  T* const d_scale = norm.has_scale ? numbers<T>(m.input_gradients[norm.scale_input()]) : nullptr;
  T* const d_shift = norm.has_shift ? numbers<T>(m.input_gradients[norm.shift_input()]) : nullptr;
  if (d_scale != nullptr || d_shift != nullptr) {
    row_norm_own_gradients<T>(norm, m, d_scale, d_shift);
  }
}

KernelPair row_norm_kernels(const RowNorm& norm, const NodeContext& context) {
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto moments = 2 * norm.rows * static_cast<std::int64_t>(sizeof(T));
    return KernelPair{.forward = [=](const NodeMemory& m) { row_norm_forward<T>(norm, m); },
                      .backward = [=](const NodeMemory& m) { row_norm_backward<T>(norm, m); },
                      .needs = {.inputs = true,
                                .saved_bytes = context.wants_any() ? moments : 0,
                                .backward_is_one = true}};
  });
}

/// Over the axes from `axis` to the last.
RowNorm trailing_norm(const BoundTensor& x, std::int64_t axis) {
  RowNorm norm;
  const std::size_t first = normal_axis(axis, x.axes());
  for (std::size_t i = 0; i < x.axes(); ++i) (i < first ? norm.rows : norm.length) *= x[i];
  norm.entries = norm.length;
  return norm;
}

}  // namespace

KernelPairOrReason make_kernels(const LayerNorm& op, const NodeContext& context) {
  RowNorm norm = trailing_norm(context.input(), op.axis);
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = layer_norm_epsilon;
  return row_norm_kernels(norm, context);
}

KernelPairOrReason make_kernels(const RmsNorm& op, const NodeContext& context) {
  RowNorm norm = trailing_norm(context.input(), op.axis);
  norm.takes_mean = false;
  norm.has_scale = op.scale;
  norm.epsilon = rms_norm_epsilon;
  return row_norm_kernels(norm, context);
}

KernelPairOrReason make_kernels(const GroupNorm& op, const NodeContext& context) {
  const std::int64_t batch = context.input()[0], channels = context.input()[1];
  RowNorm norm;
  norm.groups = op.groups == 0 ? channels : op.groups;
  norm.rows = batch * norm.groups;
  norm.length = context.input().elements / norm.rows;
  norm.entries = channels / norm.groups;
  norm.repeats = norm.length / norm.entries;
  norm.has_scale = op.scale;
  norm.has_shift = op.shift;
  norm.epsilon = group_norm_epsilon;
  return row_norm_kernels(norm, context);
}

}  // namespace strata::cpu_training::plain
