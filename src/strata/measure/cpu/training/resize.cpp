// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/families.hpp"
#include "strata/measure/training/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Which places along one axis make an output, and how much each weighs; `count` of them for every
/// output.
struct AxisTaps {
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
AxisTaps axis_taps(ResizeKind kind, std::int64_t in, std::int64_t out) {
  AxisTaps taps;
  const bool is_single = in == out || kind == ResizeKind::nearest;
  taps.count = is_single ? 1 : kind == ResizeKind::linear ? 2 : 4;
  for (std::int64_t o = 0; o < out; ++o) {
    if (is_single) {
      taps.places.push_back(in == out ? o : o * in / out);
      taps.weights.push_back(1);
      continue;
    }
    const double centre =
        (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
    const double floor = std::floor(centre), beyond = centre - floor;
    for (std::int64_t k = 0; k < taps.count; ++k) {
      const std::int64_t offset = kind == ResizeKind::linear ? k : k - 1;
      taps.places.push_back(
          std::clamp<std::int64_t>(static_cast<std::int64_t>(floor) + offset, 0, in - 1));
      const double distance = beyond - static_cast<double>(offset);
      taps.weights.push_back(kind == ResizeKind::linear ? 1 - std::fabs(distance)
                                                        : cubic_weight(distance));
    }
  }
  return taps;
}

struct ResizePlan {
  std::int64_t planes = 0;
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<AxisTaps, 3> taps;

  std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};

/// Calls f(place in the plane of X, weight) for every tap of output (z, y, x).
template <class F>
void each_tap(const ResizePlan& plan, std::int64_t z, std::int64_t y, std::int64_t x, const F& f) {
  const auto at = [](const AxisTaps& taps, std::int64_t o, std::int64_t k) {
    return static_cast<std::size_t>(o * taps.count + k);
  };
  for (std::int64_t a = 0; a < plan.taps[0].count; ++a) {
    const std::size_t deep = at(plan.taps[0], z, a);
    for (std::int64_t b = 0; b < plan.taps[1].count; ++b) {
      const std::size_t high = at(plan.taps[1], y, b);
      const std::int64_t row =
          (plan.taps[0].places[deep] * plan.in[1] + plan.taps[1].places[high]) * plan.in[2];
      const double weight = plan.taps[0].weights[deep] * plan.taps[1].weights[high];
      for (std::int64_t c = 0; c < plan.taps[2].count; ++c) {
        const std::size_t wide = at(plan.taps[2], x, c);
        f(row + plan.taps[2].places[wide], weight * plan.taps[2].weights[wide]);
      }
    }
  }
}

template <class T>
void resize(const ResizePlan& plan, const Workers& workers, T* in, T* out, bool is_backward) {
  workers.ranges(plan.planes, std::max<std::int64_t>(1, numbers_per_part / plan.out_plane()),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t plane = begin; plane < end; ++plane) {
                     T* const x = in + plane * plan.in_plane();
                     T* y = out + plane * plan.out_plane();
                     if (is_backward) std::fill(x, x + plan.in_plane(), T(0));
                     for (std::int64_t row = 0; row < plan.out[0] * plan.out[1]; ++row) {
                       for (std::int64_t o = 0; o < plan.out[2]; ++o, ++y) {
                         T sum = 0;
                         each_tap(plan, row / plan.out[1], row % plan.out[1], o,
                                  [&](std::int64_t place, double weight) {
                                    if (is_backward) {
                                      x[place] += *y * static_cast<T>(weight);
                                    } else {
                                      sum += x[place] * static_cast<T>(weight);
                                    }
                                  });
                         if (!is_backward) *y = sum;
                       }
                     }
                   }
                 });
}

}  // namespace

KernelsOrReason make_kernels(const Resize& op, const Setting& s) {
  if (s.input().shape == s.output().shape) return alias_kernels(s);
  ResizePlan plan{.planes = s.input()[0] * s.input()[1]};
  const std::size_t missing = 3 - (s.input().axes() - 2);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis >= missing) {
      plan.in[axis] = s.input()[axis - missing + 2];
      plan.out[axis] = s.output()[axis - missing + 2];
    }
    plan.taps[axis] = axis_taps(op.kind, plan.in[axis], plan.out[axis]);
  }
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    return kernels_by({[=, &workers](const NodeMemory& m) {
                         resize(plan, workers, real<T>(m.inputs[0]), real<T>(m.outputs[0]), false);
                       },
                       [=, &workers](const NodeMemory& m) {
                         if (m.input_gradients[0] == nullptr) return;
                         resize(plan, workers, real<T>(m.input_gradients[0]),
                                real<T>(m.output_gradients[0]), true);
                       }},
                      s);
  });
}

}  // namespace strata::cpu_training
