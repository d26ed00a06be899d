// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/pooling/pool_plan.hpp"
#include "strata/measure/cpu/pooling/window_pool.hpp"

#include <limits>
#include <type_traits>

namespace strata::cpu_training {
namespace {

/// One output of an adaptive pool; the place of a maximum.
template <class T>
T adaptive_output(const PoolPlan& plan, const T* x, std::int64_t z, std::int64_t y, std::int64_t o,
                  std::int32_t* place) {
  const std::int64_t first = plan.begin(2, o), count = plan.taps(2, o);
  T total = plan.is_maximum ? -std::numeric_limits<T>::infinity() : T(0);
  std::int64_t best = -1;
  each_input_row(plan, z, y, [&](std::int64_t row, std::int64_t) {
    const T* const from = x + row + first;
    if (!plan.is_maximum) {
      total += vector_loops<T>().sum(from, count);
      return;
    }
    if (best < 0) best = row + first;
    for (std::int64_t i = 0; i < count; ++i) {
      // NOLINTNEXTLINE(misc-redundant-expression): what is no number is unlike itself
      if (!(from[i] > total || from[i] != from[i])) continue;
      total = from[i];
      best = row + first + i;
    }
  });
  if (place != nullptr) *place = static_cast<std::int32_t>(best);
  if (plan.is_maximum) return total;
  return total / static_cast<T>(plan.inside(0, z).count() * plan.inside(1, y).count() * count);
}

template <class T>
void adaptive_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_short_planes(plan)) return mean_of_planes(plan, workers, m);
  }
  auto* const saved = real<std::int32_t>(m.saved);
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const x = real<T>(m.inputs[0]) + plane * plan.in_plane();
      T* const y = real<T>(m.outputs[0]) + plane * plan.out_plane();
      if (plan.out_plane() == 1 && !plan.is_maximum) {  // global: all of it lies side by side
        *y = vector_loops<T>().sum(x, plan.in_plane()) / static_cast<T>(plan.in_plane());
        continue;
      }
      for (std::int64_t i = 0; i < plan.out_plane(); ++i) {
        const std::int64_t row = i / plan.out[2];
        y[i] = adaptive_output(plan, x, row / plan.out[1], row % plan.out[1], i % plan.out[2],
                               saved != nullptr ? saved + plane * plan.out_plane() + i : nullptr);
      }
    }
  });
}

/// dx of one plane.
template <class T>
void adaptive_plane_gradient(const PoolPlan& plan, const T* dy, const std::int32_t* places, T* dx) {
  std::fill_n(dx, plan.in_plane(), T(0));
  for (std::int64_t i = 0; i < plan.out_plane(); ++i) {
    if (plan.is_maximum) {
      dx[places[i]] += dy[i];
      continue;
    }
    const std::int64_t row = i / plan.out[2], o = i % plan.out[2];
    const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
    const std::int64_t first = plan.begin(2, o), count = plan.taps(2, o);
    const T each =
        dy[i] / static_cast<T>(plan.inside(0, z).count() * plan.inside(1, y).count() * count);
    each_input_row(plan, z, y, [&](std::int64_t place, std::int64_t) {
      for (std::int64_t k = 0; k < count; ++k) dx[place + first + k] += each;
    });
  }
}

template <class T>
void adaptive_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  if (m.input_gradients[0] == nullptr) return;
  if constexpr (std::is_same_v<T, float>) {
    if (has_short_planes(plan)) return mean_of_planes_backward(plan, workers, m);
  }
  each_planes(plan, workers, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> gradient(static_cast<std::size_t>(plan.in_plane()));
    ResultStream<T> stream(real<T>(m.input_gradients[0]), begin * plan.in_plane(), plan.is_beyond);
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const T* const dy = real<T>(m.output_gradients[0]) + plane * plan.out_plane();
      if (plan.out_plane() == 1 && !plan.is_maximum) {
        stream.fill(*dy / static_cast<T>(plan.in_plane()), plan.in_plane());
        continue;
      }
      adaptive_plane_gradient(
          plan, dy,
          plan.is_maximum ? real<std::int32_t>(m.saved) + plane * plan.out_plane() : nullptr,
          gradient.data());
      stream.copy(gradient.data(), plan.in_plane());
    }
  });
}

/// An adaptive pool whose windows do not overlap is one with windows of one size: AlexNet's of 6 ×
/// 6 in photographs of the usual size, for one. A global pool has loops of its own.
void use_equal_windows(PoolPlan& plan) {
  if (!plan.is_adaptive || plan.out_plane() == 1) return;
  for (std::size_t axis = 0; axis < pool_axes; ++axis) {
    if (plan.in[axis] % plan.out[axis] != 0) return;
  }
  plan.is_adaptive = false;
  for (std::size_t axis = 0; axis < pool_axes; ++axis) {
    plan.kernel[axis] = plan.stride[axis] = plan.in[axis] / plan.out[axis];
  }
}

KernelsOrReason pool_kernels(PoolPlan plan, const Setting& s) {
  plan.planes = s.input()[0] * s.input()[1];
  plan.is_beyond = is_beyond_caches(s.input().bytes);
  const std::size_t missing = pool_axes - (s.input().axes() - 2);
  for (std::size_t axis = missing; axis < pool_axes; ++axis) {
    plan.in[axis] = s.input()[axis - missing + 2];
    plan.out[axis] = s.output()[axis - missing + 2];
  }
  use_equal_windows(plan);
  if (plan.window() == 1 && plan.in == plan.out && !plan.is_adaptive) return alias_kernels(s);
  if (plan.is_maximum && plan.in_plane() > std::numeric_limits<std::int32_t>::max()) {
    return NoKernels{"a plane of more than 2^31 places"};
  }
  const bool keeps_places = plan.is_maximum && s.wants(0);
  const std::int64_t each = plan.is_adaptive ? 4 : bytes_per_tap(plan);
  const NodeNeeds needs{.saved_bytes = keeps_places ? s.output().elements * each : 0};
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    const auto forward = plan.is_adaptive  ? adaptive_forward<T>
                         : plan.is_maximum ? max_pool_forward<T>
                                           : average_pool_forward<T>;
    const auto backward = plan.is_adaptive  ? adaptive_backward<T>
                          : plan.is_maximum ? max_pool_backward<T>
                                            : average_pool_backward<T>;
    return kernels_by({[=, &workers](const NodeMemory& m) { forward(plan, workers, m); },
                       [=, &workers](const NodeMemory& m) { backward(plan, workers, m); }, needs},
                      s);
  });
}

}  // namespace

KernelsOrReason make_kernels(const Pool& op, const Setting& s) {
  PoolPlan plan{.is_maximum = op.kind == PoolKind::maximum, .counts_padding = op.count_include_pad};
  const std::size_t missing = pool_axes - op.kernel.size();
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    plan.kernel[i + missing] = op.kernel[i];
    if (!op.stride.empty()) plan.stride[i + missing] = op.stride[i];
    if (!op.dilation.empty()) plan.dilation[i + missing] = op.dilation[i];
    if (!op.pad_begin.empty()) plan.pad[i + missing] = op.pad_begin[i];
  }
  return pool_kernels(plan, s);
}

KernelsOrReason make_kernels(const AdaptivePool& op, const Setting& s) {
  return pool_kernels({.is_adaptive = true, .is_maximum = op.kind == PoolKind::maximum}, s);
}

}  // namespace strata::cpu_training
