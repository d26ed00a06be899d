// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/constants.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

/// From the number of an element to its places in several arrays that are strided in different
/// ways: what transposing, slicing, repeating and reducing have in common.
namespace strata::cuda::train {

/// Division of numbers below 2³¹ by one divisor, as a product and a shift (Granlund and
/// Montgomery).
struct FastDivisor {
  std::uint32_t divisor = 1;
  std::uint32_t factor = 1;
  std::uint32_t shift = 0;

  FastDivisor() = default;
  explicit FastDivisor(std::uint32_t by) : divisor(by) {
    while (shift < 31 && (1u << shift) < by) ++shift;
    const std::uint64_t power = std::uint64_t{1} << shift;
    factor = static_cast<std::uint32_t>((std::uint64_t{1} << 32) * (power - by) / by + 1);
  }
  STRATA_HOST_AND_DEVICE std::uint32_t quotient(std::uint32_t n) const {
#ifdef __CUDA_ARCH__
    return (__umulhi(n, factor) + n) >> shift;
#else
    return (static_cast<std::uint32_t>((std::uint64_t{n} * factor) >> 32) + n) >> shift;
#endif
  }
};

inline constexpr int most_map_axes = 8;
inline constexpr int most_operands = 8;
/// Elements that a map can number.
inline constexpr std::int64_t most_mapped = std::int64_t{1} << 31;

/// Extents, outermost first, with the stride of each operand along each.
struct StridedAxes {
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> strides;  ///< by operand, then by axis

  /// Leaves out axes of extent 1 and joins those that are one run in every operand.
  StridedAxes merged() const;
  std::int64_t elements() const;
};

/// The same as a kernel takes it.
template <int operands>
struct IndexMap {
  int axes = 0;
  FastDivisor extents[most_map_axes];
  std::int64_t strides[operands][most_map_axes] = {};

  IndexMap() = default;
  explicit IndexMap(const StridedAxes& from) : axes(static_cast<int>(from.extents.size())) {
    for (std::size_t axis = 0; axis < from.extents.size(); ++axis) {
      extents[axis] = FastDivisor(static_cast<std::uint32_t>(from.extents[axis]));
      for (std::size_t i = 0; i < from.strides.size(); ++i)
        strides[i][axis] = from.strides[i][axis];
    }
  }

  /// Adds to `places` where element `n` is in each operand.
  STRATA_HOST_AND_DEVICE void add_places(std::uint32_t n, std::int64_t* places, int count) const {
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::uint32_t rest = extents[axis].quotient(n);
      const std::int64_t at = n - rest * extents[axis].divisor;
      for (int i = 0; i < count; ++i) places[i] += at * strides[i][axis];
      n = rest;
    }
  }
};

/// Strides of a whole row-major array.
std::vector<std::int64_t> dense_strides(std::span<const std::int64_t> extents);
/// Strides with which an array of `shape` is read as one of `target`, repeated as NumPy does.
std::vector<std::int64_t> broadcast_strides(std::span<const std::int64_t> shape,
                                            std::span<const std::int64_t> target);

}  // namespace strata::cuda::train
