// SPDX-License-Identifier: Apache-2.0
// Pooling row by row for vector units with vectors of four numbers; foreach_target.h reads this
// file once for each kind.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/loops/read_lines.hpp"
#include "strata/measure/cpu/pooling/row_pool_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_row_pool_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <type_traits>

// A comparison gives a vector here, and the larger of two numbers is none where one of them is
// none: both are NEON's.
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<float>;
using Whole = hn::RebindToSigned<Numbers>;
using Halves = hn::Repartition<std::uint16_t, Numbers>;
using Bytes = hn::Repartition<std::uint8_t, Numbers>;
using Vector = hn::Vec<Numbers>;
using WholeVector = hn::Vec<Whole>;
using ByteVector = hn::Vec<Bytes>;

constexpr std::int64_t lanes = hn::MaxLanes(Numbers());

/// Calls work(i, vectors as a constant) for pieces of four, two and one vectors. Only what is no
/// whole vector is taken with some before it: a core that writes on what it has just written
/// fetches it first.
template <class Work>
HWY_INLINE void each_piece(std::int64_t count, const Work& work) {
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) work(i, std::integral_constant<int, 4>());
  if (i + 2 * lanes <= count) {
    work(i, std::integral_constant<int, 2>());
    i += 2 * lanes;
  }
  for (; i < count; i += lanes) {
    work(std::min(i, count - lanes), std::integral_constant<int, 1>());
  }
}

/// What is not a number stays, other than with Highway's.
HWY_INLINE Vector larger(Vector a, Vector b) { return Vector(vmaxq_f32(a.raw, b.raw)); }

/// Of neighbours: those of the first vector, then those of the second.
HWY_INLINE Vector larger_of_pairs(Vector a, Vector b) { return Vector(vpmaxq_f32(a.raw, b.raw)); }

HWY_INLINE WholeVector is_larger(Vector a, Vector b) {
  return hn::BitCast(Whole(), hn::VecFromMask(Numbers(), hn::Gt(a, b)));
}

/// The lowest byte of each, from the lowest byte of the result on.
template <int vectors>
HWY_INLINE ByteVector lowest_bytes(const WholeVector* whole) {
  const Halves h;
  const Bytes b;
  const auto halves = [&](int v, int next) HWY_ATTR {
    return hn::BitCast(b, hn::ConcatEven(h, hn::BitCast(h, whole[next]), hn::BitCast(h, whole[v])));
  };
  const auto first = halves(0, vectors == 1 ? 0 : 1);
  return hn::ConcatEven(b, vectors == 4 ? halves(vectors - 2, vectors - 1) : first, first);
}

template <int vectors>
HWY_INLINE ByteVector load_bytes(const std::uint8_t* from) {
  if constexpr (vectors == 4) return hn::LoadU(Bytes(), from);
  std::uint64_t bytes = 0;
  __builtin_memcpy(&bytes, from, 4 * vectors);
  return ByteVector(vreinterpretq_u8_u64(vsetq_lane_u64(bytes, vdupq_n_u64(0), 0)));
}

template <int vectors>
HWY_INLINE void store_bytes(ByteVector bytes, std::uint8_t* to) {
  if constexpr (vectors == 4) return hn::StoreU(bytes, Bytes(), to);
  const std::uint64_t lowest = vgetq_lane_u64(vreinterpretq_u64_u8(bytes.raw), 0);
  __builtin_memcpy(to, &lowest, 4 * vectors);
}

/// The taps of neighbouring windows, tap by tap.
template <int taps, int stride, int vectors>
struct Windows {
  Vector tap[3][vectors];

  HWY_INLINE explicit Windows(const float* from) {
    const Numbers d;
    if constexpr (stride == 1) {
      for (int k = 0; k < taps; ++k) {
        for (int v = 0; v < vectors; ++v) tap[k][v] = hn::LoadU(d, from + v * lanes + k);
      }
      return;
    }
    for (int v = 0; v < vectors; ++v) {
      const auto low = hn::LoadU(d, from + 2 * v * lanes);
      const auto high = hn::LoadU(d, from + (2 * v + 1) * lanes);
      tap[0][v] = hn::ConcatEven(d, high, low);
      tap[1][v] = hn::ConcatOdd(d, high, low);
    }
    if constexpr (taps == 3) {
      for (int v = 0; v < vectors; ++v) {
        const auto next =
            v + 1 < vectors ? tap[0][v + 1] : hn::LoadU(d, from + 2 * vectors * lanes);
        tap[2][v] = hn::CombineShiftRightBytes<sizeof(float)>(d, next, tap[0][v]);
      }
    }
  }
};

/// Calls work(taps, stride) as constants.
template <class Work>
HWY_INLINE void with_windows(const RowWindows& windows, const Work& work) {
  using One = std::integral_constant<int, 1>;
  using Two = std::integral_constant<int, 2>;
  using Three = std::integral_constant<int, 3>;
  if (windows.taps == 2) return windows.stride == 1 ? work(Two(), One()) : work(Two(), Two());
  windows.stride == 1 ? work(Three(), One()) : work(Three(), Two());
}

/// The first tap of neighbouring windows, the larger of it and the second, and the third.
template <int taps, int stride, int vectors>
struct LargerOfWindows {
  Vector first[vectors], of_two[vectors], third[vectors];

  HWY_INLINE explicit LargerOfWindows(const float* from) {
    const Numbers d;
    if constexpr (stride == 1) {
      const Windows<taps, stride, vectors> of(from);
      for (int v = 0; v < vectors; ++v) {
        first[v] = of.tap[0][v];
        of_two[v] = larger(of.tap[0][v], of.tap[1][v]);
        third[v] = of.tap[2][v];
      }
      return;
    }
    for (int v = 0; v < vectors; ++v) {
      const auto low = hn::LoadU(d, from + 2 * v * lanes);
      const auto high = hn::LoadU(d, from + (2 * v + 1) * lanes);
      first[v] = hn::ConcatEven(d, high, low);
      of_two[v] = larger_of_pairs(low, high);
    }
    if constexpr (taps == 3) {
      for (int v = 0; v < vectors; ++v) {
        const auto next = v + 1 < vectors ? first[v + 1] : hn::LoadU(d, from + 2 * vectors * lanes);
        third[v] = hn::CombineShiftRightBytes<sizeof(float)>(d, next, first[v]);
      }
    }
  }
};

template <int taps, int stride>
void largest_in_windows(const float* x, LargestOfRow to, std::int64_t count) {
  each_piece(count, [&](std::int64_t i, auto vectors) HWY_ATTR {
    for (int line = 0; line < stride * vectors() / 4; ++line) ask_after(x + i * stride + 16 * line);
    const LargerOfWindows<taps, stride, vectors()> of(x + i * stride);
    WholeVector before[vectors()];
    for (int v = 0; v < vectors(); ++v) {
      const auto most = taps == 2 ? of.of_two[v] : larger(of.of_two[v], of.third[v]);
      before[v] = is_larger(most, of.first[v]);
      if (taps == 3) before[v] = hn::Add(before[v], is_larger(most, of.of_two[v]));
      hn::StoreU(most, Numbers(), to.most + i + v * lanes);
    }
    store_bytes<vectors()>(lowest_bytes<vectors()>(before), to.before + i);
  });
}

void largest_along(const float* x, std::int64_t x_row, const RowWindows& windows,
                   const LargestOfRow& to, std::int64_t to_row, std::int64_t count,
                   std::int64_t rows) {
  with_windows(windows, [&](auto taps, auto stride) {
    LargestOfRow next = to;
    for (std::int64_t row = 0; row < rows; ++row) {
      largest_in_windows<taps(), stride()>(x + row * x_row, next, count);
      next.most += to_row;
      next.before += to_row;
    }
  });
}

void larger_of_two(const float* x, std::int64_t x_row, std::uint8_t first_tap,
                   const LargestOfRow& to, std::int64_t to_row, std::int64_t rows) {
  const LargestOfRow place = to;
  for (std::int64_t row = 0; row < rows; ++row) {
    const float first = x[row * x_row], second = x[row * x_row + 1];
    // What is not a number stays.
    place.most[row * to_row] = vget_lane_f32(vmax_f32(vdup_n_f32(first), vdup_n_f32(second)), 0);
    place.before[row * to_row] =
        static_cast<std::uint8_t>(-(first_tap + static_cast<int>(second > first)));
  }
}

template <int vectors>
HWY_INLINE Vector largest_of_all(const Vector* some) {
  const auto of_two = larger(some[0], some[vectors > 1 ? 1 : 0]);
  return vectors <= 2 ? of_two : larger(of_two, larger(some[vectors - 2], some[vectors - 1]));
}

template <int rows, bool has_taps>
bool largest_of_rows(const RowOfWindows* of, float* most, std::uint8_t* which, std::int64_t count,
                     std::int64_t step, std::int64_t times) {
  const Numbers d;
  const Bytes b;
  // Bytes that are written might be anything, so what is read again and again is copied first.
  const float* numbers[rows];
  const std::uint8_t* before[rows];
  ByteVector first_tap[rows];
  for (int row = 0; row < rows; ++row) {
    numbers[row] = of[row].row.most;
    before[row] = of[row].row.before;
    first_tap[row] = hn::Set(b, of[row].first_tap);
  }
  auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto piece = [&](std::int64_t i, auto vectors) HWY_ATTR {
    // Step by step, and nothing is stored before all is read: of one vector after the other, each
    // operation would wait for the one before it.
    Vector first[vectors()], of_two[vectors()], of_all[vectors()];
    const auto load = [&](int row, int v)
                          HWY_ATTR { return hn::LoadU(d, numbers[row] + i + v * lanes); };
    for (int v = 0; v < vectors(); ++v) of_all[v] = of_two[v] = first[v] = load(0, v);
    if constexpr (rows > 1) {
      for (int v = 0; v < vectors(); ++v) of_all[v] = of_two[v] = larger(first[v], load(1, v));
    }
    if constexpr (rows > 2) {
      for (int v = 0; v < vectors(); ++v) of_all[v] = larger(of_two[v], load(2, v));
    }
    none = larger(none, largest_of_all<vectors()>(of_all));
    if constexpr (has_taps) {
      const auto taps = [&](int row) HWY_ATTR {
        return hn::Sub(first_tap[row], load_bytes<vectors()>(before[row] + i));
      };
      auto tap = taps(0);
      WholeVector is_other[vectors()];
      if constexpr (rows > 1) {
        for (int v = 0; v < vectors(); ++v) is_other[v] = is_larger(of_all[v], first[v]);
        tap = hn::IfThenElse(hn::MaskFromVec(lowest_bytes<vectors()>(is_other)), taps(1), tap);
      }
      if constexpr (rows > 2) {
        for (int v = 0; v < vectors(); ++v) is_other[v] = is_larger(of_all[v], of_two[v]);
        tap = hn::IfThenElse(hn::MaskFromVec(lowest_bytes<vectors()>(is_other)), taps(2), tap);
      }
      store_bytes<vectors()>(tap, which + i);
    }
    for (int v = 0; v < vectors(); ++v) hn::StoreU(of_all[v], d, most + i + v * lanes);
  };
  for (std::int64_t time = 0; time < times; ++time) {
    each_piece(count, piece);
    for (int row = 0; row < rows; ++row) {
      numbers[row] += step;
      before[row] += step;
    }
    most += count;
    if (has_taps) which += count;
  }
  return !hn::AllFalse(d, hn::IsNaN(none));
}

template <bool has_taps>
bool largest_of_some(const RowOfWindows* rows, std::int64_t row_count, float* most,
                     std::uint8_t* which, std::int64_t count, std::int64_t step,
                     std::int64_t times) {
  return (row_count == 1   ? largest_of_rows<1, has_taps>
          : row_count == 2 ? largest_of_rows<2, has_taps>
                           : largest_of_rows<3, has_taps>)(rows, most, which, count, step, times);
}

bool largest_of(const RowOfWindows* rows, std::int64_t row_count, float* most, std::uint8_t* which,
                std::int64_t count, std::int64_t step, std::int64_t times) {
  return (which != nullptr ? largest_of_some<true> : largest_of_some<false>)(rows, row_count, most,
                                                                             which, count, step,
                                                                             times);
}

template <int taps, int stride>
void sum_in_windows(const float* x, float* sums, std::int64_t count) {
  each_piece(count, [&](std::int64_t i, auto vectors) HWY_ATTR {
    const Windows<taps, stride, vectors()> of(x + i * stride);
    for (int v = 0; v < vectors(); ++v) {
      auto sum = hn::Add(of.tap[0][v], of.tap[1][v]);
      if (taps == 3) sum = hn::Add(sum, of.tap[2][v]);
      hn::StoreU(sum, Numbers(), sums + i + v * lanes);
    }
  });
}

void sum_along(const float* x, std::int64_t x_row, const RowWindows& windows, float* sums,
               std::int64_t sums_row, std::int64_t count, std::int64_t rows) {
  with_windows(windows, [&](auto taps, auto stride) {
    for (std::int64_t row = 0; row < rows; ++row) {
      sum_in_windows<taps(), stride()>(x + row * x_row, sums + row * sums_row, count);
    }
  });
}

template <int rows, bool has_shares>
void sum_rows(const float* const* given, float share, const float* shares, float* y,
              std::int64_t count, std::int64_t step, std::int64_t times) {
  const Numbers d;
  const auto of_row = hn::Set(d, share);
  const float* of[rows];
  for (int row = 0; row < rows; ++row) of[row] = given[row];
  const auto piece = [&](std::int64_t i, auto vectors) HWY_ATTR {
    for (int v = 0; v < vectors(); ++v) {
      const std::int64_t at = i + v * lanes;
      auto sum = hn::LoadU(d, of[0] + at);
      for (int row = 1; row < rows; ++row) sum = hn::Add(sum, hn::LoadU(d, of[row] + at));
      if (has_shares) sum = hn::Mul(sum, hn::Mul(of_row, hn::LoadU(d, shares + at)));
      hn::StoreU(sum, d, y + at);
    }
  };
  for (std::int64_t time = 0; time < times; ++time, y += count) {
    each_piece(count, piece);
    for (int row = 0; row < rows; ++row) of[row] += step;
  }
}

template <bool has_shares>
void sum_some(const float* const* rows, std::int64_t row_count, float share, const float* shares,
              float* y, std::int64_t count, std::int64_t step, std::int64_t times) {
  (row_count == 1   ? sum_rows<1, has_shares>
   : row_count == 2 ? sum_rows<2, has_shares>
                    : sum_rows<3, has_shares>)(rows, share, shares, y, count, step, times);
}

void sum_of(const float* const* rows, std::int64_t row_count, float share, const float* shares,
            float* y, std::int64_t count, std::int64_t step, std::int64_t times) {
  (shares != nullptr ? sum_some<true> : sum_some<false>)(rows, row_count, share, shares, y, count,
                                                         step, times);
}

template <bool has_taps>
bool largest_of_pair_rows(const float* x, std::int64_t x_row, float* most, std::uint8_t* which,
                          std::int64_t count, std::int64_t rows) {
  const Numbers d;
  auto none = hn::Set(d, -std::numeric_limits<float>::infinity());
  for (std::int64_t row = 0; row < rows; ++row) {
    read_lines(x, 2 * count);
    each_piece(count, [&](std::int64_t i, auto vectors) HWY_ATTR {
      WholeVector is_lower[vectors()], is_odd[vectors()];
      for (int v = 0; v < vectors(); ++v) {
        const std::int64_t at = i + v * lanes;
        ask_after(x + 4 * at);  // of both rows, in the order of memory
        const float *const upper = x + 2 * at, *const lower = upper + x_row;
        const auto a = hn::LoadU(d, upper), b = hn::LoadU(d, upper + lanes);
        const auto e = hn::LoadU(d, lower), f = hn::LoadU(d, lower + lanes);
        const auto of_upper = larger_of_pairs(a, b);
        const auto of_all = larger(of_upper, larger_of_pairs(e, f));
        none = larger(none, of_all);
        hn::StoreU(of_all, d, most + at);
        if (!has_taps) continue;
        // Of equals the first: the lower row, or the second of a pair, only if the other is less.
        is_lower[v] = is_larger(of_all, of_upper);
        const auto even = hn::IfThenElse(hn::MaskFromVec(hn::BitCast(d, is_lower[v])),
                                         hn::ConcatEven(d, f, e), hn::ConcatEven(d, b, a));
        is_odd[v] = is_larger(of_all, even);
      }
      if (!has_taps) return;
      const auto two_or_none = hn::And(lowest_bytes<vectors()>(is_lower), hn::Set(Bytes(), 2));
      store_bytes<vectors()>(hn::Sub(two_or_none, lowest_bytes<vectors()>(is_odd)), which + i);
    });
    x += 2 * x_row;
    most += count;
    if (has_taps) which += count;
  }
  return !hn::AllFalse(d, hn::IsNaN(none));
}

bool largest_of_pairs(const float* x, std::int64_t x_row, float* most, std::uint8_t* which,
                      std::int64_t count, std::int64_t rows) {
  return (which != nullptr ? largest_of_pair_rows<true>
                           : largest_of_pair_rows<false>)(x, x_row, most, which, count, rows);
}

void sum_of_pairs(const float* x, float factor, float* y, std::int64_t count, std::int64_t rows) {
  const Numbers d;
  const auto by = hn::Set(d, factor);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      const std::int64_t at = std::min(i, count - lanes);
      ask_after(x + 4 * at);  // of both rows, in the order of memory
      const float *const upper = x + 2 * at, *const lower = upper + 2 * count;
      const auto low = hn::Add(hn::LoadU(d, upper), hn::LoadU(d, lower));
      const auto high = hn::Add(hn::LoadU(d, upper + lanes), hn::LoadU(d, lower + lanes));
      const auto sum = Vector(vpaddq_f32(low.raw, high.raw));
      hn::StoreU(hn::Mul(by, sum), d, y + at);
    }
    x += 4 * count;
    y += count;
  }
}

[[maybe_unused]] const bool is_added =
    cpu::compiled_kernels<RowPoolLoops>().add(HWY_TARGET, {.largest_along = largest_along,
                                                           .larger_of_two = larger_of_two,
                                                           .largest_of = largest_of,
                                                           .sum_along = sum_along,
                                                           .sum_of = sum_of,
                                                           .largest_of_pairs = largest_of_pairs,
                                                           .sum_of_pairs = sum_of_pairs});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const RowPoolLoops* row_pool_loops() { return cpu::best_kernels_if_any<RowPoolLoops>(); }

}  // namespace strata::cpu_training
#endif
