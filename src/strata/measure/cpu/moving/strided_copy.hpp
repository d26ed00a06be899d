// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/walk.hpp"

namespace strata::cpu_training {

/// A tensor, or a part of one, as it lies in memory; strides in elements.
struct Placed {
  void* numbers = nullptr;
  Sizes strides;
  std::int64_t offset = 0;
};

/// to = from, number by number of the shape. No two places of `to` may be the same.
void copy_strided(const Workers& workers, std::int64_t element_bytes, const Sizes& shape,
                  const Placed& from, const Placed& to);

/// Planes of rows of pairs become four planes each, as space to depth by two has them: wide is
/// [batch, channels, height, 2, width, 2], deep [batch, 2, 2, channels, height, width], of elements
/// of 4 bytes.
struct PairPlanes {
  std::int64_t batch = 0, channels = 0, height = 0, width = 0;
};
bool can_move_pairs(const PairPlanes& planes);
void split_into_planes(const Workers& workers, const PairPlanes& planes, const void* wide,
                       void* deep);
void join_planes(const Workers& workers, const PairPlanes& planes, const void* deep, void* wide);

}  // namespace strata::cpu_training
