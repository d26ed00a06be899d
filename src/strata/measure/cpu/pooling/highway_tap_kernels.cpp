// SPDX-License-Identifier: Apache-2.0
// The way back through max pooling by tables, for vector units with vectors of four numbers;
// foreach_target.h reads this file once for each kind.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/pooling/tap_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_tap_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

// Tables are of vectors of four numbers: NEON's.
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::FixedTag<float, 4>;
using Bytes = hn::Repartition<std::uint8_t, Numbers>;
using Vector = hn::Vec<Numbers>;
constexpr std::int64_t lanes = 4;

template <class T>
using Four = std::array<T, 4>;

/// The taps of eight outputs, a byte each, the first in the lowest.
HWY_INLINE std::uint64_t load_taps(const std::uint8_t* taps) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, taps, sizeof eight);
  return eight;
}

// --- Windows of 3 × 3 with stride 2 -----------------------------------------------------------

/// Eight bytes that are nobody's tap, of which four bits are looked at.
constexpr std::uint64_t no_taps = 0x0f0f'0f0f'0f0f'0f0f;

/// Four numbers of dx from the middle of an output's window on get something of it, of the next
/// and of the one behind that: the first and the last of these share a vector of factors, whose
/// place is the taps of both, four bits each; the one between has its own.
struct ThreeFactors {
  std::array<Four<float>, 256> outer;
  std::array<Four<float>, 16> inner;
};

/// For each row of windows.
constexpr auto three_factors = [] {
  std::array<ThreeFactors, 3> all{};
  for (std::size_t row = 0; row < 3; ++row) {
    const auto factor = [row](std::size_t tap, std::size_t column) {
      return tap == 3 * row + column ? 1.0F : 0.0F;
    };
    for (std::size_t taps = 0; taps < 256; ++taps) {
      const std::size_t first = taps % 16, last = taps / 16;
      all[row].outer[taps] = {factor(first, 1), factor(first, 2), 0, factor(last, 0)};
    }
    for (std::size_t tap = 0; tap < 16; ++tap) {
      all[row].inner[tap] = {0, factor(tap, 0), factor(tap, 1), factor(tap, 2)};
    }
  }
  return all;
}();

/// A row of outputs with the factors of its row of windows.
struct FactorRow {
  const float* gradients;
  const std::uint8_t* taps;
  const ThreeFactors* factors;
};

/// What four outputs from i on, and the next, give to eight numbers. adds: to what is there.
template <bool adds>
HWY_INLINE void give(const FactorRow& row, std::int64_t i, std::uint64_t taps, Vector* to) {
  const Numbers d;
  const std::uint64_t outer = taps | taps >> 12;  // a tap and the second next, four bits each
  const auto gradients = hn::LoadU(d, row.gradients + i);
  const auto behind = hn::LoadU(d, row.gradients + i + 2);
  const Vector outer_gradients[2] = {hn::DupEven(gradients), hn::DupEven(behind)};
  const Vector inner_gradients[2] = {hn::Broadcast<1>(gradients), hn::Broadcast<3>(gradients)};
  for (int half = 0; half < 2; ++half) {
    const auto by = hn::LoadU(d, row.factors->outer[(outer >> (16 * half)) & 255].data());
    to[half] =
        adds ? hn::MulAdd(outer_gradients[half], by, to[half]) : hn::Mul(outer_gradients[half], by);
  }
  for (int half = 0; half < 2; ++half) {
    const auto by = hn::LoadU(d, row.factors->inner[(taps >> (16 * half + 8)) & 15].data());
    to[half] = hn::MulAdd(inner_gradients[half], by, to[half]);
  }
}

/// Eight numbers of dx from 2 i on. behind: bits of taps that belong to no output of the row.
template <class... Rows>
HWY_INLINE void spread_eight(std::int64_t i, std::uint64_t behind, float* to, const FactorRow& row,
                             const Rows&... others) {
  const Numbers d;
  Vector eight[2];
  give<false>(row, i, load_taps(row.taps + i) | behind, eight);
  (give<true>(others, i, load_taps(others.taps + i) | behind, eight), ...);
  hn::StoreU(eight[0], d, to);
  hn::StoreU(eight[1], d, to + lanes);
}

/// The numbers of a row of dx from the middle of the first window on; an even number of them. The
/// last eight, from 2 `last` on, overlap others: what these took from behind the row is put right.
/// also(i) is called for every four outputs.
template <class Also, class... Rows>
HWY_INLINE void spread_whole(std::int64_t outputs, std::int64_t last, float* dx, const Also& also,
                             const Rows&... rows) {
  for (std::int64_t i = 0; i < last; i += 4) {
    also(i);
    spread_eight(i, 0, dx + 2 * i, rows...);
  }
  also(last);
  spread_eight(last, no_taps << (8 * (outputs - last)), dx + 2 * last, rows...);
}

constexpr const ThreeFactors& factors_of(std::int64_t tap_row) {
  return three_factors[static_cast<std::size_t>(tap_row)];
}

// Two functions, so that each has enough registers.

/// Adds 0 times each gradient to `sums`: what is not finite makes them something else than 0.
HWY_NOINLINE Vector spread_one(const float* gradients, const std::uint8_t* taps,
                               const ThreeFactors* factors, std::int64_t outputs, std::int64_t last,
                               float* dx, Vector sums) {
  const FactorRow row{gradients, taps, factors};
  const auto check = [&](std::int64_t i) HWY_ATTR {
    sums = hn::MulAdd(hn::LoadU(Numbers(), gradients + i), hn::Zero(Numbers()), sums);
  };
  spread_whole(outputs, last, dx, check, row);
  check(outputs - lanes);  // the last output may lie behind the last four that were looked at
  return sums;
}

/// The last row of the windows above and the first of those below, which are the next in memory.
HWY_NOINLINE void spread_between(const float* gradients, const std::uint8_t* taps,
                                 std::int64_t outputs, std::int64_t last, float* dx) {
  const auto nothing = [](std::int64_t) {};
  spread_whole(outputs, last, dx, nothing, FactorRow{gradients, taps, &factors_of(2)},
               FactorRow{gradients + outputs, taps + outputs, &factors_of(0)});
}

/// What output o gives to the number of dx in a column of its window.
HWY_INLINE float given_to(std::size_t column, std::int64_t o, const FactorRow& row) {
  return row.gradients[o] * row.factors->inner[row.taps[o]][column + 1];
}

/// Whole numbers that loops need of a row.
struct WholeRow {
  std::int64_t outputs, middle, count, last;

  explicit WholeRow(const RowOfThrees& along)
      : outputs(along.outputs),
        middle(along.middle),
        count(along.width - along.middle),
        last(count / 2 - 4) {}

  /// The number before the middle of the first window, and one behind the others.
  template <class... Rows>
  HWY_INLINE void spread_ends(float* dx, const Rows&... rows) const {
    if (middle == 1) dx[0] = (given_to(0, 0, rows) + ...);
    if (count % 2 == 0) return;
    const std::int64_t o = count / 2;
    dx[middle + count - 1] = o < outputs ? (given_to(1, o, rows) + ...) : 0;
  }
};

HWY_INLINE Vector spread_and_check(const TapRow& given, const RowOfThrees& along, float* dx,
                                   Vector sums) {
  const WholeRow whole(along);
  const FactorRow row{given.gradients, given.taps, &factors_of(given.tap_row)};
  whole.spread_ends(dx, row);
  return spread_one(row.gradients, row.taps, row.factors, whole.outputs, whole.last,
                    dx + whole.middle, sums);
}

void spread_row(const TapRow& row, const RowOfThrees& along, float* dx) {
  spread_and_check(row, along, dx, hn::Zero(Numbers()));
}

bool spread_row_pairs(const float* gradients, const std::uint8_t* taps, std::int64_t pairs,
                      const RowOfThrees& along, float* dx) {
  const Numbers d;
  const WholeRow whole(along);
  const std::int64_t outputs = along.outputs, width = along.width;
  auto sums = hn::Zero(d);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    sums = spread_and_check({gradients, taps, 1}, along, dx, sums);
    dx += width;
    spread_between(gradients, taps, outputs, whole.last, dx + whole.middle);
    whole.spread_ends(dx, FactorRow{gradients, taps, &factors_of(2)},
                      FactorRow{gradients + outputs, taps + outputs, &factors_of(0)});
    dx += width;
    gradients += outputs;
    taps += outputs;
  }
  // The last row, and what is looked at behind it.
  for (std::int64_t i = 0; i < outputs + TapLoops::looked_at_outside; i += lanes) {
    sums = hn::MulAdd(hn::LoadU(d, gradients + i), hn::Zero(d), sums);
  }
  return hn::AllTrue(d, hn::Eq(sums, hn::Zero(d)));
}

// --- Windows of 3 × 3 with stride 1 -----------------------------------------------------------

/// Four numbers of dx get something of six outputs. Those that lie three apart reach other ones of
/// the four, and share a vector of factors, whose place is the taps of both.
struct NextFactors {
  std::array<Four<float>, 256> pair[3];
};

/// For each row of windows.
constexpr auto next_factors = [] {
  std::array<NextFactors, 3> all{};
  for (std::size_t row = 0; row < 3; ++row) {
    const auto factor = [row](std::size_t tap, std::size_t column) {
      return tap == 3 * row + column ? 1.0F : 0.0F;
    };
    for (std::size_t taps = 0; taps < 256; ++taps) {
      const std::size_t first = taps % 16, last = taps / 16;
      auto& pair = all[row].pair;
      pair[0][taps] = {factor(first, 2), factor(last, 0), factor(last, 1), factor(last, 2)};
      pair[1][taps] = {factor(first, 1), factor(first, 2), factor(last, 0), factor(last, 1)};
      pair[2][taps] = {factor(first, 0), factor(first, 1), factor(first, 2), factor(last, 0)};
    }
  }
  return all;
}();

/// Which of four gradients each number gets, of pairs of outputs, as places of bytes.
template <int a, int b, int c, int d>
HWY_INLINE Vector in_places(Vector gradients) {
  const hn::Repartition<std::uint8_t, Numbers> bytes;
  constexpr auto byte = [](int place, int k) { return static_cast<std::uint8_t>(4 * place + k); };
  alignas(16) static constexpr std::uint8_t places[16] = {
      byte(a, 0), byte(a, 1), byte(a, 2), byte(a, 3), byte(b, 0), byte(b, 1),
      byte(b, 2), byte(b, 3), byte(c, 0), byte(c, 1), byte(c, 2), byte(c, 3),
      byte(d, 0), byte(d, 1), byte(d, 2), byte(d, 3)};
  return hn::TableLookupBytes(gradients, hn::BitCast(Numbers(), hn::Load(bytes, places)));
}

/// What a row of outputs gives to four numbers; `gradients` and `taps` are those of the output one
/// before the one whose window's middle is the first of them.
template <int tap_row>
HWY_INLINE Vector give_next(const float* gradients, const std::uint8_t* taps,
                            std::uint64_t outside) {
  const Numbers d;
  std::uint64_t pairs = load_taps(taps) | outside;
  pairs |= pairs >> 20;  // a tap and the third next, four bits each
  constexpr const NextFactors& factors = next_factors[tap_row];
  const auto by = [&](int pair) HWY_ATTR {
    return hn::LoadU(d, factors.pair[pair][(pairs >> (8 * pair)) & 255].data());
  };
  auto sum = hn::Mul(in_places<0, 3, 3, 3>(hn::LoadU(d, gradients)), by(0));
  sum = hn::MulAdd(in_places<0, 0, 3, 3>(hn::LoadU(d, gradients + 1)), by(1), sum);
  return hn::MulAdd(in_places<0, 0, 0, 3>(hn::LoadU(d, gradients + 2)), by(2), sum);
}

/// Three rows of outputs, by the row of their windows.
struct NextRows {
  const float* gradients[3];
  const std::uint8_t* taps[3];

  HWY_INLINE Vector at(std::int64_t i, std::uint64_t outside) const {
    // Three sums, none of which waits for another.
    const auto first = give_next<0>(gradients[0] + i, taps[0] + i, outside);
    const auto second = give_next<1>(gradients[1] + i, taps[1] + i, outside);
    return hn::Add(hn::Add(first, second), give_next<2>(gradients[2] + i, taps[2] + i, outside));
  }
};

bool spread_next_rows(const TapRow* given, const RowOfThrees& along, std::int64_t rows, float* dx) {
  const Numbers d;
  // Output o + middle is the first that reaches number o + 2.
  const std::int64_t before = 1 + along.middle, outputs = along.outputs, width = along.width;
  NextRows of;
  for (int k = 0; k < 3; ++k) {
    of.gradients[k] = given[k].gradients - before;
    of.taps[k] = given[k].taps - before;
  }
  const std::int64_t last = width - lanes;
  const std::uint64_t in_front = no_taps >> (8 * (8 - before));
  const std::uint64_t behind = no_taps << (8 * (outputs + before - last));
  auto sums = hn::Zero(d);
  const auto check = [&](std::int64_t i) HWY_ATTR {
    sums = hn::MulAdd(hn::LoadU(d, of.gradients[1] + i), hn::Zero(d), sums);
  };
  for (std::int64_t row = 0; row < rows; ++row, dx += width) {
    check(0);
    hn::StoreU(of.at(0, in_front), d, dx);
    for (std::int64_t i = lanes; i < last; i += lanes) {
      check(i);
      hn::StoreU(of.at(i, 0), d, dx + i);
    }
    check(last);
    check(last + lanes);
    hn::StoreU(of.at(last, behind), d, dx + last);
    for (int k = 0; k < 3; ++k) {
      of.gradients[k] += outputs;
      of.taps[k] += outputs;
    }
  }
  return hn::AllTrue(d, hn::Eq(sums, hn::Zero(d)));
}

[[maybe_unused]] const bool is_added =
    cpu::compiled_kernels<TapLoops>().add(HWY_TARGET, {.spread_row = spread_row,
                                                       .spread_row_pairs = spread_row_pairs,
                                                       .spread_next_rows = spread_next_rows});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const TapLoops* tap_loops() { return cpu::best_kernels_if_any<TapLoops>(); }

}  // namespace strata::cpu_training
#endif
