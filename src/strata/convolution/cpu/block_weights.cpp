// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/block_weights.hpp"

#include "strata/convolution/cpu/direct_kernels.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

constexpr std::int64_t cache_line = 16;

/// Source channels lie side by side, each row of the block somewhere else.
void turn_rows(const BlockWeights& w, float* to) {
  const std::int64_t width = w.sources * w.taps;
  constexpr std::int64_t at_once = 4 * cache_line;
  for (std::int64_t x = 0; x < width; x += at_once) {
    // More rows than processors foresee: the next stretch of each is asked for.
    for (std::int64_t r = 0; r < w.block; ++r) {
      const float* const next = w.from + r * w.step_result + x + at_once;
      for (std::int64_t k = 0; k < at_once; k += cache_line) __builtin_prefetch(next + k);
    }
    turn({.from = w.from + x,
          .from_step = w.step_result,
          .height = w.block,
          .width = std::min(at_once, width - x),
          .to = to + x * w.block,
          .to_step = w.block});
  }
}

/// The block's result channels lie side by side, each source channel somewhere else.
void turn_strips(const BlockWeights& w, float* to) {
  constexpr std::int64_t channels_ahead = 4;  // far enough for the third cache
  const std::int64_t strip = w.block * w.taps;
  for (std::int64_t c = 0; c < w.sources; ++c) {
    const float* const from = w.from + c * w.step_source;
    const float* const later = from + channels_ahead * w.step_source;
    for (std::int64_t k = 0; k < strip; k += cache_line) __builtin_prefetch(later + k);
    turn({.from = from,
          .from_step = w.step_result,
          .height = w.block,
          .width = w.taps,
          .to = to + c * strip,
          .to_step = w.block});
  }
}

}  // namespace

void pack_block_weights(const BlockWeights& w, float* to) {
  if (w.valid == w.block) return w.step_source == w.taps ? turn_rows(w, to) : turn_strips(w, to);
  for (std::int64_t c = 0; c < w.sources; ++c) {
    for (std::int64_t t = 0; t < w.taps; ++t) {
      for (std::int64_t r = 0; r < w.block; ++r) {
        *to++ = r < w.valid ? w.from[r * w.step_result + c * w.step_source + t] : 0;
      }
    }
  }
}

}  // namespace strata::cpu
