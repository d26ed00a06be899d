// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/convolution/kernel_tables.hpp"
#include "strata/measure/cpu/per_target.hpp"

// Vectors stand in arrays here, which those whose size only the CPU knows cannot; and every target
// costs seconds of compilation.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/convolution/highway_direct_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

// AVX2 and SSE have 16 registers, the others 32: a block of 4 channels × 3 vectors, or 8 × 3.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr std::int64_t widest_block = 4;
#else
constexpr std::int64_t widest_block = 8;
#endif

/// `Block` channels × `Width` vectors of pixels, held in registers over all channels and taps.
template <int Block, int Width>
HWY_INLINE void add_tile(const TapSums& s, std::int64_t pixel) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sum[Block][Width];
  for (int r = 0; r < Block; ++r) {
    const float* const result = s.result + r * s.result_step + pixel;
    for (int v = 0; v < Width; ++v) {
      sum[r][v] = s.adds ? hn::LoadU(d, result + v * lanes) : hn::Zero(d);
    }
  }
  const float* weights = s.weights;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const float* const plane = s.source + c * s.channel_step + pixel;
    for (std::int64_t t = 0; t < s.taps; ++t) {
      const float* const source = plane + s.offsets[t];
      Vector values[Width];
      for (int v = 0; v < Width; ++v) values[v] = hn::LoadU(d, source + v * lanes);
      for (int r = 0; r < Block; ++r) {
        const Vector weight = hn::Set(d, weights[r]);
        for (int v = 0; v < Width; ++v) sum[r][v] = hn::MulAdd(weight, values[v], sum[r][v]);
      }
      weights += Block;
    }
  }
  for (int r = 0; r < Block; ++r) {
    float* const result = s.result + r * s.result_step + pixel;
    for (int v = 0; v < Width; ++v) hn::StoreU(sum[r][v], d, result + v * lanes);
  }
}

/// The last pixels, fewer than a vector: nothing beyond them is touched.
template <int Block>
void add_rest(const TapSums& s, std::int64_t pixel) {
  const Vectors d;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(s.pixels - pixel));
  Vector sum[Block];
  for (int r = 0; r < Block; ++r) {
    sum[r] = s.adds ? hn::MaskedLoad(mask, d, s.result + r * s.result_step + pixel) : hn::Zero(d);
  }
  const float* weights = s.weights;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const float* const plane = s.source + c * s.channel_step + pixel;
    for (std::int64_t t = 0; t < s.taps; ++t, weights += Block) {
      const Vector value = hn::MaskedLoad(mask, d, plane + s.offsets[t]);
      for (int r = 0; r < Block; ++r) {
        sum[r] = hn::MulAdd(hn::Set(d, weights[r]), value, sum[r]);
      }
    }
  }
  for (int r = 0; r < Block; ++r) {
    hn::BlendedStore(sum[r], mask, d, s.result + r * s.result_step + pixel);
  }
}

/// `Width` vectors at once as long as there are as many, then fewer.
template <int Block, int Width>
void add_tiles(const TapSums& s) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Vectors()));
  std::int64_t pixel = 0;
  for (; pixel + Width * lanes <= s.pixels; pixel += Width * lanes) {
    add_tile<Block, Width>(s, pixel);
  }
  for (; pixel + 2 * lanes <= s.pixels; pixel += 2 * lanes) add_tile<Block, 2>(s, pixel);
  if (pixel + lanes <= s.pixels) {
    add_tile<Block, 1>(s, pixel);
    pixel += lanes;
  }
  if (pixel < s.pixels) add_rest<Block>(s, pixel);
}

void add_taps(const TapSums& s) {
  switch (s.block) {
    case 8: return add_tiles<8, 3>(s);
    case 4: return add_tiles < 4, widest_block == 4 ? 3 : 6 > (s);
    case 2: return add_tiles<2, 6>(s);
    default: return add_tiles<1, 8>(s);
  }
}

template <int Gradients, int Sources>
void multiply_tile(const TapProducts& p) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sum[Gradients][Sources];
  for (auto& row : sum) {
    for (Vector& one : row) one = hn::Zero(d);
  }
  const float* source[Sources];
  for (std::int64_t n = 0; n < p.images; ++n) {
    const float* const gradient = p.gradient + n * p.gradient_image_step;
    for (int j = 0; j < Sources; ++j) {
      source[j] = p.source + n * p.source_image_step + p.source_offsets[j];
    }
    for (std::int64_t pixel = 0; pixel < p.pixels; pixel += lanes) {
      Vector g[Gradients];
      for (int i = 0; i < Gradients; ++i) {
        g[i] = hn::LoadU(d, gradient + i * p.gradient_step + pixel);
      }
      for (int j = 0; j < Sources; ++j) {
        const Vector x = hn::LoadU(d, source[j] + pixel);
        for (int i = 0; i < Gradients; ++i) sum[i][j] = hn::MulAdd(g[i], x, sum[i][j]);
      }
    }
  }
  for (int i = 0; i < Gradients; ++i) {
    for (int j = 0; j < Sources; ++j) {
      p.result[i * Sources + j] = hn::GetLane(hn::SumOfLanes(d, sum[i][j]));
    }
  }
}

template <int Gradients>
void multiply_sources(const TapProducts& p) {
  switch (p.sources) {
    case 6: return multiply_tile<Gradients, 6>(p);
    case 5: return multiply_tile<Gradients, 5>(p);
    case 4: return multiply_tile<Gradients, 4>(p);
    case 3: return multiply_tile<Gradients, 3>(p);
    case 2: return multiply_tile<Gradients, 2>(p);
    default: return multiply_tile<Gradients, 1>(p);
  }
}

void multiply_taps(const TapProducts& p) {
  switch (p.gradients) {
    case 4: return multiply_sources<4>(p);
    case 3: return multiply_sources<3>(p);
    case 2: return multiply_sources<2>(p);
    default: return multiply_sources<1>(p);
  }
}

std::int64_t block_width() { return widest_block; }

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu::HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed =
    compiled_kernels<DirectKernels>().add(HWY_TARGET, {add_taps, multiply_taps, block_width});
}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace strata::cpu {

void add_taps(const TapSums& sums) { best_kernels<DirectKernels>().add_taps(sums); }
void multiply_taps(const TapProducts& products) {
  best_kernels<DirectKernels>().multiply_taps(products);
}
std::int64_t widest_channel_block() { return best_kernels<DirectKernels>().block_width(); }

}  // namespace strata::cpu
#endif  // HWY_ONCE
