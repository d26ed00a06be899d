// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/walk.hpp"

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

void fill_bytes_with_zero(const Workers& workers, void* to, std::int64_t bytes);

}  // namespace strata::cpu_training
