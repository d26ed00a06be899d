// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/result_stream.hpp"

/// Planes of floats that become half as wide and half as high, each number from 2 × 2: average
/// pooling of pairs, and the way back of doubling the nearest.
namespace strata::cpu_training {

/// The next `rows` rows of `width` results, no more than ResultStream takes at once: factor · the
/// sums of 2 × 2 numbers of x. Where there are layout_loops().
void sum_pairs(const float* x, float factor, std::int64_t width, std::int64_t rows,
               ResultStream<float>& result);

}  // namespace strata::cpu_training
