// SPDX-License-Identifier: Apache-2.0
// Moving numbers about for each kind of vector unit; foreach_target.h reads this file once for
// each.
#include "strata/measure/cpu/per_target.hpp"
#include "strata/measure/cpu/training/layout_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/training/highway_layout_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<float>;
using Vector = hn::Vec<Numbers>;

/// What comes a page later: processors foresee only what lies in one.
HWY_INLINE void ask_for(const float* x) { __builtin_prefetch(x + 1024, 0, 2); }

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Numbers())); }

HWY_INLINE void store_some(Vector v, float* to, std::int64_t count) {
  const Numbers d;
  if (count >= lanes()) return hn::StoreU(v, d, to);
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
}

/// Calls many(i) for vectors from i on, the last of which takes what is left and some before it, or
/// one(i) for each of fewer.
template <class Many, class One>
HWY_INLINE void each_vector(std::int64_t count, const Many& many, const One& one) {
  std::int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) many(i);
  if (i > 0 && i < count) return many(count - lanes());
  for (; i < count; ++i) one(i);
}

void split_pairs(const float* x, float* first, float* second, std::int64_t count) {
  const Numbers d;
  each_vector(
      count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(x + 2 * i);
        ask_for(x + 2 * i + lanes());
        Vector a, b;
        hn::LoadInterleaved2(d, x + 2 * i, a, b);
        hn::StoreU(a, d, first + i);
        hn::StoreU(b, d, second + i);
      },
      [&](std::int64_t i) {
        first[i] = x[2 * i];
        second[i] = x[2 * i + 1];
      });
}

void join_pairs(const float* first, const float* second, float* y, std::int64_t count) {
  const Numbers d;
  each_vector(
      count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(first + i);
        ask_for(second + i);
        hn::StoreInterleaved2(hn::LoadU(d, first + i), hn::LoadU(d, second + i), d, y + 2 * i);
      },
      [&](std::int64_t i) {
        y[2 * i] = first[i];
        y[2 * i + 1] = second[i];
      });
}

void twice(const float* x, float factor, float* y, std::int64_t count) {
  const Numbers d;
  const auto by = hn::Set(d, factor);
  each_vector(
      count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(x + i);
        const auto value = hn::Mul(by, hn::LoadU(d, x + i));
        hn::StoreInterleaved2(value, value, d, y + 2 * i);
      },
      [&](std::int64_t i) { y[2 * i] = y[2 * i + 1] = factor * x[i]; });
}

void sums_of_rows(const float* x, std::int64_t width, float factor, float* y, std::int64_t rows,
                  const float* end) {
  const Numbers d;
  const std::int64_t whole = width / lanes() * lanes();
  const auto rest = hn::FirstN(d, static_cast<std::size_t>(width - whole));
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
    auto total = hn::Zero(d);
    for (std::int64_t i = 0; i < whole; i += lanes()) {
      ask_for(x + i);
      total = hn::Add(total, hn::LoadU(d, x + i));
    }
    float left = 0;
    if (end - x >= whole + lanes()) {
      total = hn::Add(total, hn::IfThenElseZero(rest, hn::LoadU(d, x + whole)));
    } else {
      for (std::int64_t i = whole; i < width; ++i) left += x[i];
    }
    y[row] = (hn::GetLane(hn::SumOfLanes(d, total)) + left) * factor;
  }
}

void rows_of_same(const float* x, std::int64_t width, float factor, float* y, std::int64_t rows) {
  const Numbers d;
  const std::int64_t count = rows * width;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = hn::Set(d, factor * x[row]);
    // The next row takes back what goes too far.
    for (std::int64_t i = row * width; i < (row + 1) * width; i += lanes()) {
      store_some(value, y + i, count - i);
    }
  }
}

[[maybe_unused]] const bool is_added =
    cpu::compiled_kernels<LayoutLoops>().add(HWY_TARGET, {.split_pairs = split_pairs,
                                                          .join_pairs = join_pairs,
                                                          .twice = twice,
                                                          .sums_of_rows = sums_of_rows,
                                                          .rows_of_same = rows_of_same});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const LayoutLoops* layout_loops() {
  static const LayoutLoops best = [] {
    const auto usable = cpu::compiled_kernels<LayoutLoops>().usable();
    return usable.empty() ? LayoutLoops{} : usable.front();
  }();
  return best.twice != nullptr ? &best : nullptr;
}

}  // namespace strata::cpu_training
#endif
