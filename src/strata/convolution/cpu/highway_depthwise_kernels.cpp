// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/kernel_tables.hpp"
#include "strata/cpu/asked_lines.hpp"
#include "strata/cpu/per_target.hpp"

#include <algorithm>
#include <array>
#include <cstring>

// Vectors stand in arrays here; and every target costs seconds of compilation.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/convolution/cpu/highway_depthwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace strata::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Vectors = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Vectors>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Vectors())); }

template <std::size_t number>
using Number = std::integral_constant<std::size_t, number>;

/// Some vectors of a row, one or two: a second one lies `gap` behind the first.
template <std::size_t number>
struct Some : Number<number> {
  std::int64_t gap = 0;

  HWY_INLINE std::int64_t at(std::size_t k) const { return static_cast<std::int64_t>(k) * gap; }
};

/// Calls vectors(x, some) until the last of a row, which overlaps with those before; rest() for
/// rows that are shorter than a vector.
template <class Do, class Rest>
HWY_INLINE void along_row(std::int64_t columns, const Do& vectors, const Rest& rest) {
  const std::int64_t step = lanes();
  if (columns < step) return rest();
  std::int64_t x = 0;
  for (; x + 2 * step <= columns; x += 2 * step) vectors(x, Some<2>{{}, step});
  if (columns - x > step) {
    vectors(x, Some<2>{{}, columns - step - x});
  } else if (columns > x) {
    vectors(columns - step, Some<1>{});
  }
}
/// Calls rows(y, many) for one or two rows at a time, and for the last.
template <std::size_t at_once, class Do>
HWY_INLINE void along_plane(std::int64_t count, const Do& rows) {
  std::int64_t y = 0;
  if constexpr (at_once == 2) {
    for (; y + 2 <= count; y += 2) rows(y, Number<2>());
  }
  for (; y < count; ++y) rows(y, Number<1>());
}

void copy_rows(const RowCopies& c) {
  const Vectors d;
  const std::int64_t columns = c.columns;
  c.each_row([&](const float* from, std::int64_t plane, std::int64_t place) HWY_ATTR {
    ask_lines(from + asked_ahead<float>, columns);
    float* const to = c.to[plane] + place;
    along_row(
        columns,
        [&](std::int64_t x, auto some) HWY_ATTR {
          for (std::size_t k = 0; k < some; ++k) {
            hn::StoreU(hn::LoadU(d, from + x + some.at(k)), d, to + x + some.at(k));
          }
        },
        [&] { std::copy_n(from, columns, to); });
  });
}

void split_rows(const RowCopies& c, float* const* odd_planes) {
  const Vectors d;
  const std::int64_t pairs = c.columns / 2;
  c.each_row([&](const float* from, std::int64_t plane, std::int64_t place) HWY_ATTR {
    ask_lines(from + asked_ahead<float>, c.columns);
    float *const even = c.to[plane] + place, *const odd = odd_planes[plane] + place;
    along_row(
        pairs,
        [&](std::int64_t x, auto some) HWY_ATTR {
          for (std::size_t k = 0; k < some; ++k) {
            const std::int64_t at = x + some.at(k);
            Vector a, b;
            hn::LoadInterleaved2(d, from + 2 * at, a, b);
            hn::StoreU(a, d, even + at);
            hn::StoreU(b, d, odd + at);
          }
        },
        [&] {
          for (std::int64_t x = 0; x < pairs; ++x) {
            even[x] = from[2 * x];
            odd[x] = from[2 * x + 1];
          }
        });
    if (c.columns % 2 != 0) even[pairs] = from[2 * pairs];
  });
}

/// Sums of some vectors of rows one below the other.
template <std::size_t rows, std::size_t many>
struct SumBlock {
  Vector sums[rows][many];

  HWY_INLINE SumBlock() {
    for (auto& row : sums) {
      for (Vector& sum : row) sum = hn::Zero(Vectors());
    }
  }
  HWY_INLINE void add(Vector weight, const float* from, std::int64_t pitch, Some<many> some) {
    for (auto& row : sums) {
      for (std::size_t k = 0; k < many; ++k) {
        row[k] = hn::MulAdd(weight, hn::LoadU(Vectors(), from + some.at(k)), row[k]);
      }
      from += pitch;
    }
  }
};

/// Taps whose weights are in registers, if their number is known.
template <std::size_t known>
class TapSum {
 public:
  static constexpr std::size_t rows_at_once = 1;

  explicit HWY_INLINE TapSum(const PlaneTaps& taps) {
    for (std::size_t t = 0; t < known; ++t) {
      weights_[t] = hn::Set(Vectors(), taps.weights[t]);
      from_[t] = taps.plane + taps.offsets[t];
    }
  }
  template <std::size_t rows, std::size_t many>
  HWY_INLINE SumBlock<rows, many> at(std::int64_t i, std::int64_t pitch, Some<many> some) const {
    SumBlock<rows, many> block;
    for (std::size_t t = 0; t < known; ++t) block.add(weights_[t], from_[t] + i, pitch, some);
    return block;
  }

 private:
  Vector weights_[known];
  const float* from_[known];
};
template <>
class TapSum<0> {
 public:
  static constexpr std::size_t rows_at_once = 2;  // that a weight is loaded for

  explicit HWY_INLINE TapSum(const PlaneTaps& taps) : taps_(taps) {}
  template <std::size_t rows, std::size_t many>
  HWY_INLINE SumBlock<rows, many> at(std::int64_t i, std::int64_t pitch, Some<many> some) const {
    SumBlock<rows, many> block;
    for (std::int64_t t = 0; t < taps_.count; ++t) {
      block.add(hn::Set(Vectors(), taps_.weights[t]), taps_.plane + taps_.offsets[t] + i, pitch,
                some);
    }
    return block;
  }

 private:
  const PlaneTaps taps_;
};

template <std::size_t known>
HWY_INLINE void sum_rows_of(const RowSums& s) {
  const Vectors d;
  const TapSum<known> taps(s.taps);
  const std::int64_t pitch = s.pitch, step = s.step, columns = s.columns;
  along_plane<TapSum<known>::rows_at_once>(s.rows, [&](std::int64_t y, auto rows) HWY_ATTR {
    const std::int64_t from = y * pitch;
    float* const result = s.result + y * step;
    const auto each_row = [&](const auto& block, const auto& store) HWY_ATTR {
      float* to = result;
      for (const auto& row : block.sums) {
        store(row, to);
        to += step;
      }
    };
    along_row(
        columns,
        [&](std::int64_t x, auto some) HWY_ATTR {
          each_row(taps.template at<rows>(from + x, pitch, some),
                   [&](const auto& row, float* to) HWY_ATTR {
                     for (std::size_t k = 0; k < some; ++k) {
                       hn::StoreU(row[k], d, to + x + some.at(k));
                     }
                   });
        },
        [&]() HWY_ATTR {
          each_row(taps.template at<rows>(from, pitch, Some<1>{}),
                   [&](const auto& row, float* to) HWY_ATTR {
                     std::array<float, 16> numbers;
                     hn::StoreU(row[0], d, numbers.data());
                     std::copy_n(numbers.data(), columns, to);
                   });
        });
  });
}
void sum_rows(const RowSums& s) { s.taps.count == 9 ? sum_rows_of<9>(s) : sum_rows_of<0>(s); }

HWY_INLINE void store_in_turn(Vector even, Vector odd, float* to) {
  const Vectors d;
#if HWY_TARGET == HWY_NEON  // where storing both at once takes as long as storing four
  hn::StoreU(hn::InterleaveLower(d, even, odd), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even, odd), d, to + lanes());
#else
  hn::StoreInterleaved2(even, odd, d, to);
#endif
}

template <std::size_t known, std::size_t known_odd>
HWY_INLINE void sum_rows_in_turn_of(const RowSums& s, const PlaneTaps& odd_taps) {
  const TapSum<known> even(s.taps);
  const TapSum<known_odd> odd(odd_taps);
  const std::int64_t pitch = s.pitch, pairs = s.columns / 2;
  float* to = s.result;
  const auto some_columns = [&](std::int64_t i, std::int64_t x, std::int64_t count) HWY_ATTR {
    std::array<float, 32> both;
    store_in_turn(even.template at<1>(i, pitch, Some<1>{}).sums[0][0],
                  odd.template at<1>(i, pitch, Some<1>{}).sums[0][0], both.data());
    std::copy_n(both.data(), count, to + 2 * x);
  };
  for (std::int64_t y = 0; y < s.rows; ++y, to += s.step) {
    const std::int64_t row = y * pitch;
    along_row(
        pairs,
        [&](std::int64_t x, auto some) HWY_ATTR {
          const auto a = even.template at<1>(row + x, pitch, some);
          const auto b = odd.template at<1>(row + x, pitch, some);
          for (std::size_t k = 0; k < some; ++k) {
            store_in_turn(a.sums[0][k], b.sums[0][k], to + 2 * (x + some.at(k)));
          }
        },
        [&]() HWY_ATTR { some_columns(row, 0, 2 * pairs); });
    if (s.columns % 2 != 0) some_columns(row + pairs, pairs, 1);
  }
}
void sum_rows_in_turn(const RowSums& s, const PlaneTaps& odd) {
  // What a window of 3×3 with a stride of 2 falls apart to.
  const std::int64_t taps = s.taps.count;
  if (taps == 1 && odd.count == 2) return sum_rows_in_turn_of<1, 2>(s, odd);
  if (taps == 2 && odd.count == 1) return sum_rows_in_turn_of<2, 1>(s, odd);
  if (taps == 2 && odd.count == 4) return sum_rows_in_turn_of<2, 4>(s, odd);
  if (taps == 4 && odd.count == 2) return sum_rows_in_turn_of<4, 2>(s, odd);
  sum_rows_in_turn_of<0, 0>(s, odd);
}

/// Some taps, with sums for each of some rows in registers.
template <std::size_t taps, std::size_t most_rows>
class TapProducts {
 public:
  HWY_INLINE TapProducts(const PlaneProducts& p, std::int64_t first) : pitch_(p.pitch) {
    for (std::size_t t = 0; t < taps; ++t) {
      for (std::size_t r = 0; r < most_rows; ++r) sums_[r][t] = hn::Zero(Vectors());
      from_[t] = p.plane + p.offsets[first + static_cast<std::int64_t>(t)];
    }
  }
  /// A vector of each of some rows, the first of which is at i.
  template <std::size_t rows>
  HWY_INLINE void add(const Vector (&gradients)[rows], std::int64_t i) {
    for (std::size_t t = 0; t < taps; ++t) {
      const float* from = from_[t] + i;
      for (std::size_t r = 0; r < rows; ++r, from += pitch_) {
        sums_[r][t] = hn::MulAdd(gradients[r], hn::LoadU(Vectors(), from), sums_[r][t]);
      }
    }
  }
  HWY_INLINE void add_to(double* totals) const {
    const Vectors d;
    for (std::size_t t = 0; t < taps; ++t) {
      Vector sum = sums_[0][t];
      for (std::size_t r = 1; r < most_rows; ++r) sum = hn::Add(sum, sums_[r][t]);
      totals[t] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
    }
  }

 private:
  std::int64_t pitch_;
  Vector sums_[most_rows][taps];
  const float* from_[taps];
};

template <std::size_t taps>
HWY_INLINE void multiply_some(const PlaneProducts& p, std::int64_t first) {
  const Vectors d;
  TapProducts<taps, 2> products(p, first);
  const std::int64_t columns = p.columns, step = lanes();
  // The last vector of a row overlaps with the one before, whose numbers do not count again.
  const auto was_counted = hn::FirstN(d, static_cast<std::size_t>((step - columns % step) % step));
  along_plane<2>(p.rows, [&](std::int64_t y, auto rows) HWY_ATTR {
    const auto add = [&](std::int64_t x, const auto& load) HWY_ATTR {
      constexpr std::size_t count = decltype(rows)::value;
      Vector gradients[count];
      for (std::size_t r = 0; r < count; ++r) {
        gradients[r] = load(p.gradient + (y + static_cast<std::int64_t>(r)) * columns + x);
      }
      products.add(gradients, y * p.pitch + x);
    };
    const auto whole = [&](const float* from) HWY_ATTR { return hn::LoadU(d, from); };
    std::int64_t x = 0;
    for (; x + step <= columns; x += step) add(x, whole);
    if (x == columns) return;
    if (columns < step) {
      add(0, [&](const float* from) HWY_ATTR {
        std::array<float, 16> row{};
        std::copy_n(from, columns, row.data());
        return hn::LoadU(d, row.data());
      });
    } else {
      add(columns - step, [&](const float* from) HWY_ATTR {
        return hn::IfThenZeroElse(was_counted, hn::LoadU(d, from));
      });
    }
  });
  products.add_to(p.totals + first);
}

void multiply_planes(const PlaneProducts& p) {
  std::int64_t t = 0;
  for (; t + 9 <= p.taps; t += 9) multiply_some<9>(p, t);
  for (; t + 3 <= p.taps; t += 3) multiply_some<3>(p, t);
  for (; t < p.taps; ++t) multiply_some<1>(p, t);
}

[[maybe_unused]] const bool is_added =
    compiled_kernels<DepthwiseKernels>().add(HWY_TARGET, {.copy_rows = copy_rows,
                                                          .split_rows = split_rows,
                                                          .sum_rows = sum_rows,
                                                          .sum_rows_in_turn = sum_rows_in_turn,
                                                          .multiply_planes = multiply_planes});

}  // namespace
}  // namespace strata::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace strata::cpu {

void copy_rows(const RowCopies& copies) { best_kernels<DepthwiseKernels>().copy_rows(copies); }
void split_rows(const RowCopies& even, float* const* odd) {
  best_kernels<DepthwiseKernels>().split_rows(even, odd);
}
void sum_rows(const RowSums& sums) { best_kernels<DepthwiseKernels>().sum_rows(sums); }
void sum_rows_in_turn(const RowSums& sums, const PlaneTaps& odd) {
  best_kernels<DepthwiseKernels>().sum_rows_in_turn(sums, odd);
}
void multiply_planes(const PlaneProducts& products) {
  best_kernels<DepthwiseKernels>().multiply_planes(products);
}

}  // namespace strata::cpu
#endif
