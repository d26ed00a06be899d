// SPDX-License-Identifier: Apache-2.0
// Moving numbers about for each kind of vector unit; foreach_target.h reads this file once for
// each.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/cpu/moving/layout_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/moving/highway_layout_kernels.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
// clang-format off: Highway wants it after its own
#include "strata/measure/cpu/loops/highway_pieces-inl.h"
// clang-format on

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace strata::cpu_training::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<float>;
using Vector = hn::Vec<Numbers>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Numbers())); }

/// Numbers of both take turns. Where vectors are short, an instruction for that takes as long as
/// storing twice as much.
HWY_INLINE void store_turns(Vector even, Vector odd, float* to) {
  const Numbers d;
#if HWY_TARGET == HWY_NEON
  hn::StoreU(hn::InterleaveLower(d, even, odd), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even, odd), d, to + lanes());
#else
  hn::StoreInterleaved2(even, odd, d, to);
#endif
}

#if HWY_TARGET == HWY_NEON
/// Only the last ones, one to three of each, in front of a place: a core that writes on what it has
/// just written fetches it first.
HWY_INLINE void store_last_turns(Vector even, Vector odd, std::int64_t count, float* end) {
  const Numbers d;
  const hn::Half<Numbers> half;
  const auto upper = hn::InterleaveUpper(d, even, odd);
  if (count == 1) return hn::StoreU(hn::UpperHalf(half, upper), half, end - 2);
  if (count == 3) {
    hn::StoreU(hn::UpperHalf(half, hn::InterleaveLower(d, even, odd)), half, end - 6);
  }
  hn::StoreU(upper, d, end - 4);
}
#endif

void split_pairs(const float* x, float* first, float* second, std::int64_t count) {
  const Numbers d;
  each_vector(
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for_line(x, 2 * i);
        ask_for_line(x, 2 * i + lanes());
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
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(first + i);
        ask_for(second + i);
        store_turns(hn::LoadU(d, first + i), hn::LoadU(d, second + i), y + 2 * i);
      },
      [&](std::int64_t i) {
        y[2 * i] = first[i];
        y[2 * i + 1] = second[i];
      });
}

void split_rows(const float* x, float* const* planes, std::int64_t count, std::int64_t rows) {
  float *a = planes[0], *b = planes[1], *c = planes[2], *d = planes[3];
  for (std::int64_t row = 0; row < rows; ++row, x += 4 * count) {
    split_pairs(x, a, b, count);
    split_pairs(x + 2 * count, c, d, count);
    a += count, b += count, c += count, d += count;
  }
}

void join_rows(const float* const* planes, float* y, std::int64_t count, std::int64_t rows) {
  const float *a = planes[0], *b = planes[1], *c = planes[2], *d = planes[3];
  for (std::int64_t row = 0; row < rows; ++row, y += 4 * count) {
    join_pairs(a, b, y, count);
    join_pairs(c, d, y + 2 * count, count);
    a += count, b += count, c += count, d += count;
  }
}

HWY_INLINE void twice_row(const float* x, float factor, float* y, std::int64_t count) {
  const Numbers d;
  const auto by = hn::Set(d, factor);
  each_vector(
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
#if HWY_TARGET != HWY_NEON  // whose processors foresee as little as is read here
        ask_for(x + i);
#endif
        const auto value = hn::Mul(by, hn::LoadU(d, x + i));
        store_turns(value, value, y + 2 * i);
      },
      [&](std::int64_t i) { y[2 * i] = y[2 * i + 1] = factor * x[i]; });
}

void twice(const float* x, float factor, float* y, std::int64_t count) {
  twice_row(x, factor, y, count);
}

#if HWY_TARGET == HWY_NEON
/// Where the last vector of a row is not whole.
void twice_row_to_end(const float* x, float factor, float* y, std::int64_t count) {
  const Numbers d;
  const std::int64_t whole = count / lanes() * lanes();
  twice_row(x, factor, y, whole);
  const auto last = hn::Mul(hn::Set(d, factor), hn::LoadU(d, x + count - lanes()));
  store_last_turns(last, last, count - whole, y + 2 * count);
}
#endif

void twice_rows(const float* x, float factor, float* y, std::int64_t count, std::int64_t rows) {
#if HWY_TARGET == HWY_NEON
  if (count > lanes() && count % lanes() != 0) {
    for (std::int64_t row = 0; row < rows; ++row, x += count, y += 4 * count) {
      twice_row_to_end(x, factor, y, count);
      twice_row_to_end(x, factor, y + 2 * count, count);
    }
    return;
  }
#endif
  for (std::int64_t row = 0; row < rows; ++row, x += count, y += 4 * count) {
    twice_row(x, factor, y, count);
    twice_row(x, factor, y + 2 * count, count);
  }
}

void add_pairs(const float* x, float factor, float* y, std::int64_t count, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row, x += 4 * count, y += count) {
    each_vector_of_row(Numbers(), count, [&](auto d, std::int64_t i) HWY_ATTR {
      hn::Vec<decltype(d)> even, odd, lower_even, lower_odd;
      hn::LoadInterleaved2(d, x + 2 * i, even, odd);
      hn::LoadInterleaved2(d, x + 2 * count + 2 * i, lower_even, lower_odd);
      const auto sum = hn::Add(hn::Add(even, odd), hn::Add(lower_even, lower_odd));
      hn::StoreU(hn::Mul(hn::Set(d, factor), sum), d, y + i);
    });
  }
}

// Interpolation takes three parts of a number and one of its neighbour, along rows and across them.
// All that is divided by 16 once, along rows.

HWY_INLINE Vector mixed(Vector near, Vector far) {
  return hn::MulAdd(near, hn::Set(Numbers(), 3.0F), far);
}
HWY_INLINE float mixed_one(float near, float far) { return near * 3 + far; }

HWY_INLINE Vector mixed_sixteenth(Vector near, Vector far) {
  const Numbers d;
  return hn::MulAdd(near, hn::Set(d, 3.0F / 16), hn::Mul(far, hn::Set(d, 1.0F / 16)));
}
HWY_INLINE float mixed_one_sixteenth(float near, float far) {
  return near * (3.0F / 16) + far * (1.0F / 16);
}

void widen(const float* x, float* y, std::int64_t count) {
  const Numbers d;
  const auto one = [&](std::int64_t i) {
    y[2 * i] = mixed_one_sixteenth(x[i], x[HWY_MAX(i, 1) - 1]);
    y[2 * i + 1] = mixed_one_sixteenth(x[i], x[HWY_MIN(i + 1, count - 1)]);
  };
  one(0);
  if (count == 1) return;
  one(count - 1);
  // Those between.
  each_vector(
      Numbers(), count - 2,
      [&](std::int64_t k) HWY_ATTR {
        const float* const from = x + k + 1;
        ask_for(from);
        const auto here = hn::LoadU(d, from);
        store_turns(mixed_sixteenth(here, hn::LoadU(d, from - 1)),
                    mixed_sixteenth(here, hn::LoadU(d, from + 1)), y + 2 * (k + 1));
      },
      [&](std::int64_t k) { one(k + 1); });
}

void widen_rows(const float* x, float* y, std::int64_t count, std::int64_t rows) {
#if HWY_TARGET == HWY_NEON
  // As one long row, four vectors at once, all computed before one is stored; the ends of rows are
  // put right below.
  const Numbers d;
  const std::int64_t all = rows * count;
  if (count > 1 && all > 4 * lanes() + 1) {
    const auto sixteen = [&](std::int64_t i) HWY_ATTR {
      const float* const from = x + i;
      float* const to = y + 2 * i;
      const auto mixed_with = [&](std::int64_t v, std::int64_t beside) HWY_ATTR {
        return mixed_sixteenth(hn::LoadU(d, from + v * lanes()),
                               hn::LoadU(d, from + v * lanes() + beside));
      };
      ask_after(from);
      bring_soon(from);
      const auto a = mixed_with(0, -1), b = mixed_with(1, -1);
      const auto c = mixed_with(2, -1), e = mixed_with(3, -1);
      const auto f = mixed_with(0, 1), g = mixed_with(1, 1);
      const auto h = mixed_with(2, 1), j = mixed_with(3, 1);
      store_turns(a, f, to);
      store_turns(b, g, to + 2 * lanes());
      store_turns(c, h, to + 4 * lanes());
      store_turns(e, j, to + 6 * lanes());
    };
    std::int64_t i = 1;
    for (; i + 4 * lanes() < all; i += 4 * lanes()) sixteen(i);
    sixteen(all - 1 - 4 * lanes());
    for (std::int64_t row = 0; row < rows; ++row, x += count, y += 2 * count) {
      y[0] = mixed_one_sixteenth(x[0], x[0]);
      y[1] = mixed_one_sixteenth(x[0], x[1]);
      y[2 * count - 2] = mixed_one_sixteenth(x[count - 1], x[count - 2]);
      y[2 * count - 1] = mixed_one_sixteenth(x[count - 1], x[count - 1]);
    }
    return;
  }
#endif
  for (std::int64_t row = 0; row < rows; ++row) widen(x + row * count, y + row * 2 * count, count);
}

void narrow(const float* x, float* y, std::int64_t count) {
  const Numbers d;
  const auto one = [&](std::int64_t i) {
    y[i] = mixed_one_sixteenth(x[2 * i] + x[2 * i + 1],
                               x[HWY_MAX(2 * i, 1) - 1] + x[HWY_MIN(2 * i + 2, 2 * count - 1)]);
  };
  one(0);
  if (count == 1) return;
  one(count - 1);
  each_vector(
      Numbers(), count - 2,
      [&](std::int64_t k) HWY_ATTR {
        const float* const from = x + 2 * (k + 1);
        Vector even, odd, before_even, before, after, after_odd;
        hn::LoadInterleaved2(d, from, even, odd);
        hn::LoadInterleaved2(d, from - 2, before_even, before);
        hn::LoadInterleaved2(d, from + 2, after, after_odd);
        hn::StoreU(mixed_sixteenth(hn::Add(even, odd), hn::Add(before, after)), d, y + k + 1);
      },
      [&](std::int64_t k) { one(k + 1); });
}

void mix(const float* near, const float* far, float* y, std::int64_t count) {
  const Numbers d;
  each_vector(
      Numbers(), count,
      [&](std::int64_t i)
          HWY_ATTR { hn::StoreU(mixed(hn::LoadU(d, near + i), hn::LoadU(d, far + i)), d, y + i); },
      [&](std::int64_t i) { y[i] = mixed_one(near[i], far[i]); });
}

void mix_pairs(const float* const* near, const float* const* far, float* y, std::int64_t count) {
  const Numbers d;
  const float *const first = near[0], *const second = near[1];
  const float *const above = far[0], *const below = far[1];
  each_vector(
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(first + i);
        ask_for(second + i);
        const auto close = hn::Add(hn::LoadU(d, first + i), hn::LoadU(d, second + i));
        const auto distant = hn::Add(hn::LoadU(d, above + i), hn::LoadU(d, below + i));
        hn::StoreU(mixed(close, distant), d, y + i);
      },
      [&](std::int64_t i) { y[i] = mixed_one(first[i] + second[i], above[i] + below[i]); });
}

#if HWY_TARGET == HWY_NEON
/// Both rows of results at once, a line of each in turn: rows are of whole lines.
HWY_INLINE void mix_lines(const float* x, float* y, std::int64_t count) {
  const Numbers d;
  const float *const here = x + count, *const below = here + count;
  for (std::int64_t i = 0; i < count; i += 4 * lanes()) {
    const auto near = [&](std::int64_t v) HWY_ATTR { return hn::LoadU(d, here + i + v * lanes()); };
    const auto store_line = [&](const float* far, float* to, Vector a, Vector b, Vector c,
                                Vector e) HWY_ATTR {
      const auto f = mixed(a, hn::LoadU(d, far + i)), g = mixed(b, hn::LoadU(d, far + i + lanes()));
      const auto h = mixed(c, hn::LoadU(d, far + i + 2 * lanes()));
      const auto j = mixed(e, hn::LoadU(d, far + i + 3 * lanes()));
      hn::StoreU(f, d, to + i);
      hn::StoreU(g, d, to + i + lanes());
      hn::StoreU(h, d, to + i + 2 * lanes());
      hn::StoreU(j, d, to + i + 3 * lanes());
    };
    const auto a = near(0), b = near(1), c = near(2), e = near(3);
    store_line(x, y, a, b, c, e);
    store_line(below, y + count, a, b, c, e);
  }
}
#endif

void mix_rows(const float* x, float* y, std::int64_t count, std::int64_t rows) {
#if HWY_TARGET == HWY_NEON
  if (count % (4 * lanes()) == 0 && reinterpret_cast<std::uintptr_t>(y) % 64 == 0) {
    for (std::int64_t row = 0; row < rows; ++row) {
      mix_lines(x + row * count, y + 2 * row * count, count);
    }
    return;
  }
#endif
  for (std::int64_t row = 0; row < rows; ++row, x += count, y += 2 * count) {
    mix(x + count, x, y, count);
    mix(x + count, x + 2 * count, y + count, count);
  }
}

#if HWY_TARGET == HWY_NEON
/// What rows of gradients give to the row that two of them are near to, at every column of theirs.
struct MixedRows {
  const float *above, *first, *second, *below;

  HWY_INLINE Vector at(std::int64_t i) const {
    const Numbers d;
    return mixed(hn::Add(hn::LoadU(d, first + i), hn::LoadU(d, second + i)),
                 hn::Add(hn::LoadU(d, above + i), hn::LoadU(d, below + i)));
  }
  HWY_INLINE float one_at(std::int64_t i) const {
    return mixed_one(first[i] + second[i], above[i] + below[i]);
  }
};

/// Eight numbers as those at even places and those at odd ones, and sums of an even one and the
/// next.
struct Turns {
  Vector even, odd, pairs;

  HWY_INLINE Turns(Vector low, Vector high) {
    const Numbers d;
    even = hn::ConcatEven(d, high, low);
    odd = hn::ConcatOdd(d, high, low);
    pairs = hn::Add(even, odd);
  }
  HWY_INLINE Turns(const MixedRows& rows, std::int64_t i)
      : Turns(rows.at(i), rows.at(i + lanes())) {}
};

/// Numbers that come one after the other, from `by` on.
template <int by>
HWY_INLINE Vector from_both(Vector first, Vector second) {
  return hn::CombineShiftRightBytes<4 * by>(Numbers(), second, first);
}

void narrow_row(const MixedRows& rows, float* y, std::int64_t count) {
  const Numbers d;
  const std::int64_t whole = count / lanes() * lanes(), width = 2 * count;
  // What a vector gets of itself and of what is before it; `next` is what is behind.
  const auto store = [&](std::int64_t i, Vector pairs, Vector before, Vector even, Vector next_even)
                         HWY_ATTR {
                           const auto far = hn::Add(before, from_both<1>(even, next_even));
                           hn::StoreU(mixed_sixteenth(pairs, far), d, y + i);
                         };
  // The first and the last number are repeated outside.
  if (whole > 0) {
    // A vector is complete when the next is there.
    auto last_odd = hn::Set(d, rows.one_at(0));
    auto before = last_odd, even = last_odd, pairs = last_odd;
    std::int64_t i = 0;
    const auto turn = [&](const Turns& here) HWY_ATTR {
      if (i > 0) store(i - lanes(), pairs, before, even, here.even);
      before = from_both<3>(last_odd, here.odd);
      even = here.even;
      pairs = here.pairs;
      last_odd = here.odd;
      i += lanes();
    };
    if (whole >= 2 * lanes()) {
      // Sixteen numbers of each row, step by step: of one vector after the other, each operation
      // would wait for the one before it.
      const auto two = [&] HWY_ATTR {
        const std::int64_t from = 2 * i;
        // Of the two rows that are new, in the order of memory.
        for (const std::int64_t line : {std::int64_t(0), 4 * lanes()}) {
          ask_after(rows.first + 2 * from + line);
          bring_soon(rows.first + 2 * from + line);
        }
        const auto sum = [&](const float* one, const float* other, std::int64_t v) HWY_ATTR {
          const std::int64_t at = from + v * lanes();
          return hn::Add(hn::LoadU(d, one + at), hn::LoadU(d, other + at));
        };
        const auto near = [&](std::int64_t v) HWY_ATTR { return sum(rows.first, rows.second, v); };
        const auto far = [&](std::int64_t v) HWY_ATTR { return sum(rows.above, rows.below, v); };
        const Vector a = near(0), b = near(1), c = near(2), e = near(3);
        const Vector f = far(0), g = far(1), h = far(2), j = far(3);
        const Vector k = mixed(a, f), l = mixed(b, g), m = mixed(c, h), n = mixed(e, j);
        turn(Turns(k, l));
        turn(Turns(m, n));
      };
      two();
      while (i + 2 * lanes() <= whole) two();
    }
    if (i < whole) turn(Turns(rows, 2 * i));
    store(i - lanes(), pairs, before, even, hn::Set(d, rows.one_at(HWY_MIN(2 * whole, width - 1))));
  }
  for (std::int64_t i = whole; i < count; ++i) {
    const float before = rows.one_at(HWY_MAX(2 * i, 1) - 1);
    const float behind = rows.one_at(HWY_MIN(2 * i + 2, width - 1));
    y[i] = mixed_one_sixteenth(rows.one_at(2 * i) + rows.one_at(2 * i + 1), before + behind);
  }
}

void narrow_row_pairs(const float* const* x, float* y, std::int64_t count, std::int64_t rows) {
  MixedRows from{x[0], x[1], x[2], x[3]};
  for (std::int64_t row = 0; row < rows; ++row, y += count) {
    narrow_row(from, y, count);
    from.above += 4 * count;
    from.first += 4 * count;
    from.second += 4 * count;
    from.below += 4 * count;
  }
}
#else
constexpr auto narrow_row_pairs = nullptr;  // vectors are longer, and go around the caches
#endif

void sums_of_rows(const float* x, std::int64_t width, float factor, float* y, std::int64_t rows,
                  const float* end) {
  const Numbers d;
  const std::int64_t whole = width / lanes() * lanes();
  const auto rest = hn::FirstN(d, static_cast<std::size_t>(width - whole));
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
    auto total = hn::Zero(d);
    std::int64_t i = 0;
#if HWY_TARGET == HWY_NEON
    auto second = total, third = total, fourth = total;
    for (; i + 4 * lanes() <= whole; i += 4 * lanes()) {
      ask_for_line(x, i);
      total = hn::Add(total, hn::LoadU(d, x + i));
      second = hn::Add(second, hn::LoadU(d, x + i + lanes()));
      third = hn::Add(third, hn::LoadU(d, x + i + 2 * lanes()));
      fourth = hn::Add(fourth, hn::LoadU(d, x + i + 3 * lanes()));
    }
    total = hn::Add(hn::Add(total, second), hn::Add(third, fourth));
#endif
    for (; i < whole; i += lanes()) {
      ask_for_line(x, i);
      total = hn::Add(total, hn::LoadU(d, x + i));
    }
    float left = 0;
    if (end - x >= whole + lanes()) {
      total = hn::Add(total, hn::IfThenElseZero(rest, hn::LoadU(d, x + whole)));
    } else {
      for (; i < width; ++i) left += x[i];
    }
    y[row] = (hn::GetLane(hn::SumOfLanes(d, total)) + left) * factor;
  }
}

/// Rows shorter than a vector.
void short_rows_of_same(const float* x, std::int64_t width, float factor, float* y,
                        std::int64_t rows) {
  const Numbers d;
  const std::int64_t count = rows * width;
  for (std::int64_t row = 0; row < rows; ++row) {
    // The next row takes back what goes too far.
    store_first(hn::Set(d, factor * x[row]), Numbers(), y + row * width, count - row * width);
  }
}

/// Every vector is stored once, and one that lies on two rows is put together first: there are
/// processors that stop writing whole lines when a part of them is written twice.
void rows_of_same(const float* x, std::int64_t width, float factor, float* y, std::int64_t rows) {
  const Numbers d;
  if (width < lanes()) return short_rows_of_same(x, width, factor, y, rows);
  auto last = hn::Zero(d);
  std::int64_t at = 0;  // what is stored
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = hn::Set(d, factor * x[row]);
    const auto before = static_cast<std::size_t>(row * width - at);  // of the last row
    hn::StoreU(hn::IfThenElse(hn::FirstN(d, before), last, value), d, y + at);
    at += lanes();
    const std::int64_t end = (row + 1) * width;
    for (; at + 4 * lanes() <= end; at += 4 * lanes()) {
      for (std::int64_t k = 0; k < 4; ++k) hn::StoreU(value, d, y + at + k * lanes());
    }
    for (; at + lanes() <= end; at += lanes()) hn::StoreU(value, d, y + at);
    last = value;
  }
  store_first(last, Numbers(), y + at, rows * width - at);
}

[[maybe_unused]] const bool is_added =
    cpu::compiled_kernels<LayoutLoops>().add(HWY_TARGET, {.split_pairs = split_pairs,
                                                          .join_pairs = join_pairs,
                                                          .split_rows = split_rows,
                                                          .join_rows = join_rows,
                                                          .twice = twice,
                                                          .twice_rows = twice_rows,
                                                          .add_pairs = add_pairs,
                                                          .widen = widen,
                                                          .widen_rows = widen_rows,
                                                          .narrow = narrow,
                                                          .mix = mix,
                                                          .mix_pairs = mix_pairs,
                                                          .mix_rows = mix_rows,
                                                          .narrow_row_pairs = narrow_row_pairs,
                                                          .sums_of_rows = sums_of_rows,
                                                          .rows_of_same = rows_of_same});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const LayoutLoops* layout_loops() { return cpu::best_kernels_if_any<LayoutLoops>(); }

}  // namespace strata::cpu_training
#endif
