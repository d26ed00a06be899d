// SPDX-License-Identifier: Apache-2.0
// Averages over windows of 3 × 3 for vector units with vectors of four numbers; foreach_target.h
// reads this file once for each kind.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/pooling/three_mean_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_three_mean_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<float>;
using Vector = hn::Vec<Numbers>;

constexpr std::int64_t lanes = hn::MaxLanes(Numbers());

/// Stores so many numbers (up to four) of a vector, none of them twice.
HWY_INLINE void store_some(Vector v, float* to, std::int64_t count) {
  const Numbers d;
  if (count >= lanes) return hn::StoreU(v, d, to);
  if (count % 2 == 1) to[count - 1] = count == 1 ? hn::GetLane(v) : vgetq_lane_f32(v.raw, 2);
  if (count >= 2) hn::StoreU(hn::LowerHalf(v), hn::Half<Numbers>(), to);
}

/// Columns of three rows, added up.
template <bool scales_first>
struct ColumnsOfThrees {
  const float *above, *row, *below, *factors;
  std::int64_t width;

  HWY_INLINE Vector at(std::int64_t i) const {
    const Numbers d;
    const auto sum =
        hn::Add(hn::Add(hn::LoadU(d, above + i), hn::LoadU(d, row + i)), hn::LoadU(d, below + i));
    return scales_first ? hn::Mul(sum, hn::LoadU(d, factors + i)) : sum;
  }
  /// The same where they end: `rest` of them are inside.
  HWY_INLINE Vector at_end(std::int64_t i, hn::Mask<Numbers> rest) const {
    if (i >= width) return hn::Zero(Numbers());
    return hn::IfThenElseZero(rest, at(i));
  }
};

/// Sums of three neighbours, of which the first lies `pad` before the one that is in its place in
/// `here`.
template <int pad>
HWY_INLINE Vector sum_of_neighbours(Vector last, Vector here, Vector next) {
  const Numbers d;
  const auto moved = [&](auto by) HWY_ATTR {
    if constexpr (by() == 0) return here;
    if constexpr (by() < 0) return hn::CombineShiftRightBytes<16 + 4 * by()>(d, here, last);
    if constexpr (by() > 0) return hn::CombineShiftRightBytes<4 * by()>(d, next, here);
  };
  return hn::Add(hn::Add(moved(std::integral_constant<int, -pad>()),
                         moved(std::integral_constant<int, 1 - pad>())),
                 moved(std::integral_constant<int, 2 - pad>()));
}

template <int pad, bool scales_first>
HWY_INLINE void sum_row_of_threes(const ColumnsOfThrees<scales_first>& columns,
                                  hn::Mask<Numbers> rest, float* y, std::int64_t count) {
  const Numbers d;
  const auto sum = [&](std::int64_t i, Vector last, Vector here, Vector next) HWY_ATTR {
    const auto total = sum_of_neighbours<pad>(last, here, next);
    return scales_first ? total : hn::Mul(total, hn::LoadU(d, columns.factors + i));
  };
  auto last = hn::Zero(d), here = columns.at(0);
  std::int64_t i = 0;
  // Two vectors a turn: they change their places then, and none is moved.
  for (const std::int64_t end = std::min(columns.width - 3 * lanes, count - 2 * lanes); i <= end;
       i += 2 * lanes) {
    const auto next = columns.at(i + lanes);
    hn::StoreU(sum(i, last, here, next), d, y + i);
    last = next;
    const auto after = columns.at(i + 2 * lanes);
    hn::StoreU(sum(i + lanes, here, next, after), d, y + i + lanes);
    here = after;
  }
  for (; i < count; i += lanes) {
    const bool is_inside = i + 2 * lanes <= columns.width;
    const auto next = is_inside ? columns.at(i + lanes) : columns.at_end(i + lanes, rest);
    store_some(sum(i, last, here, next), y + i, count - i);
    last = here;
    here = next;
  }
}

template <int pad, bool scales_first>
void sum_threes(const SumOfThrees& of, float* y, std::int64_t rows) {
  ColumnsOfThrees<scales_first> columns{of.rows[0], of.rows[1], of.rows[2], of.factors, of.width};
  const std::int64_t count = of.outputs;
  const auto rest = hn::FirstN(Numbers(), static_cast<std::size_t>(of.width % lanes));
  for (std::int64_t row = 0; row < rows; ++row) {
    sum_row_of_threes<pad>(columns, rest, y, count);
    columns.above += columns.width;
    columns.row += columns.width;
    columns.below += columns.width;
    y += count;
  }
}

template <bool scales_first>
void sum_padded_threes(const SumOfThrees& of, float* y, std::int64_t rows) {
  (of.pad == 0   ? sum_threes<0, scales_first>
   : of.pad == 1 ? sum_threes<1, scales_first>
                 : sum_threes<2, scales_first>)(of, y, rows);
}

void sum_of_threes(const SumOfThrees& of, float* y, std::int64_t rows) {
  (of.scales_first ? sum_padded_threes<true> : sum_padded_threes<false>)(of, y, rows);
}

// Windows of 3 × 3 with stride 1 over one long row. Four vectors go through it step by step, and
// the columns of the next four are added up between these steps: a core looks at some thirty
// operations that wait, and an operation should not come soon after one that it waits for.

/// Four vectors, which are computed before anything that comes behind, whatever the compiler thinks
/// of it.
struct FourTogether {
  Vector a, b, c, d;

  HWY_INLINE FourTogether() = default;
  HWY_INLINE FourTogether(Vector first, Vector second, Vector third, Vector fourth) {
    float32x4_t w = first.raw, x = second.raw, y = third.raw, z = fourth.raw;
    __asm__ volatile("" : "+w"(w), "+w"(x), "+w"(y), "+w"(z));
    a = Vector(w);
    b = Vector(x);
    c = Vector(y);
    d = Vector(z);
  }
};
constexpr std::int64_t numbers_together = 4 * lanes;

HWY_INLINE FourTogether sum_in_memory(const float* x, const float* y) {
  const Numbers n;
  const auto at = [&](std::int64_t v) HWY_ATTR {
    return hn::Add(hn::LoadU(n, x + v * lanes), hn::LoadU(n, y + v * lanes));
  };
  return {at(0), at(1), at(2), at(3)};
}
HWY_INLINE FourTogether add_in_memory(const FourTogether& x, const float* from) {
  const Numbers n;
  return {hn::Add(x.a, hn::LoadU(n, from)), hn::Add(x.b, hn::LoadU(n, from + lanes)),
          hn::Add(x.c, hn::LoadU(n, from + 2 * lanes)),
          hn::Add(x.d, hn::LoadU(n, from + 3 * lanes))};
}
HWY_INLINE FourTogether times_in_memory(const FourTogether& x, const float* from) {
  const Numbers n;
  return {hn::Mul(x.a, hn::LoadU(n, from)), hn::Mul(x.b, hn::LoadU(n, from + lanes)),
          hn::Mul(x.c, hn::LoadU(n, from + 2 * lanes)),
          hn::Mul(x.d, hn::LoadU(n, from + 3 * lanes))};
}
/// sum + x · what lies in memory.
HWY_INLINE FourTogether add_product(const FourTogether& sum, const FourTogether& x,
                                    const float* from) {
  const Numbers n;
  return {hn::MulAdd(x.a, hn::LoadU(n, from), sum.a),
          hn::MulAdd(x.b, hn::LoadU(n, from + lanes), sum.b),
          hn::MulAdd(x.c, hn::LoadU(n, from + 2 * lanes), sum.c),
          hn::MulAdd(x.d, hn::LoadU(n, from + 3 * lanes), sum.d)};
}

/// A long row from a place in its first row on.
template <bool comes_from_memory>
class LongRow {
 public:
  HWY_INLINE LongRow(const SumOfLongRows& of, std::int64_t place, Vector before)
      : above_(of.above + place),
        row_(of.row + place),
        below_(of.below + place),
        of_left_(of.of_left),
        of_middle_(of.of_middle),
        of_right_(of.of_right),
        width_(of.width),
        column_(place < width_ ? place : place - width_),
        before_(before) {}

  HWY_INLINE FourTogether first() const {
    return add_in_memory(sum_in_memory(above_, row_), below_);
  }
  /// The outputs of the columns that are here; `next` become those behind them.
  HWY_INLINE FourTogether sums(const FourTogether& here, FourTogether& next) {
    const Numbers d;
    above_ += numbers_together;
    row_ += numbers_together;
    below_ += numbers_together;
    if (comes_from_memory) ask_after(below_);
    next = sum_in_memory(above_, row_);
    const FourTogether left(hn::CombineShiftRightBytes<12>(d, here.a, before_),
                            hn::CombineShiftRightBytes<12>(d, here.b, here.a),
                            hn::CombineShiftRightBytes<12>(d, here.c, here.b),
                            hn::CombineShiftRightBytes<12>(d, here.d, here.c));
    auto sum = times_in_memory(here, of_middle_ + column_);
    next = add_in_memory(next, below_);
    sum = add_product(sum, left, of_left_ + column_);
    const FourTogether right(hn::CombineShiftRightBytes<4>(d, here.b, here.a),
                             hn::CombineShiftRightBytes<4>(d, here.c, here.b),
                             hn::CombineShiftRightBytes<4>(d, here.d, here.c),
                             hn::CombineShiftRightBytes<4>(d, next.a, here.d));
    sum = add_product(sum, right, of_right_ + column_);
    before_ = here.d;
    column_ += numbers_together;
    column_ = column_ < width_ ? column_ : column_ - width_;
    return sum;
  }

 private:
  const float *above_, *row_, *below_, *of_left_, *of_middle_, *of_right_;
  std::int64_t width_, column_;
  Vector before_;
};

template <bool comes_from_memory>
bool sum_long_rows(const SumOfLongRows& of, float* y, std::int64_t count, bool writes_behind) {
  const Numbers d;
  // Less than a row is written behind.
  if (writes_behind) count += numbers_together - 1;
  // Products of outputs: not a number, if one of them is none.
  auto first_check = hn::Zero(d), second_check = hn::Zero(d);
  const auto check = [&](const FourTogether& sums) HWY_ATTR {
    first_check = hn::MulAdd(sums.a, sums.b, first_check);
    second_check = hn::MulAdd(sums.c, sums.d, second_check);
  };
  const auto store = [&](std::int64_t i, const FourTogether& sums) HWY_ATTR {
    check(sums);
    hn::StoreU(sums.a, d, y + i);
    hn::StoreU(sums.b, d, y + i + lanes);
    hn::StoreU(sums.c, d, y + i + 2 * lanes);
    hn::StoreU(sums.d, d, y + i + 3 * lanes);
  };
  FourTogether here, next;
  std::int64_t i = 0;
  auto before = hn::Zero(d);
  const std::int64_t unaligned =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(y) / sizeof(float) % lanes);
  if (unaligned != 0 && count >= 4 * numbers_together) {
    // The first ones, and then from a place on where vectors do not lie in two lines.
    LongRow<comes_from_memory> start(of, 0, before);
    here = start.first();
    store(0, start.sums(here, next));
    i = numbers_together - unaligned;
    const auto load = [&](const float* from) HWY_ATTR { return hn::LoadU(d, from + i - lanes); };
    before = hn::Add(hn::Add(load(of.above), load(of.row)), load(of.below));
  }
  LongRow<comes_from_memory> row(of, i, before);
  here = row.first();
  const auto make = [&](std::int64_t at, const FourTogether& from, FourTogether& behind)
                        HWY_ATTR { store(at, row.sums(from, behind)); };
  // Two in turn: they change their places then, and none is moved.
  for (; i + 2 * numbers_together <= count; i += 2 * numbers_together) {
    make(i, here, next);
    make(i + numbers_together, next, here);
  }
  if (i + numbers_together <= count) {
    make(i, here, next);
    here = next;
    i += numbers_together;
  }
  if (i < count && !writes_behind) {
    const FourTogether sums = row.sums(here, next);
    // What lies behind is looked at as well: at worst, all is done again.
    const Vector all[4] = {sums.a, sums.b, sums.c, sums.d};
    for (std::int64_t v = 0; v < 4 && i + v * lanes < count; ++v) {
      store_some(all[v], y + i + v * lanes, count - i - v * lanes);
    }
    check(sums);
  }
  return hn::AllFalse(d, hn::IsNaN(hn::Add(first_check, second_check)));
}

bool sum_of_long_rows(const SumOfLongRows& of, float* y, std::int64_t count, bool writes_behind) {
  return (of.comes_from_memory ? sum_long_rows<true> : sum_long_rows<false>)(of, y, count,
                                                                             writes_behind);
}

[[maybe_unused]] const bool is_added = cpu::compiled_kernels<ThreeMeanLoops>().add(
    HWY_TARGET, {.sum_of_threes = sum_of_threes, .sum_of_long_rows = sum_of_long_rows});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const ThreeMeanLoops* three_mean_loops() { return cpu::best_kernels_if_any<ThreeMeanLoops>(); }

}  // namespace strata::cpu_training
#endif
