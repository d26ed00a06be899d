// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/moving/strided_copy.hpp"

namespace strata::cpu_training {

/// A part of a tensor that is stored whole: `shape` of it, from `begin` on.
struct Box {
  Sizes whole, begin, shape;
};

/// to = 0 but for the box, which is `from`; each number is written once. Elements of 4 bytes that
/// lie side by side along the last axis of `from`.
void copy_into_zeros(const Workers& workers, const Box& box, const Placed& from, void* to);

void fill_bytes_with_zero(const Workers& workers, void* to, std::int64_t bytes);

}  // namespace strata::cpu_training
