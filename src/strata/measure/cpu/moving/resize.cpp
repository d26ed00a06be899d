// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/families.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/moving/resize_by_two.hpp"
#include "strata/measure/engine/constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
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

/// The way back: which outputs a place of the input belongs to. As many for every place as for the
/// one that has most, those that are too many with weight 0.
AxisTaps transposed(const AxisTaps& taps, std::int64_t in) {
  const auto outputs = static_cast<std::int64_t>(taps.places.size()) / taps.count;
  std::vector<std::vector<std::pair<std::int64_t, double>>> of(static_cast<std::size_t>(in));
  for (std::int64_t i = 0; i < outputs * taps.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    of[static_cast<std::size_t>(taps.places[at])].emplace_back(i / taps.count, taps.weights[at]);
  }
  AxisTaps back;
  for (const auto& each : of) {
    back.count = std::max(back.count, static_cast<std::int64_t>(each.size()));
  }
  for (auto& each : of) {
    const std::int64_t own = each.empty() ? 0 : each.back().first;
    each.resize(static_cast<std::size_t>(back.count), {own, 0.0});
    for (const auto& [place, weight] : each) {
      back.places.push_back(place);
      back.weights.push_back(weight);
    }
  }
  return back;
}

/// Planes [from] become planes [to], along one axis after the other: rows along themselves first,
/// then rows are added.
template <class T>
class PlaneResize {
 public:
  PlaneResize(const std::array<std::int64_t, 3>& from, const std::array<std::int64_t, 3>& to,
              const std::array<AxisTaps, 3>& taps)
      : from_(from), to_(to), taps_(taps) {
    const AxisTaps& wide = taps[2];
    for (std::int64_t k = 0; k < wide.count; ++k) {
      for (std::int64_t o = 0; o < to[2]; ++o) {
        const auto at = static_cast<std::size_t>(o * wide.count + k);
        places_.push_back(static_cast<std::int32_t>(wide.places[at]));
        weights_.push_back(static_cast<T>(wide.weights[at]));
      }
    }
  }

  std::int64_t plane() const { return from_[0] * from_[1] * from_[2]; }
  std::int64_t result_plane() const { return to_[0] * to_[1] * to_[2]; }
  std::int64_t rows() const { return from_[0] * from_[1]; }

  /// `room` is for the rows of a plane, of the result's width.
  void run(const T* x, std::vector<T>& room, ResultStream<T>& result) const {
    const VectorLoops<T>& loops = vector_loops<T>();
    const std::int64_t width = to_[2];
    room.resize(static_cast<std::size_t>((rows() + 1) * width));
    for (std::int64_t row = 0; row < rows(); ++row) {
      loops.gather_taps(x + row * from_[2], places_.data(), weights_.data(), taps_[2].count,
                        room.data() + row * width, width);
    }
    T* const sum = room.data() + rows() * width;
    for (std::int64_t z = 0; z < to_[0]; ++z) {
      for (std::int64_t y = 0; y < to_[1]; ++y) {
        add_rows(z, y, room.data(), sum);
        result.copy(sum, width);
      }
    }
  }

 private:
  void add_rows(std::int64_t z, std::int64_t y, const T* rows, T* sum) const {
    const VectorLoops<T>& loops = vector_loops<T>();
    bool is_first = true;
    for (std::int64_t a = 0; a < taps_[0].count; ++a) {
      const auto deep = static_cast<std::size_t>(z * taps_[0].count + a);
      for (std::int64_t b = 0; b < taps_[1].count; ++b) {
        const auto high = static_cast<std::size_t>(y * taps_[1].count + b);
        const auto weight = static_cast<T>(taps_[0].weights[deep] * taps_[1].weights[high]);
        const T* const row =
            rows + (taps_[0].places[deep] * from_[1] + taps_[1].places[high]) * to_[2];
        if (std::exchange(is_first, false)) {
          loops.line(row, weight, T(0), nullptr, nullptr, sum, to_[2]);
        } else if (weight != T(0)) {
          loops.add_scaled(row, weight, sum, to_[2]);
        }
      }
    }
  }

  std::array<std::int64_t, 3> from_, to_;
  std::array<AxisTaps, 3> taps_;
  std::vector<std::int32_t> places_;  // along a row; the first tap of all, then the second
  std::vector<T> weights_;
};

template <class T>
void resize_planes(const PlaneResize<T>& resize, const Workers& workers, std::int64_t planes,
                   const T* from, T* to, bool is_beyond) {
  const std::int64_t most = std::max(resize.plane(), resize.result_plane());
  workers.ranges(planes, std::max<std::int64_t>(1, numbers_per_part / most),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<T> room;
                   ResultStream<T> result(to, begin * resize.result_plane(), is_beyond);
                   for (std::int64_t plane = begin; plane < end; ++plane) {
                     resize.run(from + plane * resize.plane(), room, result);
                   }
                 });
}

KernelsOrReason by_two_kernels(const ResizeByTwo& by_two, const Setting& s) {
  const Workers& workers = s.workers;
  return kernels_by(
      {[=, &workers](const NodeMemory& m) {
         resize_by_two(by_two, workers, real<const float>(m.inputs[0]), real<float>(m.outputs[0]));
       },
       [=, &workers](const NodeMemory& m) {
         if (m.input_gradients[0] == nullptr) return;
         resize_by_two_backward(by_two, workers, real<const float>(m.output_gradients[0]),
                                real<float>(m.input_gradients[0]));
       }},
      s);
}

}  // namespace

KernelsOrReason make_kernels(const Resize& op, const Setting& s) {
  if (s.input().shape == s.output().shape) return alias_kernels(s);
  const std::int64_t planes = s.input()[0] * s.input()[1];
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::array<AxisTaps, 3> taps, back;
  const std::size_t missing = 3 - (s.input().axes() - 2);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis >= missing) {
      in[axis] = s.input()[axis - missing + 2];
      out[axis] = s.output()[axis - missing + 2];
    }
    taps[axis] = axis_taps(op.kind, in[axis], out[axis]);
    back[axis] = transposed(taps[axis], in[axis]);
  }
  const ResizeByTwo by_two{op.kind, planes * in[0], in[1], in[2]};
  if (s.input().dtype == DType::fp32 && in[0] == out[0] && 2 * in[1] == out[1] &&
      2 * in[2] == out[2] && can_resize_by_two(by_two)) {
    return by_two_kernels(by_two, s);
  }
  return with_real(s.input().dtype, [&](auto zero) {
    using T = decltype(zero);
    const Workers& workers = s.workers;
    const PlaneResize<T> there(in, out, taps), back_again(out, in, back);
    const bool is_beyond = is_beyond_caches(s.output().bytes);
    const bool is_gradient_beyond = is_beyond_caches(s.input().bytes);
    return kernels_by({[=, &workers](const NodeMemory& m) {
                         resize_planes(there, workers, planes, real<const T>(m.inputs[0]),
                                       real<T>(m.outputs[0]), is_beyond);
                       },
                       [=, &workers](const NodeMemory& m) {
                         if (m.input_gradients[0] == nullptr) return;
                         resize_planes(back_again, workers, planes,
                                       real<const T>(m.output_gradients[0]),
                                       real<T>(m.input_gradients[0]), is_gradient_beyond);
                       }},
                      s);
  });
}

}  // namespace strata::cpu_training
