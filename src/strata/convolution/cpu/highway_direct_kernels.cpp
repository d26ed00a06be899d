// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/cpu/per_target.hpp"

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/convolution/cpu/highway_direct_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

// Each position has two vectors of sums in registers: AVX2 and SSE have 16, the others 32.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
constexpr int most_positions = 6;
#else
constexpr int most_positions = 12;
#endif

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Vectors())); }

/// The sums of `Count` positions stay in registers over all rows and terms.
template <int Count>
HWY_INLINE void add_tile(const BlockSums& s, std::int64_t first) {
  const Vectors d;
  float* const sums = s.sums + first * 2 * lanes();
  std::int64_t position[Count];
  Vector left[Count];
  Vector right[Count];
#pragma GCC unroll 12
  for (int i = 0; i < Count; ++i) {
    position[i] = s.positions[first + i];
    left[i] = s.adds ? hn::LoadU(d, sums + 2 * i * lanes()) : hn::Zero(d);
    right[i] = s.adds ? hn::LoadU(d, sums + (2 * i + 1) * lanes()) : hn::Zero(d);
  }
  const float* factors = s.factors;
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t t = 0; t < s.terms; ++t, factors += 2 * lanes()) {
      const float* const source = s.source + r * s.row_step + s.offsets[t];
      const Vector left_factor = hn::LoadU(d, factors);
      const Vector right_factor = hn::LoadU(d, factors + lanes());
#pragma GCC unroll 12
      for (int i = 0; i < Count; ++i) {
        const Vector value = hn::Set(d, source[position[i]]);
        left[i] = hn::MulAdd(value, left_factor, left[i]);
        right[i] = hn::MulAdd(value, right_factor, right[i]);
      }
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < Count; ++i) {
    hn::StoreU(left[i], d, sums + 2 * i * lanes());
    hn::StoreU(right[i], d, sums + (2 * i + 1) * lanes());
  }
}

template <int Most>
void add_up_to(const BlockSums& s, std::int64_t first, std::int64_t count) {
  if (count == Most) return add_tile<Most>(s, first);
  if constexpr (Most > 1) add_up_to<Most - 1>(s, first, count);
}

/// In tiles of about the same size, as a small one at the end would leave registers idle.
void add_block(const BlockSums& s) {
  const std::int64_t tiles = (s.count + most_positions - 1) / most_positions;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = s.count * i / tiles;
    add_up_to<most_positions>(s, first, s.count * (i + 1) / tiles - first);
  }
}

std::int64_t channel_block() { return 2 * lanes(); }

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu::HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed =
    compiled_kernels<DirectKernels>().add(HWY_TARGET, {add_block, channel_block});
}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace strata::cpu {

void add_block(const BlockSums& sums) { best_kernels<DirectKernels>().add_block(sums); }
std::int64_t channel_block() { return best_kernels<DirectKernels>().channel_block(); }

}  // namespace strata::cpu
#endif  // HWY_ONCE
