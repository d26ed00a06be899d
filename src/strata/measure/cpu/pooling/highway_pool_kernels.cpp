// SPDX-License-Identifier: Apache-2.0
// Pooling over small windows for each kind of vector unit; foreach_target.h reads this file once
// for each.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/pooling/pool_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_pool_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// clang-format off: Highway wants it after its own
#include "strata/measure/cpu/loops/highway_pieces-inl.h"
// clang-format on

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Plain = PlainPoolLoops<float>;

#if HWY_TARGET == HWY_SCALAR
constexpr auto largest = Plain::largest;
constexpr auto sum = Plain::sum;
constexpr auto spread = Plain::spread;
#else

using Numbers = hn::ScalableTag<float>;
using Whole = hn::ScalableTag<std::int32_t>;
using Bytes = hn::Rebind<std::uint8_t, Whole>;

/// Every stride-th number from `from` on.
template <std::int64_t stride>
HWY_INLINE hn::Vec<Numbers> load_apart(Numbers d, const float* from) {
  if constexpr (stride == 1) {
    return hn::LoadU(d, from);
  } else {
    return hn::ConcatEven(d, hn::LoadU(d, from + hn::Lanes(d)), hn::LoadU(d, from));
  }
}

/// Calls work(from, whole vectors as a constant) for pieces of a row of up to four vectors: several
/// at once, so that none waits for its own last step.
template <class Work>
HWY_INLINE void each_block(std::int64_t count, std::int64_t lanes, const Work& work) {
  for (std::int64_t i = 0; i < count; i += 4 * lanes) {
    const std::int64_t left = count - i;
    if (left > 3 * lanes) {
      work(i, std::integral_constant<int, 4>());
    } else if (left > 2 * lanes) {
      work(i, std::integral_constant<int, 3>());
    } else if (left > lanes) {
      work(i, std::integral_constant<int, 2>());
    } else {
      work(i, std::integral_constant<int, 1>());
    }
  }
}

using Vector = hn::Vec<Numbers>;
using WholeVector = hn::Vec<Whole>;

template <std::int64_t stride, int vectors>
HWY_INLINE void largest_block(const WindowRow<float>* rows, const WindowShape& shape,
                              const std::int32_t* defaults, float* most, std::uint8_t* which,
                              std::int64_t i, std::int64_t count) {
  const Numbers d;
  const Whole di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector best[vectors];
  WholeVector best_tap[vectors];
  for (int v = 0; v < vectors; ++v) {
    best[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    best_tap[v] = hn::Add(hn::LoadU(di, defaults + i + v * lanes), hn::Set(di, rows[0].first));
  }
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    for (std::int64_t k = 0; k < shape.taps; ++k) {
      const float* const from = rows[row].numbers + k * shape.dilation + i * stride;
      const auto tap = hn::Set(di, rows[row].first + static_cast<std::int32_t>(k));
      for (int v = 0; v < vectors; ++v) {
        const auto value = load_apart<stride>(d, from + v * lanes * stride);
        const auto is_larger = hn::Or(hn::Gt(value, best[v]), hn::IsNaN(value));
        best[v] = hn::IfThenElse(is_larger, value, best[v]);
        best_tap[v] = hn::IfThenElse(hn::RebindMask(di, is_larger), tap, best_tap[v]);
      }
    }
  }
  for (int v = 0; v < vectors; ++v) {
    const std::int64_t at = i + v * lanes;
    store_first(best[v], d, most + at, count - at);
    if (which != nullptr) hn::StoreU(hn::DemoteTo(Bytes(), best_tap[v]), Bytes(), which + at);
  }
}

template <std::int64_t stride>
void largest_apart(const WindowRow<float>* rows, const WindowShape& shape,
                   const std::int32_t* defaults, float* most, std::uint8_t* which,
                   std::int64_t count) {
  each_block(count, static_cast<std::int64_t>(hn::Lanes(Numbers())),
             [&](std::int64_t i, auto vectors) HWY_ATTR {
               largest_block<stride, vectors()>(rows, shape, defaults, most, which, i, count);
             });
}

void largest(const WindowRow<float>* rows, const WindowShape& shape, const std::int32_t* defaults,
             float* most, std::uint8_t* which, std::int64_t count) {
  if (shape.stride > 2) return Plain::largest(rows, shape, defaults, most, which, count);
  (shape.stride == 1 ? largest_apart<1> : largest_apart<2>)(rows, shape, defaults, most, which,
                                                            count);
}

template <std::int64_t stride>
void sum_apart(const WindowRow<float>* rows, const WindowShape& shape, const float* shares,
               float share, float* y, std::int64_t count) {
  const Numbers d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto of_rows = hn::Set(d, share);
  each_block(count, lanes, [&](std::int64_t i, auto vectors) HWY_ATTR {
    Vector total[vectors()];
    for (int v = 0; v < vectors(); ++v) total[v] = hn::Zero(d);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
      for (std::int64_t k = 0; k < shape.taps; ++k) {
        const float* const from = rows[row].numbers + k * shape.dilation + i * stride;
        for (int v = 0; v < vectors(); ++v) {
          total[v] = hn::Add(total[v], load_apart<stride>(d, from + v * lanes * stride));
        }
      }
    }
    for (int v = 0; v < vectors(); ++v) {
      const std::int64_t at = i + v * lanes;
      store_first(hn::Mul(total[v], hn::Mul(of_rows, hn::LoadU(d, shares + at))), d, y + at,
                  count - at);
    }
  });
}

void sum(const WindowRow<float>* rows, const WindowShape& shape, const float* shares, float share,
         float* y, std::int64_t count) {
  if (shape.stride > 2) return Plain::sum(rows, shape, shares, share, y, count);
  (shape.stride == 1 ? sum_apart<1> : sum_apart<2>)(rows, shape, shares, share, y, count);
}

/// The sums of one phase from number i on.
template <int vectors>
HWY_INLINE void sum_phase(const SpreadRow<float>* rows, std::int64_t row_count,
                          const SpreadShifts& along, std::int64_t phase, std::int64_t i,
                          Vector* total) {
  const Numbers d;
  const Whole di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (int v = 0; v < vectors; ++v) total[v] = hn::Zero(d);
  for (std::int64_t s = along.begin[phase]; s < along.begin[phase + 1]; ++s) {
    const SpreadShift& shift = along.shifts[s];
    for (const SpreadRow<float>* row = rows; row != rows + row_count; ++row) {
      const float* const gradients = row->gradients + shift.apart + i;
      if (row->which == nullptr) {
        for (int v = 0; v < vectors; ++v) {
          total[v] = hn::Add(total[v], hn::LoadU(d, gradients + v * lanes));
        }
        continue;
      }
      const std::uint8_t* const which = row->which + shift.apart + i;
      const auto tap = hn::Set(di, row->first_tap + shift.tap);
      for (int v = 0; v < vectors; ++v) {
        const auto is_there = hn::Eq(hn::PromoteTo(di, hn::LoadU(Bytes(), which + v * lanes)), tap);
        total[v] = hn::Add(total[v], hn::IfThenElseZero(hn::RebindMask(d, is_there),
                                                        hn::LoadU(d, gradients + v * lanes)));
      }
    }
  }
}

void spread(const SpreadRow<float>* rows, std::int64_t row_count, const SpreadShifts& along,
            float* dx, std::int64_t count) {
  const Numbers d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (along.stride == 1) {
    return each_block(count, lanes, [&](std::int64_t i, auto vectors) HWY_ATTR {
      Vector total[vectors()];
      sum_phase<vectors()>(rows, row_count, along, 0, i, total);
      for (int v = 0; v < vectors(); ++v) {
        store_first(total[v], d, dx + i + v * lanes, count - i - v * lanes);
      }
    });
  }
  if (along.stride != 2) return Plain::spread(rows, row_count, along, dx, count);
  const std::int64_t whole = count / 2 / lanes * lanes;
  each_block(whole, lanes, [&](std::int64_t i, auto vectors) HWY_ATTR {
    Vector even[vectors()], odd[vectors()];
    sum_phase<vectors()>(rows, row_count, along, 0, i, even);
    sum_phase<vectors()>(rows, row_count, along, 1, i, odd);
    for (int v = 0; v < vectors(); ++v) {
      hn::StoreInterleaved2(even[v], odd[v], d, dx + 2 * (i + v * lanes));
    }
  });
  if (2 * whole == count) return;
  // What is left: with some that are there already, or by way of other memory.
  const bool overlaps = count % 2 == 0 && whole > 0;
  const std::int64_t i = overlaps ? count / 2 - lanes : whole;
  Vector even[1], odd[1];
  sum_phase<1>(rows, row_count, along, 0, i, even);
  sum_phase<1>(rows, row_count, along, 1, i, odd);
  if (overlaps) return hn::StoreInterleaved2(even[0], odd[0], d, dx + 2 * i);
  HWY_ALIGN float last[2 * hn::MaxLanes(d)];
  hn::StoreInterleaved2(even[0], odd[0], d, last);
  __builtin_memcpy(dx + 2 * i, last, static_cast<std::size_t>(count - 2 * i) * sizeof(float));
}

#endif

[[maybe_unused]] const bool is_added = cpu::compiled_kernels<PoolLoops<float>>().add(
    HWY_TARGET, {.largest = largest, .sum = sum, .spread = spread});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::cpu_training {

template <>
const PoolLoops<float>& pool_loops<float>() {
  return cpu::best_kernels<PoolLoops<float>>();
}

}  // namespace strata::cpu_training
#endif
