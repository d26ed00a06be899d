// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/cpu/pool_windows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::cpu_training::plain {
namespace {

/// One output of a plane: its index along each axis.
struct PoolOutput {
  std::array<std::int64_t, pool_axes> at;

  PoolOutput(const PoolWindows& w, std::int64_t index)
      : at{index / w.out[2] / w.out[1], index / w.out[2] % w.out[1], index % w.out[2]} {}
};

/// Calls f(place in the plane) for what of an output's window lies inside the plane.
template <class F>
void for_each_inside(const PoolWindows& w, const PoolOutput& output, const F& f) {
  const auto place = [&](std::size_t axis, std::int64_t k) {
    return w.begin(axis, output.at[axis]) + k * w.dilation[axis];
  };
  const auto is_outside = [&](std::size_t axis, std::int64_t i) {
    return i < 0 || i >= w.in[axis];
  };
  for (std::int64_t kz = 0; kz < w.size(0, output.at[0]); ++kz) {
    const std::int64_t z = place(0, kz);
    if (is_outside(0, z)) continue;
    for (std::int64_t ky = 0; ky < w.size(1, output.at[1]); ++ky) {
      const std::int64_t y = place(1, ky);
      if (is_outside(1, y)) continue;
      for (std::int64_t kx = 0; kx < w.size(2, output.at[2]); ++kx) {
        const std::int64_t x = place(2, kx);
        if (!is_outside(2, x)) f((z * w.in[1] + y) * w.in[2] + x);
      }
    }
  }
}

/// What the sum of a window is divided by.
template <class T>
T divisor_of(const PoolWindows& w, const PoolOutput& output) {
  if (w.counts_padding) return static_cast<T>(w.kernel[0] * w.kernel[1] * w.kernel[2]);
  std::int64_t count = 0;
  for_each_inside(w, output, [&](std::int64_t) { ++count; });
  return static_cast<T>(count);
}

/// The largest of each window, NaN above all, as PyTorch has it; `argmax`, where there is one, gets
/// its place in the plane.
template <class T>
void max_pool_forward(const PoolWindows& w, const T* x, T* y, std::int32_t* argmax) {
  parallel_for(w.planes, w.in_plane(), [&](std::int64_t plane) {
    const T* const from = x + plane * w.in_plane();
    for (std::int64_t i = 0; i < w.out_plane(); ++i) {
      std::int64_t best = -1;
      for_each_inside(w, PoolOutput(w, i), [&](std::int64_t place) {
        if (best < 0 || from[place] > from[best] || std::isnan(from[place])) best = place;
      });
      const std::int64_t at = plane * w.out_plane() + i;
      y[at] = best < 0 ? -std::numeric_limits<T>::infinity() : from[best];
      if (argmax != nullptr) argmax[at] = static_cast<std::int32_t>(best);
    }
  });
}

template <class T>
void max_pool_backward(const PoolWindows& w, const T* dy, const std::int32_t* argmax, T* dx) {
  parallel_for(w.planes, w.in_plane(), [&](std::int64_t plane) {
    T* const to = dx + plane * w.in_plane();
    std::fill_n(to, w.in_plane(), T(0));
    for (std::int64_t i = plane * w.out_plane(); i < (plane + 1) * w.out_plane(); ++i) {
      if (argmax[i] >= 0) to[argmax[i]] += dy[i];
    }
  });
}

template <class T>
void average_pool_forward(const PoolWindows& w, const T* x, T* y) {
  parallel_for(w.planes, w.in_plane(), [&](std::int64_t plane) {
    const T* const from = x + plane * w.in_plane();
    for (std::int64_t i = 0; i < w.out_plane(); ++i) {
      const PoolOutput output(w, i);
      T sum = 0;
      for_each_inside(w, output, [&](std::int64_t place) { sum += from[place]; });
      y[plane * w.out_plane() + i] = sum / divisor_of<T>(w, output);
    }
  });
}

template <class T>
void average_pool_backward(const PoolWindows& w, const T* dy, T* dx) {
  parallel_for(w.planes, w.in_plane(), [&](std::int64_t plane) {
    T* const to = dx + plane * w.in_plane();
    std::fill_n(to, w.in_plane(), T(0));
    for (std::int64_t i = 0; i < w.out_plane(); ++i) {
      const PoolOutput output(w, i);
      const T share = dy[plane * w.out_plane() + i] / divisor_of<T>(w, output);
      for_each_inside(w, output, [&](std::int64_t place) { to[place] += share; });
    }
  });
}

template <class T>
KernelPair max_pool_kernels(const PoolWindows& w, const NodeContext& context) {
  const auto argmax_bytes =
      context.output().elements * static_cast<std::int64_t>(sizeof(std::int32_t));
  return {.forward =
              [=](const NodeMemory& m) {
                max_pool_forward<T>(w, numbers<T>(m.inputs[0]), numbers<T>(m.outputs[0]),
                                    numbers<std::int32_t>(m.saved));
              },
          .backward =
              [=](const NodeMemory& m) {
                T* const dx = numbers<T>(m.input_gradients[0]);
                if (dx == nullptr) return;
                max_pool_backward<T>(w, numbers<T>(m.output_gradients[0]),
                                     numbers<std::int32_t>(m.saved), dx);
              },
          .needs = {.saved_bytes = context.wants(0) ? argmax_bytes : 0}};
}

template <class T>
KernelPair average_pool_kernels(const PoolWindows& w) {
  return {.forward =
              [=](const NodeMemory& m) {
                average_pool_forward<T>(w, numbers<T>(m.inputs[0]), numbers<T>(m.outputs[0]));
              },
          .backward =
              [=](const NodeMemory& m) {
                T* const dx = numbers<T>(m.input_gradients[0]);
                if (dx == nullptr) return;
                average_pool_backward<T>(w, numbers<T>(m.output_gradients[0]), dx);
              }};
}

KernelPairOrReason pool_kernels(const PoolWindows& w, const NodeContext& context) {
  if (w.changes_nothing()) return copy_kernels(context);
  if (w.is_maximum && w.in_plane() > std::numeric_limits<std::int32_t>::max()) {
    return NoKernels{"a plane of more than 2^31 places"};
  }
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    return w.is_maximum ? max_pool_kernels<T>(w, context) : average_pool_kernels<T>(w);
  });
}

}  // namespace

KernelPairOrReason make_kernels(const Pool& op, const NodeContext& context) {
  return pool_kernels(PoolWindows(op, context), context);
}

KernelPairOrReason make_kernels(const AdaptivePool& op, const NodeContext& context) {
  return pool_kernels(PoolWindows(op, context), context);
}

}  // namespace strata::cpu_training::plain
