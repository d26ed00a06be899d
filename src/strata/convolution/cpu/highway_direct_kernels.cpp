// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/kernel_tables.hpp"
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

// AVX2 and SSE have 16 registers, the others 32: a block of 4 channels × 3 vectors, or 8 × 3.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr std::int64_t widest_block = 4;
constexpr int most_pixel_sources = 5;  // × 2 vectors of gradients, for 2 pixels at once
constexpr int pixels_at_once = 2;
constexpr int most_lane_pixels = 6;  // × 2 vectors of channels
#else
constexpr std::int64_t widest_block = 8;
constexpr int most_pixel_sources = 10;
constexpr int pixels_at_once = 4;
constexpr int most_lane_pixels = 14;
#endif

constexpr std::int64_t channels_ahead = 16, lane_channels_ahead = 4;

/// What one tap of each channel of a block is multiplied by.
template <int Block>
class BlockWeights {
 public:
  explicit HWY_INLINE BlockWeights(const float* from) : from_(from) {
    if constexpr (in_vectors) {
      for (int i = 0; i < Block / 4; ++i) four_[i] = hn::LoadU(Vectors(), from + 4 * i);
    }
  }
  HWY_INLINE Vector of(int channel) const {
#if HWY_ARCH_ARM_A64
    if constexpr (in_vectors) {
      return hn::Set(Vectors(), four_[channel / 4].raw[channel % 4]);
    }
#endif
    return hn::Set(Vectors(), from_[channel]);
  }

 private:
  // NEON multiplies by any number of a vector. One by one, they would need a register each, which
  // are not left beside the sums.
  static constexpr bool in_vectors = HWY_ARCH_ARM_A64 != 0 && Block % 4 == 0;

  const float* from_;
  Vector four_[in_vectors ? Block / 4 : 1];
};

/// `Block` channels × `Width` vectors of pixels, held in registers over all channels and taps.
template <int Block, int Width>
HWY_INLINE void sum_tile(const TapSums& s, std::int64_t pixel, Vector (&sum)[Block][Width]) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (int r = 0; r < Block; ++r) {
    const float* const result = s.result + r * s.result_step + pixel;
    for (int v = 0; v < Width; ++v) {
      sum[r][v] = s.adds ? hn::LoadU(d, result + v * lanes) : hn::Zero(d);
    }
  }
  const float* weights = s.weights;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const float* const plane = s.source + c * s.channel_step + pixel;
    // Channels lie pages apart, which processors do not foresee.
    const float* const ahead = plane + channels_ahead * s.channel_step;
    for (int v = 0; v < Width; ++v) __builtin_prefetch(ahead + v * lanes);
    for (std::int64_t t = 0; t < s.taps; ++t) {
      const float* const source = plane + s.offsets[t];
      Vector values[Width];
      for (int v = 0; v < Width; ++v) values[v] = hn::LoadU(d, source + v * lanes);
      const BlockWeights<Block> of_tap(weights);
      for (int r = 0; r < Block; ++r) {
        const Vector weight = of_tap.of(r);
        for (int v = 0; v < Width; ++v) sum[r][v] = hn::MulAdd(weight, values[v], sum[r][v]);
      }
      weights += Block;
    }
  }
}

template <int Block, int Width>
HWY_INLINE void store_tile(const TapSums& s, std::int64_t pixel,
                           const Vector (&sum)[Block][Width]) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (int r = 0; r < Block; ++r) {
    float* const result = s.result + r * s.result_step + pixel;
    for (int v = 0; v < Width; ++v) hn::StoreU(sum[r][v], d, result + v * lanes);
  }
}

template <int Block, int Width>
HWY_INLINE void add_tile(const TapSums& s, std::int64_t pixel) {
  Vector sum[Block][Width];
  sum_tile(s, pixel, sum);
  store_tile(s, pixel, sum);
}

// Elsewhere a masked store reads the whole vector and writes it back: a number behind the pixels
// that another thread writes meanwhile would be lost.
#define STRATA_HAS_MASKED_STORES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

/// The last pixels, fewer than a vector: nothing beyond them is touched.
#if STRATA_HAS_MASKED_STORES
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
#else
template <int Block>
void add_rest(const TapSums& s, std::int64_t first) {
  for (int r = 0; r < Block; ++r) {
    for (std::int64_t pixel = first; pixel < s.pixels; ++pixel) {
      float& result = s.result[r * s.result_step + pixel];
      float sum = s.adds ? result : 0;
      const float* weights = s.weights + r;
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const float* const plane = s.source + c * s.channel_step + pixel;
        for (std::int64_t t = 0; t < s.taps; ++t, weights += Block) {
          sum += *weights * plane[s.offsets[t]];
        }
      }
      result = sum;
    }
  }
}
#endif

/// `Width` vectors at once as long as there are as many, then fewer.
template <int Block, int Width>
void add_tiles(const TapSums& s) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Vectors()));
  // Where there are no masks, what is left at the end takes some pixels before it along: summed
  // before they are, so that nothing is added twice, and stored after they are, the same again.
  const bool takes_some_along =
      !STRATA_HAS_MASKED_STORES && s.pixels % lanes != 0 && s.pixels >= lanes;
  Vector last[Block][1];
  if (takes_some_along) sum_tile(s, s.pixels - lanes, last);
  std::int64_t pixel = 0;
  for (; pixel + Width * lanes <= s.pixels; pixel += Width * lanes) {
    add_tile<Block, Width>(s, pixel);
  }
  for (; pixel + 2 * lanes <= s.pixels; pixel += 2 * lanes) add_tile<Block, 2>(s, pixel);
  if (pixel + lanes <= s.pixels) {
    add_tile<Block, 1>(s, pixel);
    pixel += lanes;
  }
  if (takes_some_along) return store_tile(s, s.pixels - lanes, last);
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
  // Unrolled, as sums that a loop picks out of an array would be in memory all the time.
#pragma GCC unroll 8
  for (int i = 0; i < Gradients; ++i) {
#pragma GCC unroll 8
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

constexpr int gradient_vectors = 2;
std::int64_t pixel_block() {
  return gradient_vectors * static_cast<std::int64_t>(hn::Lanes(Vectors()));
}

/// Sums of `Pixels` pixels, one behind the other: indices that are known when functions are put
/// into their callers keep all of them in registers, whatever taps leave out.
template <int Pixels>
struct TileOfSums {
  /// Written down, as gcc compiles what it adds itself for no target in particular.
  TileOfSums() {}

  Vector sum[Pixels][gradient_vectors];

  template <int P = 0>
  HWY_INLINE void load(const LaneSums& s) {
    if constexpr (P < Pixels) {
      const Vectors d;
      const float* const from = s.result + P * s.result_step;
      sum[P][0] = s.adds ? hn::Load(d, from) : hn::Zero(d);
      sum[P][1] = s.adds ? hn::Load(d, from + hn::Lanes(d)) : hn::Zero(d);
      load<P + 1>(s);
    }
  }
  template <int P = 0>
  HWY_INLINE void store(const LaneSums& s) const {
    if constexpr (P < Pixels) {
      const Vectors d;
      float* const to = s.result + P * s.result_step;
      hn::Store(sum[P][0], d, to);
      hn::Store(sum[P][1], d, to + hn::Lanes(d));
      store<P + 1>(s);
    }
  }
  /// One tap for the pixels from `P` to `Last`, which are neighbours where `Step` is 1.
  template <int Step, int P, int Last>
  HWY_INLINE void add(const float* source, std::int64_t step, Vector low, Vector high) {
#if HWY_ARCH_ARM_A64
    if constexpr (Step == 1 && Last - P >= 4) return add_fours<P, Last>(source, low, high);
#endif
    if constexpr (P < Last) {
      add_one<P>(hn::Set(Vectors(), source[P * step]), low, high);
      add<Step == 1 ? 0 : Step, P + 1, Last>(source, step, low, high);
    }
  }

 private:
  template <int P>
  HWY_INLINE void add_one(Vector value, Vector low, Vector high) {
    sum[P][0] = hn::MulAdd(value, low, sum[P][0]);
    sum[P][1] = hn::MulAdd(value, high, sum[P][1]);
  }
#if HWY_ARCH_ARM_A64
  /// Neighbours from vectors of four, of which the last takes some again where fewer are left: NEON
  /// multiplies by any number of a vector.
  template <int P, int Last>
  HWY_INLINE void add_fours(const float* source, Vector low, Vector high) {
    if constexpr (P < Last) {
      constexpr int first = P + 4 <= Last ? P : Last - 4;
      add_from<P, first>(hn::LoadU(Vectors(), source + first), low, high);
      add_fours<first + 4, Last>(source, low, high);
    }
  }
  /// The pixels from `P` on of the four from `First` on.
  template <int P, int First>
  HWY_INLINE void add_from(Vector four, Vector low, Vector high) {
    if constexpr (P < First + 4) {
      add_one<P>(hn::Set(Vectors(), four.raw[P - First]), low, high);
      add_from<P + 1, First>(four, low, high);
    }
  }
#endif
};

/// A tile over all channels and taps. Steps in use are known here; zero: any other.
template <int Pixels, int Step>
void add_lane_tile(const LaneSums& s) {
  const Vectors d;
  const std::int64_t step = Step == 0 ? s.pixel_step : Step;
  TileOfSums<Pixels> tile;
  tile.load(s);
  const LaneTap* const end = s.taps + s.tap_count;
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const float* const plane = s.source + c * s.channel_step;
    const float* const panel = s.weights + c * s.weight_step;
    for (const LaneTap* tap = s.taps; tap != end; ++tap) {
      const float* const from = plane + tap->offset;
      __builtin_prefetch(from + lane_channels_ahead * s.channel_step);
      const Vector low = hn::Load(d, panel + tap->weights);
      const Vector high = hn::Load(d, panel + tap->weights + hn::Lanes(d));
      switch (tap->outside) {
        case 0: tile.template add<Step, 0, Pixels>(from, step, low, high); break;
        case 1: tile.template add<Step, 1, Pixels>(from, step, low, high); break;
        case -1: tile.template add<Step, 0, Pixels - 1>(from, step, low, high); break;
        case 2: tile.template add<Step, 2, Pixels>(from, step, low, high); break;
        default: tile.template add<Step, 0, Pixels - 2>(from, step, low, high); break;
      }
    }
  }
  tile.store(s);
}

template <int Pixels>
void add_lane_tiles(const LaneSums& s) {
  if constexpr (Pixels > 1) {
    if (s.pixels < Pixels) return add_lane_tiles<Pixels - 1>(s);
  }
  if (s.pixel_step == 1) return add_lane_tile<Pixels, 1>(s);
  if (s.pixel_step == 2) return add_lane_tile<Pixels, 2>(s);
  add_lane_tile<Pixels, 0>(s);
}

std::int64_t lane_pixels() { return most_lane_pixels; }

/// `Pixels` pixels of every source: its offset is fetched once for all of them.
template <int Sources, int Pixels>
HWY_INLINE void add_pixels(const float* gradient, const float* source, std::int64_t pixel_step,
                           const std::int64_t* offsets, Vector (&sum)[Sources][gradient_vectors]) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector g[Pixels][gradient_vectors];
  const float* pixel[Pixels];
  for (int i = 0; i < Pixels; ++i) {
    pixel[i] = source + i * pixel_step;
    for (int v = 0; v < gradient_vectors; ++v)
      g[i][v] = hn::Load(d, gradient + (i * gradient_vectors + v) * lanes);
  }
#if HWY_ARCH_ARM_A64
  // Pixel after pixel: sums that wait for each other fill the queue of these cores.
#pragma GCC unroll 4
  for (int i = 0; i < Pixels; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < Sources; ++j) {
      const Vector value = hn::Set(d, pixel[i][offsets[j]]);
      for (int v = 0; v < gradient_vectors; ++v) sum[j][v] = hn::MulAdd(value, g[i][v], sum[j][v]);
    }
  }
#else
#pragma GCC unroll 16
  for (int j = 0; j < Sources; ++j) {
    const std::int64_t offset = offsets[j];
#pragma GCC unroll 4
    for (int i = 0; i < Pixels; ++i) {
      const Vector value = hn::Set(d, pixel[i][offset]);
      for (int v = 0; v < gradient_vectors; ++v) sum[j][v] = hn::MulAdd(value, g[i][v], sum[j][v]);
    }
  }
#endif
}

template <int Sources>
void multiply_pixel_tile(const PixelProducts& p, std::int64_t first) {
  const Vectors d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  float* const result = p.result + first * gradient_vectors * lanes;
  Vector sum[Sources][gradient_vectors];
  // Unrolled, as above.
#pragma GCC unroll 16
  for (int j = 0; j < Sources; ++j) {
    for (int v = 0; v < gradient_vectors; ++v) {
      sum[j][v] = p.adds ? hn::Load(d, result + (j * gradient_vectors + v) * lanes) : hn::Zero(d);
    }
  }
  const std::int64_t* const offsets = p.source_offsets + first;
  // What the tile after the next begins and ends with: channels lie pages apart.
  const std::int64_t later = std::min<std::int64_t>(2 * Sources, p.sources - first - 1);
  const std::int64_t last = std::min<std::int64_t>(3 * Sources, p.sources - first) - 1;
  const float* gradient = p.gradient;
  const std::int64_t step = gradient_vectors * lanes;
  for (std::int64_t y = 0; y < p.rows; ++y) {
    const float* source = p.source + y * p.source_row_step;
    std::int64_t left = p.columns;
    for (; left >= pixels_at_once; left -= pixels_at_once) {
      __builtin_prefetch(source + offsets[later]);
      __builtin_prefetch(source + offsets[last]);
      add_pixels<Sources, pixels_at_once>(gradient, source, p.source_pixel_step, offsets, sum);
      gradient += pixels_at_once * step;
      source += pixels_at_once * p.source_pixel_step;
    }
    for (; left > 0; --left) {
      add_pixels<Sources, 1>(gradient, source, p.source_pixel_step, offsets, sum);
      gradient += step;
      source += p.source_pixel_step;
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < Sources; ++j) {
    for (int v = 0; v < gradient_vectors; ++v)
      hn::Store(sum[j][v], d, result + (j * gradient_vectors + v) * lanes);
  }
}

template <int Sources>
void multiply_pixel_tiles(const PixelProducts& p, std::int64_t first, std::int64_t count) {
  if constexpr (Sources > 1) {
    if (count < Sources) return multiply_pixel_tiles<Sources - 1>(p, first, count);
  }
  multiply_pixel_tile<Sources>(p, first);
}

/// In tiles of about the same size: a small one at the end would leave registers idle.
void multiply_pixels(const PixelProducts& p) {
  const std::int64_t tiles = (p.sources + most_pixel_sources - 1) / most_pixel_sources;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t first = p.sources * i / tiles;
    multiply_pixel_tiles<most_pixel_sources>(p, first, p.sources * (i + 1) / tiles - first);
  }
}

#if HWY_TARGET == HWY_SCALAR                                    // has no vectors of four
constexpr std::int64_t turned_at_once = std::int64_t{1} << 62;  // more than there are: none
void turn_four(const TurnedMatrix&, std::int64_t, std::int64_t) {}
#else
constexpr std::int64_t turned_at_once = 4;

/// Four rows of four numbers become four columns.
HWY_INLINE void turn_four(const TurnedMatrix& m, std::int64_t y, std::int64_t x) {
  const hn::FixedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const float* const from = m.from + y * m.from_step + x;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + m.from_step);
  const auto c = hn::LoadU(d, from + 2 * m.from_step);
  const auto e = hn::LoadU(d, from + 3 * m.from_step);
  const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto low_ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto high_ce = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  float* const to = m.to + x * m.to_step + y;
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low_ab, low_ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low_ab, low_ce)), d, to + m.to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high_ab, high_ce)), d, to + 2 * m.to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high_ab, high_ce)), d, to + 3 * m.to_step);
}
#endif

/// In strips of four columns: what is written stays in the first cache until its line is full.
void turn(const TurnedMatrix& m) {
  const auto turn_plainly = [&](std::int64_t y_from, std::int64_t y_to, std::int64_t x_from,
                                std::int64_t x_to) {
    for (std::int64_t x = x_from; x < x_to; ++x) {
      for (std::int64_t y = y_from; y < y_to; ++y)
        m.to[x * m.to_step + y] = m.from[y * m.from_step + x];
    }
  };
  const std::int64_t height = m.height / turned_at_once * turned_at_once;
  const std::int64_t width = m.width / turned_at_once * turned_at_once;
  for (std::int64_t x = 0; x < width; x += turned_at_once) {
    for (std::int64_t y = 0; y < height; y += turned_at_once) turn_four(m, y, x);
  }
  turn_plainly(height, m.height, 0, width);
  turn_plainly(0, m.height, width, m.width);
}

std::int64_t block_width() { return widest_block; }

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

namespace strata::cpu::HWY_NAMESPACE {
namespace {
[[maybe_unused]] const bool is_listed = compiled_kernels<DirectKernels>().add(
    HWY_TARGET, {add_taps, add_lane_tiles<most_lane_pixels>, multiply_taps, multiply_pixels, turn,
                 block_width, pixel_block, lane_pixels});
}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE

#if HWY_ONCE
namespace strata::cpu {

void add_taps(const TapSums& sums) { best_kernels<DirectKernels>().add_taps(sums); }
void add_lanes(const LaneSums& sums) { best_kernels<DirectKernels>().add_lanes(sums); }
void multiply_taps(const TapProducts& products) {
  best_kernels<DirectKernels>().multiply_taps(products);
}
void multiply_pixels(const PixelProducts& products) {
  best_kernels<DirectKernels>().multiply_pixels(products);
}
void turn(const TurnedMatrix& matrix) { best_kernels<DirectKernels>().turn(matrix); }
std::int64_t pixel_block() { return best_kernels<DirectKernels>().pixel_block(); }
std::int64_t lane_pixels() { return best_kernels<DirectKernels>().lane_pixels(); }
std::int64_t widest_channel_block() { return best_kernels<DirectKernels>().block_width(); }

}  // namespace strata::cpu
#endif  // HWY_ONCE
