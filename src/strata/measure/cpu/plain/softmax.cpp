// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/cpu/plain/stored_numbers.hpp"

#include <algorithm>
#include <cmath>

/// Softmax and the losses.
namespace strata::cpu_training::plain {
namespace {

/// log Σ eˣ of a row, without overflow.
template <class T>
T log_of_sum(const AxisRows& rows, const T* row) {
  T most = row[0];
  for (std::int64_t i = 1; i < rows.length; ++i) most = std::max(most, row[i * rows.inner]);
  if (std::isinf(most)) return most;  // all −∞, or one +∞
  T sum = 0;
  for (std::int64_t i = 0; i < rows.length; ++i) sum += std::exp(row[i * rows.inner] - most);
  return most + std::log(sum);
}

template <class T>
void softmax_forward(const AxisRows& rows, bool is_log, const T* x, T* y) {
  parallel_for(rows.count(), rows.length, [&](std::int64_t row) {
    const T* const from = x + rows.first(row);
    T* const to = y + rows.first(row);
    const T log_sum = log_of_sum(rows, from);
    for (std::int64_t i = 0; i < rows.length; ++i) {
      const T log = from[i * rows.inner] - log_sum;
      to[i * rows.inner] = is_log ? log : std::exp(log);
    }
  });
}

/// dx = y (dy − Σ y dy); of the logarithm: dx = dy − e^y Σ dy
template <class T>
void softmax_backward(const AxisRows& rows, bool is_log, const T* y, const T* dy, T* dx) {
  parallel_for(rows.count(), rows.length, [&](std::int64_t row) {
    const std::int64_t first = rows.first(row);
    T sum = 0;
    for (std::int64_t i = 0; i < rows.length; ++i) {
      const std::int64_t at = first + i * rows.inner;
      sum += is_log ? dy[at] : y[at] * dy[at];
    }
    for (std::int64_t i = 0; i < rows.length; ++i) {
      const std::int64_t at = first + i * rows.inner;
      dx[at] = is_log ? dy[at] - std::exp(y[at]) * sum : y[at] * (dy[at] - sum);
    }
  });
}

std::int64_t target_of(DType dtype, const void* targets, std::int64_t row) {
  return whole_number(dtype, targets, row);
}

void check_targets(DType dtype, const void* targets, const AxisRows& rows) {
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::int64_t target = target_of(dtype, targets, row);
    if (target < 0 || target >= rows.length) {
      fail(ErrorKind::input, "target {} of {} classes", target, rows.length);
    }
  }
}

/// Forward keeps the logarithm of each row's sum; backward makes the probabilities from it and
/// takes 1 from that of the target.
template <class T>
KernelPair cross_entropy_kernels(const AxisRows& rows, const NodeContext& context) {
  const DType type = context.input(1).dtype;
  const bool keeps = context.wants(0);
  const auto bytes = rows.count() * static_cast<std::int64_t>(sizeof(T));
  const auto forward = [=](const NodeMemory& m) {
    check_targets(type, m.inputs[1], rows);
    const T* const x = numbers<T>(m.inputs[0]);
    T* const log_sums = numbers<T>(keeps ? m.saved : m.scratch);
    parallel_for(rows.count(), rows.length,
                 [&](std::int64_t row) { log_sums[row] = log_of_sum(rows, x + rows.first(row)); });
    double loss = 0;
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      const std::int64_t target = target_of(type, m.inputs[1], row);
      loss += static_cast<double>(log_sums[row] - x[rows.first(row) + target * rows.inner]);
    }
    *numbers<T>(m.outputs[0]) = static_cast<T>(loss / static_cast<double>(rows.count()));
  };
  const auto backward = [=](const NodeMemory& m) {
    T* const dx = numbers<T>(m.input_gradients[0]);
    if (dx == nullptr) return;
    const T *const x = numbers<T>(m.inputs[0]), *const log_sums = numbers<T>(m.saved);
    const T factor = *numbers<T>(m.output_gradients[0]) / static_cast<T>(rows.count());
    parallel_for(rows.count(), rows.length, [&](std::int64_t row) {
      const std::int64_t first = rows.first(row);
      for (std::int64_t i = 0; i < rows.length; ++i) {
        const std::int64_t at = first + i * rows.inner;
        dx[at] = factor * std::exp(x[at] - log_sums[row]);
      }
      dx[first + target_of(type, m.inputs[1], row) * rows.inner] -= factor;
    });
  };
  return {
      .forward = forward,
      .backward = backward,
      .needs = {
          .inputs = true, .saved_bytes = keeps ? bytes : 0, .scratch_bytes = keeps ? 0 : bytes}};
}

template <class T>
KernelPair squared_error_kernels(const NodeContext& context) {
  const std::int64_t count = context.input().elements;
  const auto forward = [=](const NodeMemory& m) {
    const T *const a = numbers<T>(m.inputs[0]), *const b = numbers<T>(m.inputs[1]);
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
      sum += static_cast<double>(a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    }
    *numbers<T>(m.outputs[0]) = static_cast<T>(sum / static_cast<double>(count));
  };
  const auto backward = [=](const NodeMemory& m) {
    const T *const a = numbers<T>(m.inputs[0]), *const b = numbers<T>(m.inputs[1]);
    const T factor = T(2) * *numbers<T>(m.output_gradients[0]) / static_cast<T>(count);
    T *const da = numbers<T>(m.input_gradients[0]), *const db = numbers<T>(m.input_gradients[1]);
    if (da != nullptr) {
      parallel_for(count, 1, [&](std::int64_t i) { da[i] = factor * (a[i] - b[i]); });
    }
    if (db != nullptr) {
      parallel_for(count, 1, [&](std::int64_t i) { db[i] = factor * (b[i] - a[i]); });
    }
  };
  return {.forward = forward, .backward = backward, .needs = {.inputs = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const Softmax& op, const NodeContext& context) {
  const AxisRows rows(context.input(), op.axis);
  const bool is_log = op.log;
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    return KernelPair{.forward =
                          [=](const NodeMemory& m) {
                            softmax_forward<T>(rows, is_log, numbers<T>(m.inputs[0]),
                                               numbers<T>(m.outputs[0]));
                          },
                      .backward =
                          [=](const NodeMemory& m) {
                            T* const dx = numbers<T>(m.input_gradients[0]);
                            if (dx == nullptr) return;
                            softmax_backward<T>(rows, is_log, numbers<T>(m.outputs[0]),
                                                numbers<T>(m.output_gradients[0]), dx);
                          },
                      .needs = {.outputs = true}};
  });
}

KernelPairOrReason make_kernels(const SoftmaxCrossEntropy& op, const NodeContext& context) {
  return with_real(context.input().dtype, [&](auto zero) {
    return cross_entropy_kernels<decltype(zero)>(AxisRows(context.input(), op.axis), context);
  });
}

KernelPairOrReason make_kernels(const SquaredError&, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return squared_error_kernels<decltype(zero)>(context); });
}

}  // namespace strata::cpu_training::plain
