// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/conv_windows.hpp"
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/bias.hpp"

#include <algorithm>

namespace strata::cpu_training::plain {
namespace {

/// Calls f(place in the small plane, place in the large plane, count) for the rows of windows that
/// one offset (z, y, x) of the kernel meets inside the large plane: `count` numbers lie one apart
/// in the small plane and stride[2] apart in the large one.
template <class F>
void for_each_met_row(const ConvWindows& w, std::int64_t z, std::int64_t y, std::int64_t x,
                      const F& f) {
  const std::int64_t left = x * w.dilation[2] - w.pad[2];  // of window 0, from the plane's edge
  const std::int64_t first = left < 0 ? (-left + w.stride[2] - 1) / w.stride[2] : 0;
  const std::int64_t last =
      left >= w.large[2] ? 0 : std::min(w.small[2], (w.large[2] - 1 - left) / w.stride[2] + 1);
  if (first >= last) return;
  for (std::int64_t oz = 0; oz < w.small[0]; ++oz) {
    const std::int64_t iz = oz * w.stride[0] + z * w.dilation[0] - w.pad[0];
    if (iz < 0 || iz >= w.large[0]) continue;
    for (std::int64_t oy = 0; oy < w.small[1]; ++oy) {
      const std::int64_t iy = oy * w.stride[1] + y * w.dilation[1] - w.pad[1];
      if (iy < 0 || iy >= w.large[1]) continue;
      f((oz * w.small[1] + oy) * w.small[2] + first,
        (iz * w.large[1] + iy) * w.large[2] + first * w.stride[2] + left, last - first);
    }
  }
}

/// Calls f(offset, z, y, x) for every place of the kernel.
template <class F>
void for_each_offset(const ConvWindows& w, const F& f) {
  std::int64_t offset = 0;
  for (std::int64_t z = 0; z < w.kernel[0]; ++z) {
    for (std::int64_t y = 0; y < w.kernel[1]; ++y) {
      for (std::int64_t x = 0; x < w.kernel[2]; ++x) f(offset++, z, y, x);
    }
  }
}

/// small[n, k, o] = Σ over c and offsets of large[n, c, o · stride + offset · dilation − pad] ·
/// weight
template <class T>
void large_to_small(const ConvWindows& w, const T* large, const T* weights, T* small) {
  const std::int64_t channels = w.large_channels / w.groups, filters = w.small_channels / w.groups;
  const std::int64_t work = w.small_space() * channels * w.kernel_space();
  parallel_for(w.batch * w.small_channels, work, [&](std::int64_t plane) {
    const std::int64_t n = plane / w.small_channels, k = plane % w.small_channels;
    T* const to = small + plane * w.small_space();
    std::fill_n(to, w.small_space(), T(0));
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t channel = k / filters * channels + c;
      const T* const from = large + (n * w.large_channels + channel) * w.large_space();
      const T* const kernel = weights + (k * channels + c) * w.kernel_space();
      for_each_offset(w, [&](std::int64_t offset, std::int64_t z, std::int64_t y, std::int64_t x) {
        const T weight = kernel[offset];
        for_each_met_row(w, z, y, x, [&](std::int64_t o, std::int64_t i, std::int64_t count) {
          for (std::int64_t j = 0; j < count; ++j) to[o + j] += weight * from[i + j * w.stride[2]];
        });
      });
    }
  });
}

/// The adjoint: large[n, c, …] = Σ over k and offsets of small[n, k, o] · weight
template <class T>
void small_to_large(const ConvWindows& w, const T* small, const T* weights, T* large) {
  const std::int64_t channels = w.large_channels / w.groups, filters = w.small_channels / w.groups;
  const std::int64_t work = w.small_space() * filters * w.kernel_space();
  parallel_for(w.batch * w.large_channels, work, [&](std::int64_t plane) {
    const std::int64_t n = plane / w.large_channels, channel = plane % w.large_channels;
    T* const to = large + plane * w.large_space();
    std::fill_n(to, w.large_space(), T(0));
    for (std::int64_t filter = 0; filter < filters; ++filter) {
      const std::int64_t k = channel / channels * filters + filter;
      const T* const from = small + (n * w.small_channels + k) * w.small_space();
      const T* const kernel = weights + (k * channels + channel % channels) * w.kernel_space();
      for_each_offset(w, [&](std::int64_t offset, std::int64_t z, std::int64_t y, std::int64_t x) {
        const T weight = kernel[offset];
        for_each_met_row(w, z, y, x, [&](std::int64_t o, std::int64_t i, std::int64_t count) {
          for (std::int64_t j = 0; j < count; ++j) to[i + j * w.stride[2]] += weight * from[o + j];
        });
      });
    }
  });
}

/// weights[k, c, offset] = Σ over n and o of small[n, k, o] · large[n, c, …]
template <class T>
void both_to_weights(const ConvWindows& w, const T* large, const T* small, T* weights) {
  const std::int64_t channels = w.large_channels / w.groups, filters = w.small_channels / w.groups;
  const std::int64_t work = w.batch * w.small_space() * w.kernel_space();
  parallel_for(w.small_channels * channels, work, [&](std::int64_t kernel) {
    const std::int64_t k = kernel / channels;
    const std::int64_t channel = k / filters * channels + kernel % channels;
    for_each_offset(w, [&](std::int64_t offset, std::int64_t z, std::int64_t y, std::int64_t x) {
      T sum = 0;
      for (std::int64_t n = 0; n < w.batch; ++n) {
        const T* const a = small + (n * w.small_channels + k) * w.small_space();
        const T* const b = large + (n * w.large_channels + channel) * w.large_space();
        for_each_met_row(w, z, y, x, [&](std::int64_t o, std::int64_t i, std::int64_t count) {
          for (std::int64_t j = 0; j < count; ++j) sum += a[o + j] * b[i + j * w.stride[2]];
        });
      }
      weights[kernel * w.kernel_space() + offset] = sum;
    });
  });
}

template <class T>
KernelPair convolution_kernels(const Convolution& op, const NodeContext& context) {
  const ConvWindows w(op, context);
  const ChannelBias bias(context.output());
  const bool is_transposed = op.transposed, has_bias = op.bias;
  return {
      .forward =
          [=](const NodeMemory& m) {
            const T *const x = numbers<T>(m.inputs[0]), *const weights = numbers<T>(m.inputs[1]);
            T* const y = numbers<T>(m.outputs[0]);
            is_transposed ? small_to_large<T>(w, x, weights, y)
                          : large_to_small<T>(w, x, weights, y);
            if (has_bias) bias.add(numbers<T>(m.inputs[2]), y);
          },
      .backward =
          [=](const NodeMemory& m) {
            const T* const dy = numbers<T>(m.output_gradients[0]);
            const T *const x = numbers<T>(m.inputs[0]), *const weights = numbers<T>(m.inputs[1]);
            if (T* const dx = numbers<T>(m.input_gradients[0])) {
              is_transposed ? large_to_small<T>(w, dy, weights, dx)
                            : small_to_large<T>(w, dy, weights, dx);
            }
            if (T* const dw = numbers<T>(m.input_gradients[1])) {
              is_transposed ? both_to_weights<T>(w, dy, x, dw) : both_to_weights<T>(w, x, dy, dw);
            }
            T* const db = has_bias ? numbers<T>(m.input_gradients[2]) : nullptr;
            if (db != nullptr) bias.gradient(dy, db);
          },
      .needs = {.inputs = true}};
}

}  // namespace

KernelPairOrReason make_kernels(const Convolution& op, const NodeContext& context) {
  return with_real(context.input().dtype,
                   [&](auto zero) { return convolution_kernels<decltype(zero)>(op, context); });
}

}  // namespace strata::cpu_training::plain
