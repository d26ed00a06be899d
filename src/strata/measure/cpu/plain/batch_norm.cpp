// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/batch_norm_shape.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"

#include <cmath>

namespace strata::cpu_training::plain {
namespace {

using training_constants::batch_norm_epsilon;

/// Calls f(place) for every number of a channel.
template <class F>
void for_each_of_channel(const BatchNormShape& s, std::int64_t c, const F& f) {
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::int64_t first = (n * s.channels + c) * s.space;
    for (std::int64_t i = first; i < first + s.space; ++i) f(i);
  }
}

template <class T>
void channel_moments(const BatchNormShape& s, const T* x, T* means, T* variances) {
  parallel_for(s.channels, s.batch * s.space, [&](std::int64_t c) {
    double sum = 0, squares = 0;
    for_each_of_channel(s, c, [&](std::int64_t i) { sum += static_cast<double>(x[i]); });
    const double mean = sum / s.count();
    for_each_of_channel(s, c, [&](std::int64_t i) {
      const double distance = static_cast<double>(x[i]) - mean;
      squares += distance * distance;
    });
    means[c] = static_cast<T>(mean);
    variances[c] = static_cast<T>(squares / s.count());
  });
}

template <class T>
T factor_of(T variance) {
  return T(1) / std::sqrt(variance + T(batch_norm_epsilon));
}

template <class T>
void normalize(const BatchNormShape& s, const NodeMemory& m, const T* means, const T* variances) {
  const T* const x = numbers<T>(m.inputs[0]);
  const T* const scale = s.has_scale ? numbers<T>(m.inputs[s.scale_input()]) : nullptr;
  const T* const shift = s.has_shift ? numbers<T>(m.inputs[s.shift_input()]) : nullptr;
  T* const y = numbers<T>(m.outputs[0]);
  parallel_for(s.batch * s.channels, s.space, [&](std::int64_t plane) {
    const std::int64_t c = plane % s.channels;
    const T mean = means[c], offset = shift != nullptr ? shift[c] : T(0);
    const T factor = factor_of(variances[c]) * (scale != nullptr ? scale[c] : T(1));
    for (std::int64_t i = plane * s.space; i < (plane + 1) * s.space; ++i) {
      y[i] = (x[i] - mean) * factor + offset;
    }
  });
}

/// dx = factor · scale · (dy − mean(dy) − hat · mean(dy · hat)) with hat = (x − mean) · factor
template <class T>
void batch_norm_backward(const BatchNormShape& s, const NodeMemory& m) {
  const T *const x = numbers<T>(m.inputs[0]), *const dy = numbers<T>(m.output_gradients[0]);
  const T *const means = numbers<T>(m.saved), *const variances = means + s.channels;
  const T* const scale = s.has_scale ? numbers<T>(m.inputs[s.scale_input()]) : nullptr;
  T* const dx = numbers<T>(m.input_gradients[0]);
  T* const d_scale = s.has_scale ? numbers<T>(m.input_gradients[s.scale_input()]) : nullptr;
  T* const d_shift = s.has_shift ? numbers<T>(m.input_gradients[s.shift_input()]) : nullptr;
  parallel_for(s.channels, s.batch * s.space, [&](std::int64_t c) {
    const T mean = means[c], factor = factor_of(variances[c]);
    double sum = 0, products = 0;
    for_each_of_channel(s, c, [&](std::int64_t i) {
      sum += static_cast<double>(dy[i]);
      products += static_cast<double>(dy[i] * (x[i] - mean) * factor);
    });
    if (d_scale != nullptr) d_scale[c] = static_cast<T>(products);
    if (d_shift != nullptr) d_shift[c] = static_cast<T>(sum);
    if (dx == nullptr) return;
    const T mean_dy = static_cast<T>(sum / s.count());
    const T mean_product = static_cast<T>(products / s.count());
    const T scaled = factor * (scale != nullptr ? scale[c] : T(1));
    for_each_of_channel(s, c, [&](std::int64_t i) {
      dx[i] = scaled * (dy[i] - mean_dy - (x[i] - mean) * factor * mean_product);
    });
  });
}

template <class T>
KernelPair batch_norm_kernels(const BatchNormShape& s, const NodeContext& context) {
  const bool is_training = context.is_training, keeps = context.wants_any();
  const auto bytes = 2 * s.channels * static_cast<std::int64_t>(sizeof(T));
  const auto forward = [=](const NodeMemory& m) {
    if (!is_training) {
      return normalize<T>(s, m, numbers<T>(m.inputs[s.mean_input()]),
                          numbers<T>(m.inputs[s.variance_input()]));
    }
    T *const means = numbers<T>(keeps ? m.saved : m.scratch), *const variances = means + s.channels;
    channel_moments(s, numbers<T>(m.inputs[0]), means, variances);
    normalize(s, m, means, variances);
    s.update_running(means, variances, m);
  };
  return {.forward = forward,
          .backward = [=](const NodeMemory& m) { batch_norm_backward<T>(s, m); },
          .needs = {.inputs = true,
                    .saved_bytes = keeps ? bytes : 0,
                    .scratch_bytes = keeps ? 0 : bytes,
                    .backward_is_one = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const BatchNorm& op, const NodeContext& context) {
  const BatchNormShape shape(op, context);
  return with_real(context.input().dtype,
                   [&](auto zero) { return batch_norm_kernels<decltype(zero)>(shape, context); });
}

}  // namespace strata::cpu_training::plain
