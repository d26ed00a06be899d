// SPDX-License-Identifier: Apache-2.0
// The way back through max pooling by comparing taps, for vector units with vectors of four
// numbers; foreach_target.h reads this file once for each kind.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/pooling/tap_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_compared_tap_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <array>
#include <cstring>
#include <type_traits>

#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::FixedTag<float, 4>;
using Bytes = hn::Repartition<std::uint8_t, Numbers>;
using Vector = hn::Vec<Numbers>;
constexpr std::int64_t lanes = 4;

// --- Windows of 3 × 3 with stride 1 around each number ----------------------------------------
// The outputs above, at and below a number whose maxima lie in its row give a sum to its column.
// All of these maxima are the same one of three neighbours, as it is the first of the largest; so
// there is one sum for each number, which goes to it or to a neighbour.

using ByteVector = hn::Vec<Bytes>;
using BitVector = hn::Vec<hn::RebindToUnsigned<Numbers>>;

/// Bytes 4 k to 4 k + 3, each four times.
template <int k>
HWY_INLINE BitVector four_times(ByteVector bytes) {
  alignas(16) static constexpr std::uint8_t places[16] = {
      4 * k,     4 * k,     4 * k,     4 * k,     4 * k + 1, 4 * k + 1, 4 * k + 1, 4 * k + 1,
      4 * k + 2, 4 * k + 2, 4 * k + 2, 4 * k + 2, 4 * k + 3, 4 * k + 3, 4 * k + 3, 4 * k + 3};
  return hn::BitCast(hn::RebindToUnsigned<Numbers>(),
                     hn::TableLookupBytes(bytes, hn::Load(Bytes(), places)));
}

/// Four vectors of numbers, step by step: a core looks at some thirty operations that wait, and
/// those of one vector after the other would wait for each other.
struct FourVectors {
  Vector a, b, c, d;

  /// The numbers whose bytes are set.
  static HWY_INLINE FourVectors where(ByteVector is_set, const float* from) {
    const Numbers n;
    const auto numbers = [&](std::int64_t v) HWY_ATTR {
      return hn::BitCast(hn::RebindToUnsigned<Numbers>(), hn::LoadU(n, from + v * lanes));
    };
    return {hn::BitCast(n, hn::And(numbers(0), four_times<0>(is_set))),
            hn::BitCast(n, hn::And(numbers(1), four_times<1>(is_set))),
            hn::BitCast(n, hn::And(numbers(2), four_times<2>(is_set))),
            hn::BitCast(n, hn::And(numbers(3), four_times<3>(is_set)))};
  }
  /// Those whose byte is this one.
  HWY_INLINE FourVectors where(const BitVector* four, std::uint8_t is) const {
    const Numbers n;
    const auto wanted = hn::Set(hn::RebindToUnsigned<Numbers>(), 0x01010101U * is);
    const auto keep = [&](Vector x, int v) HWY_ATTR {
      return hn::IfThenElseZero(hn::RebindMask(n, hn::Eq(four[v], wanted)), x);
    };
    return {keep(a, 0), keep(b, 1), keep(c, 2), keep(d, 3)};
  }
  friend HWY_INLINE FourVectors operator+(const FourVectors& x, const FourVectors& y) {
    return {hn::Add(x.a, y.a), hn::Add(x.b, y.b), hn::Add(x.c, y.c), hn::Add(x.d, y.d)};
  }
};

/// Of sixteen numbers: the sums that go to the number before each, and what each gets itself but
/// for those.
struct Around {
  FourVectors to_left, here;
};

HWY_INLINE Around spread_sixteen(const float* gradients, const std::uint8_t* taps,
                                 std::int64_t width, Vector& to_right_before) {
  const Numbers n;
  const Bytes b;
  const auto three = hn::Set(b, 3);
  const auto above = hn::Sub(hn::LoadU(b, taps - width), hn::Set(b, 6));
  const auto beside = hn::Sub(hn::LoadU(b, taps), three);
  const auto below = hn::LoadU(b, taps + width);
  const auto of_above = hn::VecFromMask(b, hn::Lt(above, three));
  const auto of_beside = hn::VecFromMask(b, hn::Lt(beside, three));
  const auto of_below = hn::VecFromMask(b, hn::Lt(below, three));
  const auto column = hn::Or(hn::Or(hn::And(above, of_above), hn::And(beside, of_beside)),
                             hn::And(below, of_below));
  const auto sums = FourVectors::where(of_above, gradients - width) +
                    FourVectors::where(of_beside, gradients) +
                    FourVectors::where(of_below, gradients + width);
  const BitVector columns[4] = {four_times<0>(column), four_times<1>(column), four_times<2>(column),
                                four_times<3>(column)};
  const auto of_column = [&](std::uint8_t which) HWY_ATTR { return sums.where(columns, which); };
  const FourVectors to_right = of_column(2);
  const FourVectors from_left{hn::CombineShiftRightBytes<12>(n, to_right.a, to_right_before),
                              hn::CombineShiftRightBytes<12>(n, to_right.b, to_right.a),
                              hn::CombineShiftRightBytes<12>(n, to_right.c, to_right.b),
                              hn::CombineShiftRightBytes<12>(n, to_right.d, to_right.c)};
  to_right_before = to_right.d;
  return {of_column(0), of_column(1) + from_left};
}

void spread_around(const float* gradients, const std::uint8_t* taps, std::int64_t width, float* dx,
                   std::int64_t count) {
  const Numbers n;
  constexpr std::int64_t at_once = 4 * lanes;
  const auto with_next = [](Vector here, Vector to_left, Vector next) HWY_ATTR {
    return hn::Add(here, hn::CombineShiftRightBytes<4>(Numbers(), next, to_left));
  };
  // Sums in front of the first number may go to it. A vector is complete when the next is there.
  auto to_right = hn::Zero(n);
  const Around front = spread_sixteen(gradients - at_once, taps - at_once, width, to_right);
  auto last_to_left = front.to_left.d, last_here = front.here.d;
  std::int64_t i = 0;
  for (; i + at_once <= count; i += at_once) {
    ask_after(gradients + i + width);
    const Around all = spread_sixteen(gradients + i, taps + i, width, to_right);
    const auto before = with_next(last_here, last_to_left, all.to_left.a);
    if (i > 0) hn::StoreU(before, n, dx + i - lanes);
    hn::StoreU(with_next(all.here.a, all.to_left.a, all.to_left.b), n, dx + i);
    hn::StoreU(with_next(all.here.b, all.to_left.b, all.to_left.c), n, dx + i + lanes);
    hn::StoreU(with_next(all.here.c, all.to_left.c, all.to_left.d), n, dx + i + 2 * lanes);
    last_to_left = all.to_left.d;
    last_here = all.here.d;
  }
  // The last vector, and those that are left.
  const Around all = spread_sixteen(gradients + i, taps + i, width, to_right);
  if (i > 0) {
    hn::StoreU(with_next(last_here, last_to_left, all.to_left.a), n, dx + i - lanes);
  }
  alignas(16) float rest[at_once];
  hn::Store(with_next(all.here.a, all.to_left.a, all.to_left.b), n, rest);
  hn::Store(with_next(all.here.b, all.to_left.b, all.to_left.c), n, rest + lanes);
  hn::Store(with_next(all.here.c, all.to_left.c, all.to_left.d), n, rest + 2 * lanes);
  const Around behind =
      spread_sixteen(gradients + i + at_once, taps + i + at_once, width, to_right);
  hn::Store(with_next(all.here.d, all.to_left.d, behind.to_left.a), n, rest + 3 * lanes);
  std::memcpy(dx + i, rest, static_cast<std::size_t>(count - i) * sizeof(float));
}

// --- Windows of 3 × 3 with stride 2 around every other number ---------------------------------

/// The taps of some vectors of outputs; nothing is read behind them.
template <int vectors>
HWY_INLINE ByteVector taps_of(const std::uint8_t* from) {
  if constexpr (vectors == 4) return hn::LoadU(Bytes(), from);
  std::uint64_t taps = 0;
  std::memcpy(&taps, from, 4 * vectors);
  return ByteVector(vreinterpretq_u8_u64(vsetq_lane_u64(taps, vdupq_n_u64(0), 0)));
}

/// The gradients of some vectors of outputs, of those whose maximum is this tap.
template <int vectors>
struct OfTap {
  Vector v[vectors];

  HWY_INLINE OfTap(const float* gradients, const std::uint8_t* taps, std::uint8_t tap) {
    const Numbers n;
    const hn::RebindToUnsigned<Numbers> bits;
    const auto is_tap =
        hn::VecFromMask(Bytes(), hn::Eq(taps_of<vectors>(taps), hn::Set(Bytes(), tap)));
    const auto keep = [&](int k, BitVector mask) HWY_ATTR {
      v[k] = hn::BitCast(n, hn::And(hn::BitCast(bits, hn::LoadU(n, gradients + k * lanes)), mask));
    };
    keep(0, four_times<0>(is_tap));
    if constexpr (vectors >= 2) keep(1, four_times<1>(is_tap));
    if constexpr (vectors == 4) {
      keep(2, four_times<2>(is_tap));
      keep(3, four_times<3>(is_tap));
    }
  }
  HWY_INLINE OfTap& operator+=(const OfTap& other) {
    for (int k = 0; k < vectors; ++k) v[k] = hn::Add(v[k], other.v[k]);
    return *this;
  }
};

/// Numbers of both take turns.
template <int vectors>
HWY_INLINE void store_turns(const OfTap<vectors>& even, const OfTap<vectors>& odd, float* to) {
  const Numbers n;
  for (int k = 0; k < vectors; ++k) {
    hn::StoreU(hn::InterleaveLower(n, even.v[k], odd.v[k]), n, to + 2 * k * lanes);
    hn::StoreU(hn::InterleaveUpper(n, even.v[k], odd.v[k]), n, to + (2 * k + 1) * lanes);
  }
}

/// Only the last ones, one to three of each, in front of a place.
HWY_INLINE void store_last_turns(const OfTap<1>& even, const OfTap<1>& odd, std::int64_t count,
                                 float* end) {
  const Numbers n;
  const auto lower = hn::InterleaveLower(n, even.v[0], odd.v[0]);
  const auto upper = hn::InterleaveUpper(n, even.v[0], odd.v[0]);
  if (count == 1) return vst1_f32(end - 2, vget_high_f32(upper.raw));
  if (count == 3) vst1_f32(end - 6, vget_high_f32(lower.raw));
  hn::StoreU(upper, n, end - 4);
}

/// Stores what outputs give to the even and the odd numbers of a row: make(i, vectors as a
/// constant, store) is called for some of them, and calls store(even, odd). No number is stored
/// twice: a core that writes on what it has just written fetches it first.
template <class Make>
HWY_INLINE void each_turns(std::int64_t outputs, float* dx, const Make& make) {
  std::int64_t i = 0;
  const auto store = [&](const auto& even, const auto& odd)
                         HWY_ATTR { store_turns(even, odd, dx + 2 * i); };
  for (; i + 4 * lanes <= outputs; i += 4 * lanes) make(i, std::integral_constant<int, 4>(), store);
  if (i + 2 * lanes <= outputs) {
    make(i, std::integral_constant<int, 2>(), store);
    i += 2 * lanes;
  }
  if (i + lanes <= outputs) {
    make(i, std::integral_constant<int, 1>(), store);
    i += lanes;
  }
  if (i == outputs) return;
  make(outputs - lanes, std::integral_constant<int, 1>(),
       [&](const auto& even, const auto& odd)
           HWY_ATTR { store_last_turns(even, odd, outputs - i, dx + 2 * outputs); });
}

void spread_around_halves(const float* gradients, const std::uint8_t* taps, std::int64_t outputs,
                          std::int64_t rows, float* dx) {
  for (std::int64_t row = 0; row < rows; ++row) {
    // The row in the middle of windows: a number in the middle of one, then one between two.
    each_turns(outputs, dx, [&](std::int64_t i, auto vectors, const auto& store) HWY_ATTR {
      using Some = OfTap<vectors()>;
      const float* const from = gradients + i;
      const std::uint8_t* const which = taps + i;
      ask_after(from + outputs);
      Some odd(from, which, 5);
      odd += Some(from + 1, which + 1, 3);
      store(Some(from, which, 4), odd);
    });
    dx += 2 * outputs;
    // The row between two rows of windows.
    each_turns(outputs, dx, [&](std::int64_t i, auto vectors, const auto& store) HWY_ATTR {
      using Some = OfTap<vectors()>;
      const float *const upper = gradients + i, *const lower = upper + outputs;
      const std::uint8_t *const above = taps + i, *const below = above + outputs;
      Some even(upper, above, 7), odd(upper, above, 8);
      even += Some(lower, below, 1);
      odd += Some(upper + 1, above + 1, 6);
      Some others(lower, below, 2);
      others += Some(lower + 1, below + 1, 0);
      odd += others;
      store(even, odd);
    });
    dx += 2 * outputs;
    gradients += outputs;
    taps += outputs;
  }
}

// --- Windows of 2 × 2 -------------------------------------------------------------------------

/// For the taps of two outputs, two bits each: which of the four numbers below them in the first
/// row of dx and in the second are theirs.
struct PairMasks {
  std::array<std::uint32_t, 4> row[2];
};

constexpr auto pair_masks = [] {
  std::array<PairMasks, 16> all{};
  for (std::uint32_t taps = 0; taps < 16; ++taps) {
    for (std::uint32_t row = 0; row < 2; ++row) {
      for (std::uint32_t place = 0; place < 4; ++place) {
        const std::uint32_t tap = place < 2 ? taps % 4 : taps / 4;
        all[taps].row[row][place] = tap == 2 * row + place % 2 ? ~0U : 0U;
      }
    }
  }
  return all;
}();

/// The taps of eight outputs, a byte each, the first in the lowest.
HWY_INLINE std::uint64_t load_taps(const std::uint8_t* taps) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, taps, sizeof eight);
  return eight;
}

/// Eight outputs.
HWY_INLINE void spread_eight_pairs(const float* gradients, const std::uint8_t* taps, float* first,
                                   float* second) {
  const Numbers d;
  const hn::RebindToUnsigned<Numbers> bits;
  std::uint64_t eight = load_taps(taps);
  eight |= eight >> 6;  // every other byte has its own tap and the next, two bits each
  for (std::int64_t pair = 0; pair < 4; ++pair) {
    const auto four = hn::LoadU(d, gradients + pair / 2 * lanes);
    const auto twice = hn::BitCast(bits, pair % 2 == 0 ? hn::InterleaveLower(d, four, four)
                                                       : hn::InterleaveUpper(d, four, four));
    const PairMasks& masks = pair_masks[(eight >> (16 * pair)) & 15];
    const auto of_row = [&](int row) HWY_ATTR {
      return hn::BitCast(d, hn::And(twice, hn::LoadU(bits, masks.row[row].data())));
    };
    hn::StoreU(of_row(0), d, first + pair * lanes);
    hn::StoreU(of_row(1), d, second + pair * lanes);
  }
}

/// Both rows of dx in turn, a line of each: rows are of whole lines.
void spread_line_pairs(const float* gradients, const std::uint8_t* taps, std::int64_t outputs,
                       std::int64_t rows, float* dx) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < outputs; i += 8) {
      spread_eight_pairs(gradients + i, taps + i, dx + 2 * i, dx + 2 * (outputs + i));
    }
    gradients += outputs;
    taps += outputs;
    dx += 4 * outputs;
  }
}

void spread_pairs(const float* gradients, const std::uint8_t* taps, std::int64_t outputs,
                  std::int64_t rows, float* dx, std::int64_t width) {
  constexpr std::int64_t line = 64 / sizeof(float);
  if (width == 2 * outputs && width % line == 0 && reinterpret_cast<std::uintptr_t>(dx) % 64 == 0) {
    return spread_line_pairs(gradients, taps, outputs, rows, dx);
  }
  for (std::int64_t row = 0; row < 2 * rows; ++row) {
    const auto first_tap = static_cast<std::uint8_t>(row % 2 * 2);
    const auto second_tap = static_cast<std::uint8_t>(first_tap + 1);
    each_turns(outputs, dx, [&](std::int64_t i, auto vectors, const auto& store) HWY_ATTR {
      using Some = OfTap<vectors()>;
      if (first_tap == 0) ask_after(gradients + i);
      store(Some(gradients + i, taps + i, first_tap), Some(gradients + i, taps + i, second_tap));
    });
    if (width > 2 * outputs) dx[2 * outputs] = 0;
    dx += width;
    if (first_tap == 0) continue;
    gradients += outputs;
    taps += outputs;
  }
}

[[maybe_unused]] const bool is_added = cpu::compiled_kernels<ComparedTapLoops>().add(
    HWY_TARGET, {.spread_pairs = spread_pairs,
                 .spread_around = spread_around,
                 .spread_around_halves = spread_around_halves});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const ComparedTapLoops* compared_tap_loops() {
  return cpu::best_kernels_if_any<ComparedTapLoops>();
}

}  // namespace strata::cpu_training
#endif
