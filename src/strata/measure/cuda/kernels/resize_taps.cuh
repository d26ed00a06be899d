// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operator_kinds.hpp"
#include "strata/measure/cuda/kernels/index_map.cuh"
#include "strata/measure/engine/constants.hpp"

#include <cmath>

/// What resized numbers are made of, along one axis: forward the places of x that a result is a sum
/// of, backward the results that a place of x had a part in. Centres of pixels are aligned, edges
/// are repeated. Backward, sums are over all such results in their order instead of being added to
/// by several threads, so that they do not change from run to run.
namespace strata::cuda::train {

/// Division of what may have more than 32 bits, by an extent; the quotient has less.
struct ExtentDivisor {
  FastDivisor fast;
  double inverse = 1;

  ExtentDivisor() = default;
  explicit ExtentDivisor(std::uint32_t extent) : fast(extent), inverse(1.0 / extent) {}
  STRATA_HOST_AND_DEVICE int quotient(std::int64_t n) const {
    if (n < most_mapped) return static_cast<int>(fast.quotient(static_cast<std::uint32_t>(n)));
    // Off by one at most.
    const auto near = static_cast<std::int64_t>(static_cast<double>(n) * inverse);
    const std::int64_t rest = n - near * fast.divisor;
    return static_cast<int>(rest < 0 ? near - 1 : (rest < fast.divisor ? near : near + 1));
  }
};

struct ResizeAxis {
  int in = 1, out = 1;
  ExtentDivisor by_in, by_twice_in, by_out;
  double step = 1;  ///< from the centre of one result to that of the next

  ResizeAxis() = default;
  ResizeAxis(int in_extent, int out_extent)
      : in(in_extent),
        out(out_extent),
        by_in(static_cast<std::uint32_t>(in)),
        by_twice_in(2 * static_cast<std::uint32_t>(in)),
        by_out(static_cast<std::uint32_t>(out)),
        step(static_cast<double>(in) / out) {}
};

/// The results that place i of x may have a part in: those before `end`.
struct Reached {
  int first, end;
};

/// A place and how much it weighs; what weighs nothing is not looked at.
template <class A>
struct Tap {
  int place;
  A weight;
};

template <class A>
STRATA_HOST_AND_DEVICE A cubic_weight(A distance) {
  const A d = distance < 0 ? -distance : distance, a = A(training_constants::cubic_resize_a);
  return d <= A(1) ? ((a + A(2)) * d - (a + A(3))) * d * d + A(1)
                   : ((a * d - A(5) * a) * d + A(8) * a) * d - A(4) * a;
}

template <ResizeKind kind>
struct ResizeRule {
  static constexpr bool is_nearest = kind == ResizeKind::nearest;
  static constexpr int taps = is_nearest ? 1 : kind == ResizeKind::linear ? 2 : 4;
  /// So far from its centre a result reaches, in places of x.
  static constexpr int radius = taps / 2;

  template <class A>
  STRATA_HOST_AND_DEVICE static A centre(const ResizeAxis& axis, int o) {
    return (A(o) + A(0.5)) * A(axis.step) - A(0.5);
  }
  STRATA_HOST_AND_DEVICE static int inside(const ResizeAxis& axis, int place) {
    return place < 0 ? 0 : (place < axis.in ? place : axis.in - 1);
  }

  /// Number `k` of result `o`.
  template <class A>
  STRATA_HOST_AND_DEVICE static Tap<A> forward(const ResizeAxis& axis, int o, int k) {
    if (axis.in == axis.out) return {o, k == 0 ? A(1) : A(0)};
    if (is_nearest) return {axis.by_out.quotient(std::int64_t{o} * axis.in), A(1)};
    const A middle = centre<A>(axis, o), base = floor(middle), beyond = middle - base;
    const int offset = k + 1 - radius;
    return {inside(axis, static_cast<int>(base) + offset), weight_at(beyond - A(offset))};
  }

  STRATA_HOST_AND_DEVICE static Reached reached(const ResizeAxis& axis, int i) {
    if (axis.in == axis.out) return {i, i + 1};
    if (is_nearest) return {first_at(axis, i), first_at(axis, i + 1)};
    // Centres strictly between i − radius and i + radius, as (2o + 1)·in and odd multiples of out.
    const std::int64_t after = (2 * std::int64_t{i - radius} + 1) * axis.out - axis.in;
    const std::int64_t before = (2 * std::int64_t{i + radius} + 1) * axis.out + axis.in - 1;
    Reached range{after < 0 ? 0 : axis.by_twice_in.quotient(after) + 1,
                  axis.by_twice_in.quotient(before)};
    if (i == 0) range.first = 0;
    if (i == axis.in - 1 || range.end > axis.out) range.end = axis.out;
    return range;
  }

  /// What place i weighs in result `o`, which is one of those that it reaches.
  template <class A>
  STRATA_HOST_AND_DEVICE static A backward(const ResizeAxis& axis, int i, int o) {
    if (is_nearest || axis.in == axis.out) return A(1);
    const A middle = centre<A>(axis, o);
    if constexpr (kind == ResizeKind::linear) {
      // Between the first and the last place; beyond them all of it is the edge's.
      const A near = middle < A(0) ? A(0) : (middle < A(axis.in - 1) ? middle : A(axis.in - 1));
      const A weight = A(1) - fabs(near - A(i));
      return weight > A(0) ? weight : A(0);
    } else {
      const A base = floor(middle), beyond = middle - base;
      A weight = 0;
      for (int k = 0; k < taps; ++k) {
        const int offset = k + 1 - radius;
        if (inside(axis, static_cast<int>(base) + offset) == i)
          weight += weight_at(beyond - A(offset));
      }
      return weight;
    }
  }

 private:
  template <class A>
  STRATA_HOST_AND_DEVICE static A weight_at(A distance) {
    if constexpr (kind == ResizeKind::cubic) return cubic_weight(distance);
    return A(1) - fabs(distance);
  }
  /// The first result that is made of place i or one behind it: i·out / in, rounded up.
  STRATA_HOST_AND_DEVICE static int first_at(const ResizeAxis& axis, int i) {
    return axis.by_in.quotient(std::int64_t{i} * axis.out + axis.in - 1);
  }
};

}  // namespace strata::cuda::train
