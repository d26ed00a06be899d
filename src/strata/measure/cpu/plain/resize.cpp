// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/operators.hpp"
#include "strata/measure/cpu/plain/loops.hpp"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace strata::cpu_training::plain {
namespace {

/// The places along one axis that make each output, and their weights: `count` of them per output.
struct AxisWeights {
  std::int64_t count = 1;
  std::vector<std::int64_t> places;
  std::vector<double> weights;
};

double cubic_weight(double distance) {
  constexpr double a = training_constants::cubic_resize_a;
  const double d = std::fabs(distance);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

/// Centres of pixels are aligned, edges are repeated.
AxisWeights axis_weights(ResizeKind kind, std::int64_t in, std::int64_t out) {
  AxisWeights axis;
  const bool is_single = in == out || kind == ResizeKind::nearest;
  axis.count = is_single ? 1 : kind == ResizeKind::linear ? 2 : 4;
  for (std::int64_t o = 0; o < out; ++o) {
    if (is_single) {
      axis.places.push_back(o * in / out);
      axis.weights.push_back(1);
      continue;
    }
    const double centre =
        (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    const double floor = std::floor(centre);
    for (std::int64_t k = 0; k < axis.count; ++k) {
      const std::int64_t offset = kind == ResizeKind::linear ? k : k - 1;
      axis.places.push_back(
          std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + offset, 0, in - 1));
      const double distance = centre - floor - static_cast<double>(offset);
      axis.weights.push_back(kind == ResizeKind::linear ? 1 - std::fabs(distance)
                                                        : cubic_weight(distance));
    }
  }
  return axis;
}

/// Planes of three axes; missing ones come first and have extent 1.
struct PlaneResize {
  std::int64_t planes = 0;
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<AxisWeights, 3> axes;

  PlaneResize(ResizeKind kind, const NodeContext& context)
      : planes(context.input()[0] * context.input()[1]) {
    const std::size_t missing = 3 - (context.input().axes() - 2);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (axis >= missing) {
        in[axis] = context.input()[axis - missing + 2];
        out[axis] = context.output()[axis - missing + 2];
      }
      axes[axis] = axis_weights(kind, in[axis], out[axis]);
    }
  }

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }

  /// Calls f(place in the input's plane, weight) for what makes an output.
  template <class F>
  void for_each_source(std::int64_t output, const F& f) const {
    const std::array<std::int64_t, 3> at{output / out[2] / out[1], output / out[2] % out[1],
                                         output % out[2]};
    const auto source = [&](std::size_t axis, std::int64_t k) {
      return static_cast<std::size_t>(at[axis] * axes[axis].count + k);
    };
    for (std::int64_t a = 0; a < axes[0].count; ++a) {
      for (std::int64_t b = 0; b < axes[1].count; ++b) {
        for (std::int64_t c = 0; c < axes[2].count; ++c) {
          const std::size_t z = source(0, a), y = source(1, b), x = source(2, c);
          f((axes[0].places[z] * in[1] + axes[1].places[y]) * in[2] + axes[2].places[x],
            axes[0].weights[z] * axes[1].weights[y] * axes[2].weights[x]);
        }
      }
    }
  }
};

template <class T>
void resize_forward(const PlaneResize& r, const T* x, T* y) {
  parallel_for(r.planes, r.out_plane(), [&](std::int64_t plane) {
    const T* const from = x + plane * r.in_plane();
    for (std::int64_t o = 0; o < r.out_plane(); ++o) {
      T sum = 0;
      r.for_each_source(o, [&](std::int64_t place, double weight) {
        sum += static_cast<T>(weight) * from[place];
      });
      y[plane * r.out_plane() + o] = sum;
    }
  });
}

template <class T>
void resize_backward(const PlaneResize& r, const T* dy, T* dx) {
  parallel_for(r.planes, r.out_plane(), [&](std::int64_t plane) {
    T* const to = dx + plane * r.in_plane();
    std::fill_n(to, r.in_plane(), T(0));
    for (std::int64_t o = 0; o < r.out_plane(); ++o) {
      const T slope = dy[plane * r.out_plane() + o];
      r.for_each_source(o, [&](std::int64_t place, double weight) {
        to[place] += static_cast<T>(weight) * slope;
      });
    }
  });
}

}  // namespace

KernelPairOrReason make_kernels(const Resize& op, const NodeContext& context) {
  if (context.input().shape == context.output().shape) return copy_kernels(context);
  const PlaneResize resize(op.kind, context);
  return with_real(context.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    return KernelPair{.forward =
                          [=](const NodeMemory& m) {
                            resize_forward(resize, numbers<const T>(m.inputs[0]),
                                           numbers<T>(m.outputs[0]));
                          },
                      .backward =
                          [=](const NodeMemory& m) {
                            T* const dx = numbers<T>(m.input_gradients[0]);
                            if (dx == nullptr) return;
                            resize_backward(resize, numbers<const T>(m.output_gradients[0]), dx);
                          }};
  });
}

}  // namespace strata::cpu_training::plain
