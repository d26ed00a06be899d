// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/cpu/training/vector_loops.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr std::size_t pool_axes = 3;  // of space; missing ones are of extent 1

/// Pooling of planes: each of N·C is pooled on its own. Along an axis output o takes in places
/// begin(o), begin(o) + dilation, … of which taps(o) are looked at; those outside are padding.
struct PoolPlan {
  std::int64_t planes = 0;
  std::array<std::int64_t, pool_axes> in{1, 1, 1}, out{1, 1, 1};
  std::array<std::int64_t, pool_axes> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{};
  bool is_adaptive = false;
  bool is_maximum = true;
  bool counts_padding = false;

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }

  std::int64_t begin(std::size_t axis, std::int64_t o) const {
    return is_adaptive ? o * in[axis] / out[axis] : o * stride[axis] - pad[axis];
  }
  std::int64_t taps(std::size_t axis, std::int64_t o) const {
    if (!is_adaptive) return kernel[axis];
    return ((o + 1) * in[axis] + out[axis] - 1) / out[axis] - begin(axis, o);
  }
  /// The taps first … last that lie inside.
  struct Range {
    std::int64_t first, last;
    std::int64_t count() const { return std::max<std::int64_t>(0, last - first); }
  };
  Range inside(std::size_t axis, std::int64_t o) const {
    const std::int64_t from = begin(axis, o), step = dilation[axis];
    const std::int64_t first = from < 0 ? (-from + step - 1) / step : 0;
    const std::int64_t last = from >= in[axis] ? 0 : (in[axis] - 1 - from) / step + 1;
    return {first, std::min(last, taps(axis, o))};
  }
};

/// Calls f(row of the input, place of its first number in the plane) for the rows that an output
/// row (z, y) takes in.
template <class F>
void each_input_row(const PoolPlan& plan, std::int64_t z, std::int64_t y, const F& f) {
  const PoolPlan::Range deep = plan.inside(0, z), high = plan.inside(1, y);
  for (std::int64_t kz = deep.first; kz < deep.last; ++kz) {
    for (std::int64_t ky = high.first; ky < high.last; ++ky) {
      const std::int64_t iz = plan.begin(0, z) + kz * plan.dilation[0];
      const std::int64_t iy = plan.begin(1, y) + ky * plan.dilation[1];
      f((iz * plan.in[1] + iy) * plan.in[2]);
    }
  }
}

/// Calls f(first output, last output, place of the first input) for every tap along a row of a
/// plain pool: outputs first … last have that tap inside, and their inputs lie `stride` apart.
template <class F>
void each_column_tap(const PoolPlan& plan, const F& f) {
  const std::int64_t stride = plan.stride[2], pad = plan.pad[2];
  for (std::int64_t k = 0; k < plan.kernel[2]; ++k) {
    const std::int64_t shift = k * plan.dilation[2] - pad;  // of output 0
    const std::int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0;
    const std::int64_t room = plan.in[2] - 1 - shift;
    const std::int64_t last = room < 0 ? 0 : std::min(plan.out[2], room / stride + 1);
    if (first < last) f(first, last, first * stride + shift);
  }
}

template <class T, class F>
void along(std::int64_t count, std::int64_t stride, const F& f) {
  // The common strides as constants, so that loads of several numbers can be made of them.
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) f(i, i);
  } else if (stride == 2) {
    for (std::int64_t i = 0; i < count; ++i) f(i, 2 * i);
  } else {
    for (std::int64_t i = 0; i < count; ++i) f(i, i * stride);
  }
}

/// Room for what a row of outputs is made from: a row of the plane.
template <class T>
struct RowRoom {
  std::vector<T> numbers;
  std::vector<std::int32_t> places, places_of_outputs;
  std::vector<T> shares;  // 1 / how many columns an output is the mean of

  explicit RowRoom(const PoolPlan& plan)
      : numbers(static_cast<std::size_t>(std::max(plan.in[2], plan.out[2]))),
        places(numbers.size()),
        places_of_outputs(numbers.size()),
        shares(static_cast<std::size_t>(plan.out[2])) {
    for (std::int64_t o = 0; o < plan.out[2]; ++o) {
      const std::int64_t count = plan.counts_padding ? plan.kernel[2] : plan.inside(2, o).count();
      shares[static_cast<std::size_t>(o)] = T(1) / static_cast<T>(std::max<std::int64_t>(1, count));
    }
  }
};

/// 1 / how many rows of the input an output row is the mean of.
template <class T>
T row_share(const PoolPlan& plan, std::int64_t z, std::int64_t y) {
  const std::int64_t count = plan.counts_padding
                                 ? plan.kernel[0] * plan.kernel[1]
                                 : plan.inside(0, z).count() * plan.inside(1, y).count();
  return T(1) / static_cast<T>(std::max<std::int64_t>(1, count));
}

/// One row of outputs of a plain pool: first the rows of the input become one, then its columns.
/// Numbers are looked at side by side, and once per row of windows instead of once per window.
template <class T>
void max_row(const PoolPlan& plan, const T* x, std::int64_t z, std::int64_t y, RowRoom<T>& room,
             T* result, std::int32_t* places) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const std::int64_t width = plan.in[2];
  bool is_begun = false;
  each_input_row(plan, z, y, [&](std::int64_t row) {
    const auto first = static_cast<std::int32_t>(row);
    if (is_begun) {
      return loops.larger_row(x + row, first, room.numbers.data(), room.places.data(), width);
    }
    is_begun = true;
    std::copy(x + row, x + row + width, room.numbers.begin());
    for (std::int64_t i = 0; i < width; ++i) {
      room.places[static_cast<std::size_t>(i)] = first + static_cast<std::int32_t>(i);
    }
  });
  std::fill(result, result + plan.out[2], -std::numeric_limits<T>::infinity());
  std::fill(places, places + plan.out[2], 0);
  if (!is_begun) return;
  each_column_tap(plan, [&](std::int64_t first, std::int64_t last, std::int64_t column) {
    loops.larger_taps(room.numbers.data() + column, room.places.data() + column, plan.stride[2],
                      result + first, places + first, last - first);
  });
}

template <class T>
void average_row(const PoolPlan& plan, const T* x, std::int64_t z, std::int64_t y, RowRoom<T>& room,
                 T* result) {
  T* const sums = room.numbers.data();
  std::fill(sums, sums + plan.in[2], T(0));
  each_input_row(plan, z, y, [&](std::int64_t row) {
    const T* const from = x + row;
    for (std::int64_t i = 0; i < plan.in[2]; ++i) sums[i] += from[i];
  });
  std::fill(result, result + plan.out[2], T(0));
  each_column_tap(plan, [&](std::int64_t first, std::int64_t last, std::int64_t column) {
    T* const to = result + first;
    const T* const from = sums + column;
    along<T>(last - first, plan.stride[2],
             [&](std::int64_t i, std::int64_t k) { to[i] += from[k]; });
  });
}

template <class T>
void adaptive_row(const PoolPlan& plan, const T* x, std::int64_t z, std::int64_t y, T* result,
                  std::int32_t* places) {
  for (std::int64_t o = 0; o < plan.out[2]; ++o) {
    const std::int64_t first = plan.begin(2, o), count = plan.taps(2, o);
    T total = plan.is_maximum ? -std::numeric_limits<T>::infinity() : T(0);
    std::int64_t best = 0;
    each_input_row(plan, z, y, [&](std::int64_t row) {
      const T* const from = x + row + first;
      if (!plan.is_maximum) {
        total += vector_loops<T>().sum(from, count);
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        if (!(from[i] > total)) continue;
        total = from[i];
        best = row + first + i;
      }
    });
    result[o] = total;
    if (plan.is_maximum) places[o] = static_cast<std::int32_t>(best);
  }
}

template <class T>
void pool_forward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  const std::int64_t width = plan.out[2];
  auto* const saved = real<std::int32_t>(m.saved);
  const auto pool_plane = [&](std::int64_t plane, RowRoom<T>& room) {
    const T* const x = real<T>(m.inputs[0]) + plane * plan.in_plane();
    for (std::int64_t row = 0; row < plan.out[0] * plan.out[1]; ++row) {
      const std::int64_t z = row / plan.out[1], y = row % plan.out[1];
      const std::int64_t at = plane * plan.out_plane() + row * width;
      T* const result = real<T>(m.outputs[0]) + at;
      std::int32_t* const places = saved != nullptr ? saved + at : room.places_of_outputs.data();
      if (plan.is_adaptive) {
        adaptive_row(plan, x, z, y, result, places);
      } else if (plan.is_maximum) {
        max_row(plan, x, z, y, room, result, places);
      } else {
        average_row(plan, x, z, y, room, result);
      }
      if (plan.is_maximum) continue;
      const T share = row_share<T>(plan, z, y);
      for (std::int64_t o = 0; o < width; ++o) {
        result[o] *= share * room.shares[static_cast<std::size_t>(o)];
      }
    }
  };
  workers.ranges(plan.planes, std::max<std::int64_t>(1, numbers_per_part / plan.in_plane()),
                 [&](std::int64_t begin, std::int64_t end) {
                   RowRoom<T> room(plan);
                   for (std::int64_t plane = begin; plane < end; ++plane) pool_plane(plane, room);
                 });
}

/// The row of dx that every row of the input under an output row gets.
template <class T>
void average_gradient_row(const PoolPlan& plan, std::int64_t z, std::int64_t y, const T* dy,
                          RowRoom<T>& room, T* dx) {
  T* const sums = room.numbers.data();
  std::fill(sums, sums + plan.in[2], T(0));
  const T share = row_share<T>(plan, z, y);
  const T* const shares = room.shares.data();
  if (plan.is_adaptive) {
    for (std::int64_t o = 0; o < plan.out[2]; ++o) {
      T* const to = sums + plan.begin(2, o);
      const T each = dy[o] * (share * shares[o]);
      for (std::int64_t i = 0; i < plan.taps(2, o); ++i) to[i] += each;
    }
  } else {
    each_column_tap(plan, [&](std::int64_t first, std::int64_t last, std::int64_t column) {
      T* const to = sums + column;
      along<T>(last - first, plan.stride[2], [&](std::int64_t i, std::int64_t k) {
        to[k] += dy[first + i] * (share * shares[first + i]);
      });
    });
  }
  each_input_row(plan, z, y, [&](std::int64_t row) {
    T* const to = dx + row;
    for (std::int64_t i = 0; i < plan.in[2]; ++i) to[i] += sums[i];
  });
}

template <class T>
void pool_backward(const PoolPlan& plan, const Workers& workers, const NodeMemory& m) {
  T* const gradient = real<T>(m.input_gradients[0]);
  if (gradient == nullptr) return;
  const auto* const saved = real<std::int32_t>(m.saved);
  workers.ranges(plan.planes, std::max<std::int64_t>(1, numbers_per_part / plan.in_plane()),
                 [&](std::int64_t begin, std::int64_t end) {
                   RowRoom<T> room(plan);
                   for (std::int64_t plane = begin; plane < end; ++plane) {
                     T* const dx = gradient + plane * plan.in_plane();
                     const std::int64_t at = plane * plan.out_plane();
                     const T* const dy = real<T>(m.output_gradients[0]) + at;
                     std::fill(dx, dx + plan.in_plane(), T(0));
                     if (plan.is_maximum) {
                       const std::int32_t* const places = saved + at;
                       for (std::int64_t o = 0; o < plan.out_plane(); ++o) dx[places[o]] += dy[o];
                       continue;
                     }
                     for (std::int64_t row = 0; row < plan.out[0] * plan.out[1]; ++row) {
                       average_gradient_row(plan, row / plan.out[1], row % plan.out[1],
                                            dy + row * plan.out[2], room, dx);
                     }
                   }
                 });
}

KernelsOrReason pool_kernels(PoolPlan plan, const Setting& s) {
  plan.planes = s.input()[0] * s.input()[1];
  const std::size_t missing = pool_axes - (s.input().axes() - 2);
  for (std::size_t axis = missing; axis < pool_axes; ++axis) {
    plan.in[axis] = s.input()[axis - missing + 2];
    plan.out[axis] = s.output()[axis - missing + 2];
  }
  if (plan.is_maximum && plan.in_plane() > std::numeric_limits<std::int32_t>::max()) {
    return NoKernels{"a plane of more than 2^31 places"};
  }
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    const std::int64_t saved = plan.is_maximum && s.wants(0) ? s.output().elements * 4 : 0;
    return kernels_by({[=, &workers](const NodeMemory& m) { pool_forward<T>(plan, workers, m); },
                       [=, &workers](const NodeMemory& m) { pool_backward<T>(plan, workers, m); },
                       {.saved_bytes = saved}},
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
