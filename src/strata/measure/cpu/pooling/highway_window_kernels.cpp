// SPDX-License-Identifier: Apache-2.0
// Pooling over windows of 3 × 3, and maxima of 2 × 2, for each kind of vector unit;
// foreach_target.h reads this file once for each.
#include "strata/cpu/per_target.hpp"
#include "strata/measure/cpu/pooling/window_loops.hpp"

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | STRATA_SCALABLE_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "strata/measure/cpu/pooling/highway_window_kernels.cpp"
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

using Numbers = hn::CappedTag<float, 16>;  // see room_behind_held
using Whole = hn::RebindToSigned<Numbers>;
using Bytes = hn::Rebind<std::uint8_t, Whole>;
using Vector = hn::Vec<Numbers>;
using WholeVector = hn::Vec<Whole>;

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Numbers())); }

void hold_one(const HeldRows& held, std::int64_t i, float number, float* row) {
  const std::int64_t place = held.left + i;
  if (held.stride == 1) {
    row[place] = number;
  } else {
    row[place / 2 + (place % 2 == 0 ? 0 : held.odd_at)] = number;
  }
}

/// Whole vectors; what they have behind the row becomes `outside`.
template <std::int64_t stride>
HWY_INLINE bool hold_rows(const HeldRows& held, const float* x, std::int64_t rows, float outside,
                          float* room) {
  const Numbers d;
  const std::int64_t step = lanes();
  const auto fill = hn::Set(d, outside);
  // Where the first number goes, and the second.
  const std::int64_t even = held.left / 2 + (held.left % 2 == 0 ? 0 : held.odd_at);
  const std::int64_t odd = (held.left + 1) / 2 + (held.left % 2 == 0 ? held.odd_at : 0);
  auto has_none = hn::FirstN(d, 0);
  for (std::int64_t row = 0; row < rows; ++row, x += held.width, room += held.pitch) {
    for (std::int64_t i = 0; i < held.width; i += stride * step) {
      ask_for(x + i);
      auto a = hn::LoadU(d, x + i);
      if (held.width - i < step) {
        a = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(held.width - i)), a, fill);
      }
      if constexpr (stride == 1) {
        has_none = hn::Or(has_none, hn::IsNaN(a));
        hn::StoreU(a, d, room + held.left + i);
      } else {
        ask_for(x + i + step);
        auto b = fill;
        if (held.width - i > step) {
          b = hn::LoadU(d, x + i + step);
          if (held.width - i < 2 * step) {
            b = hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(held.width - i - step)), b,
                               fill);
          }
        }
        has_none = hn::Or(has_none, hn::Or(hn::IsNaN(a), hn::IsNaN(b)));
        hn::StoreU(hn::ConcatEven(d, b, a), d, room + even + i / 2);
        hn::StoreU(hn::ConcatOdd(d, b, a), d, room + odd + i / 2);
      }
    }
  }
  return !hn::AllFalse(d, has_none);
}

bool hold(const HeldRows& held, const float* x, const float* end, std::int64_t rows, float outside,
          float* room) {
  bool has_none = false;
  // Rows that vectors may read beyond.
  const std::int64_t beyond = end - x - 2 * lanes();
  const std::int64_t whole = beyond < 0 ? 0 : HWY_MIN(rows, beyond / held.width);
  has_none = held.stride == 1 ? hold_rows<1>(held, x, whole, outside, room)
                              : hold_rows<2>(held, x, whole, outside, room);
  for (std::int64_t row = whole; row < rows; ++row) {
    for (std::int64_t i = 0; i < held.width; ++i) {
      const float number = x[row * held.width + i];
      has_none = has_none || number != number;
      hold_one(held, i, number, room + row * held.pitch);
    }
  }
  return has_none;
}

void hold_shares(const float* x, const float* shares, float share, float* room,
                 std::int64_t count) {
  const Numbers d;
  const auto of_row = hn::Set(d, share);
  each_vector(
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(x + i);
        const auto factor = hn::Mul(of_row, hn::LoadU(d, shares + i));
        hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, room + i);
      },
      [&](std::int64_t i) { room[i] = x[i] * (share * shares[i]); });
}

void hold_taps(const float* dy, const std::uint8_t* taps, float* gradients, std::int32_t* which,
               std::int64_t count) {
  const Numbers d;
  const Whole di;
  each_vector(
      Numbers(), count,
      [&](std::int64_t i) HWY_ATTR {
        ask_for(dy + i);
        __builtin_prefetch(taps + i + 1024, 0, 2);
        hn::StoreU(hn::LoadU(d, dy + i), d, gradients + i);
        hn::StoreU(hn::PromoteTo(di, hn::LoadU(Bytes(), taps + i)), di, which + i);
      },
      [&](std::int64_t i) {
        gradients[i] = dy[i];
        which[i] = taps[i];
      });
}

HWY_INLINE void store_taps(WholeVector taps, std::uint8_t* to, std::int64_t count) {
  const Bytes d;
  const auto bytes = hn::DemoteTo(d, taps);
  if (count >= lanes()) return hn::StoreU(bytes, d, to);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(bytes, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
#else
  HWY_ALIGN std::uint8_t some[hn::MaxLanes(d)];
  hn::StoreU(bytes, d, some);
  __builtin_memcpy(to, some, static_cast<std::size_t>(count));
#endif
}

/// Several vectors at once, so that none waits for its own last step.
constexpr int at_once = 2;

/// The largest, and which tap it is.
template <bool knows_numbers>
struct Largest {
  /// Written down, as gcc compiles what it adds itself for no target in particular.
  Largest() {}

  Vector most[at_once];
  WholeVector tap[at_once];

  HWY_INLINE static auto is_larger(Vector value, Vector most) {
    if constexpr (knows_numbers) {
      return hn::Gt(value, most);
    } else {
      return hn::Or(hn::Gt(value, most), hn::IsNaN(value));
    }
  }
  /// Of a row by itself.
  template <std::int64_t stride>
  HWY_INLINE void take_row(const HeldRows& held, const float* row, const WholeVector* defaults) {
    const Numbers d;
    const Whole di;
    for (int v = 0; v < at_once; ++v) {
      const float* const from = row + v * lanes();
      most[v] = hn::LoadU(d, from);
      tap[v] = defaults[v];
      const auto second = hn::LoadU(d, stride == 1 ? from + 1 : from + held.odd_at);
      const auto third = hn::LoadU(d, stride == 1 ? from + 2 : from + 1);
      const auto is_second = is_larger(second, most[v]);
      most[v] = hn::IfThenElse(is_second, second, most[v]);
      tap[v] = hn::IfThenElse(hn::RebindMask(di, is_second), hn::Set(di, 1), tap[v]);
      const auto is_third = is_larger(third, most[v]);
      most[v] = hn::IfThenElse(is_third, third, most[v]);
      tap[v] = hn::IfThenElse(hn::RebindMask(di, is_third), hn::Set(di, 2), tap[v]);
    }
  }
  HWY_INLINE void lift(std::int32_t by) {
    for (int v = 0; v < at_once; ++v) tap[v] = hn::Add(tap[v], hn::Set(Whole(), by));
  }
  /// With a row that comes later in the window.
  HWY_INLINE void take(const Largest& other, std::int32_t first_tap) {
    const Whole di;
    for (int v = 0; v < at_once; ++v) {
      const auto is_other = is_larger(other.most[v], most[v]);
      most[v] = hn::IfThenElse(is_other, other.most[v], most[v]);
      tap[v] = hn::IfThenElse(hn::RebindMask(di, is_other),
                              hn::Add(other.tap[v], hn::Set(di, first_tap)), tap[v]);
    }
  }
};

template <bool knows_numbers, std::int64_t stride>
void largest_rows(const HeldRows& held, const float* const* rows, std::int64_t row_count,
                  const std::int32_t* defaults, bool is_first_above, float* most,
                  std::uint8_t* which, std::int64_t width) {
  const Whole di;
  const std::int64_t step = lanes();
  for (std::int64_t i = 0; i < width; i += at_once * step) {
    WholeVector first_taps[at_once];
    for (int v = 0; v < at_once; ++v) first_taps[v] = hn::LoadU(di, defaults + i + v * step);
    Largest<knows_numbers> first, second, third;
    first.template take_row<stride>(held, rows[0] + i, first_taps);
    if (stride == 1) second.template take_row<stride>(held, rows[1] + i, first_taps);
    for (std::int64_t row = 0; row < row_count; ++row) {
      if (stride == 2) second.template take_row<stride>(held, rows[2 * row + 1] + i, first_taps);
      third.template take_row<stride>(held, rows[row * stride + 2] + i, first_taps);
      if (row == 0 && is_first_above) first.lift(3);
      first.take(second, 3);
      first.take(third, 6);
      for (int v = 0; v < at_once; ++v) {
        const std::int64_t at = i + v * step, left = width - at;
        if (left <= 0) break;
        store_first(first.most[v], Numbers(), most + row * width + at, left);
        if (which == nullptr) continue;
        store_taps(first.tap[v], which + row * width + at, left);
      }
      first = stride == 1 ? second : third;
      if (stride == 1) second = third;
    }
  }
}

void largest(const HeldRows& held, const float* const* rows, std::int64_t row_count,
             const std::int32_t* defaults, bool is_first_above, bool has_no_number, float* most,
             std::uint8_t* which, std::int64_t width) {
  const auto work = held.stride == 1
                        ? (has_no_number ? largest_rows<false, 1> : largest_rows<true, 1>)
                        : (has_no_number ? largest_rows<false, 2> : largest_rows<true, 2>);
  work(held, rows, row_count, defaults, is_first_above, most, which, width);
}

template <std::int64_t stride>
HWY_INLINE Vector sum_of_three(const HeldRows& held, const float* from) {
  const Numbers d;
  const auto second = hn::LoadU(d, stride == 1 ? from + 1 : from + held.odd_at);
  const auto third = hn::LoadU(d, stride == 1 ? from + 2 : from + 1);
  return hn::Add(hn::Add(hn::LoadU(d, from), second), third);
}

template <std::int64_t stride>
void sum_rows(const HeldRows& held, const float* const* rows, std::int64_t row_count,
              const float* row_shares, const float* shares, float* y, std::int64_t width) {
  const Numbers d;
  for (std::int64_t i = 0; i < width; i += lanes()) {
    const auto share = shares != nullptr ? hn::LoadU(d, shares + i) : hn::Set(d, 1.0F);
    auto first = sum_of_three<stride>(held, rows[0] + i);
    auto second = stride == 1 ? sum_of_three<stride>(held, rows[1] + i) : first;
    for (std::int64_t row = 0; row < row_count; ++row) {
      if (stride == 2) second = sum_of_three<stride>(held, rows[2 * row + 1] + i);
      const auto third = sum_of_three<stride>(held, rows[row * stride + 2] + i);
      auto total = hn::Add(hn::Add(first, second), third);
      if (shares != nullptr) total = hn::Mul(total, hn::Mul(hn::Set(d, row_shares[row]), share));
      store_first(total, Numbers(), y + row * width + i, width - i);
      first = stride == 1 ? second : third;
      second = third;
    }
  }
}

void sum(const HeldRows& held, const float* const* rows, std::int64_t row_count,
         const float* row_shares, const float* shares, float* y, std::int64_t width) {
  (held.stride == 1 ? sum_rows<1> : sum_rows<2>)(held, rows, row_count, row_shares, shares, y,
                                                 width);
}

/// What gradients give to the three rows that their window lies on, of one tap along it.
template <int vectors>
HWY_INLINE void add_taps(const TapsRow& row, std::int32_t tap, std::int64_t at, Vector (*rows)[3]) {
  const Numbers d;
  const Whole di;
  for (int v = 0; v < vectors; ++v) {
    const auto which = hn::LoadU(di, row.which + at + v * lanes());
    const auto gradient = hn::LoadU(d, row.gradients + at + v * lanes());
    for (std::int32_t k = 0; k < 3; ++k) {
      const auto is_there = hn::RebindMask(d, hn::Eq(which, hn::Set(di, 3 * k + tap)));
      rows[v][k] = hn::IfThenElse(is_there, hn::Add(rows[v][k], gradient), rows[v][k]);
    }
  }
}

void spread_next(const TapsRow* rows, const SpreadRows& shape, float* dx) {
  const Numbers d;
  constexpr int vectors = 2;
  for (std::int64_t i = 0; i < shape.width; i += vectors * lanes()) {
    // Gradients of a row of windows reach the row that is complete with them and the next two.
    Vector reached[vectors][3];
    for (auto& each : reached) each[0] = each[1] = each[2] = hn::Zero(d);
    for (std::int64_t j = 0; j < shape.count; ++j) {
      for (std::int32_t tap = 0; tap < 3; ++tap) {
        add_taps<vectors>(rows[j], tap, i + shape.pad - tap, reached);
      }
      for (int v = 0; v < vectors; ++v) {
        const std::int64_t at = i + v * lanes();
        if (j >= shape.first && at < shape.width) {
          store_first(reached[v][0], Numbers(), dx + (j - shape.first) * shape.width + at,
                      shape.width - at);
        }
        reached[v][0] = reached[v][1];
        reached[v][1] = reached[v][2];
        reached[v][2] = hn::Zero(d);
      }
    }
  }
}

/// Numbers that two taps reach and those that one does take turns.
HWY_INLINE void store_turns(Vector even, Vector odd, float* dx, std::int64_t left) {
  const Numbers d;
  if (left >= 2 * lanes()) return hn::StoreInterleaved2(even, odd, d, dx);
  HWY_ALIGN float last[2 * hn::MaxLanes(d)];
  hn::StoreInterleaved2(even, odd, d, last);
  store_first(hn::Load(d, last), Numbers(), dx, left);
  if (left > lanes())
    store_first(hn::Load(d, last + lanes()), Numbers(), dx + lanes(), left - lanes());
}

void spread_second(const TapsRow* rows, const SpreadRows& shape, float* dx) {
  const Numbers d;
  for (std::int64_t i = 0; 2 * i < shape.width; i += lanes()) {
    Vector one[1][3], two[1][3];
    for (int k = 0; k < 3; ++k) one[0][k] = two[0][k] = hn::Zero(d);
    std::int64_t row = -shape.first;  // of dx
    for (std::int64_t j = 0; j < shape.count; ++j) {
      add_taps<1>(rows[j], 1, i, one);
      add_taps<1>(rows[j], 0, i + shape.pad, two);
      add_taps<1>(rows[j], 2, i + shape.pad - 1, two);
      for (int k = 0; k < 2; ++k, ++row) {
        if (row < 0 || row >= shape.rows) continue;
        store_turns(shape.pad == 1 ? one[0][k] : two[0][k], shape.pad == 1 ? two[0][k] : one[0][k],
                    dx + row * shape.width + 2 * i, shape.width - 2 * i);
      }
      one[0][0] = one[0][2];
      two[0][0] = two[0][2];
      for (int k = 1; k < 3; ++k) one[0][k] = two[0][k] = hn::Zero(d);
    }
  }
}

void spread(const TapsRow* rows, const SpreadRows& shape, float* dx) {
  (shape.stride == 1 ? spread_next : spread_second)(rows, shape, dx);
}

void largest_of_pairs(const float* x, float* most, std::uint8_t* which, std::int64_t count,
                      std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row, x += 4 * count, most += count) {
    each_vector_of_row(Numbers(), count, [&](auto d, std::int64_t i) HWY_ATTR {
      using D = decltype(d);
      const hn::RebindToSigned<D> whole;
      const hn::Rebind<std::uint8_t, decltype(whole)> bytes;
      hn::Vec<D> best, odd, lower_even, lower_odd;
      hn::LoadInterleaved2(d, x + 2 * i, best, odd);
      hn::LoadInterleaved2(d, x + 2 * count + 2 * i, lower_even, lower_odd);
      auto tap = hn::Zero(whole);
      const auto take = [&](hn::Vec<D> number, std::int32_t k) HWY_ATTR {
        const auto is_larger = hn::Or(hn::Gt(number, best), hn::IsNaN(number));
        best = hn::IfThenElse(is_larger, number, best);
        tap = hn::IfThenElse(hn::RebindMask(whole, is_larger), hn::Set(whole, k), tap);
      };
      take(odd, 1);
      take(lower_even, 2);
      take(lower_odd, 3);
      hn::StoreU(best, d, most + i);
      if (which != nullptr) hn::StoreU(hn::DemoteTo(bytes, tap), bytes, which + i);
    });
    if (which != nullptr) which += count;
  }
}

void spread_pairs(const float* dy, const std::uint8_t* which, float* dx, std::int64_t count,
                  std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row, dy += count, which += count, dx += 4 * count) {
    each_vector_of_row(Numbers(), count, [&](auto d, std::int64_t i) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> whole;
      const hn::Rebind<std::uint8_t, decltype(whole)> bytes;
      const auto gradient = hn::LoadU(d, dy + i);
      const auto tap = hn::PromoteTo(whole, hn::LoadU(bytes, which + i));
      const auto of = [&](std::int32_t k) HWY_ATTR {
        return hn::IfThenElseZero(hn::RebindMask(d, hn::Eq(tap, hn::Set(whole, k))), gradient);
      };
      hn::StoreInterleaved2(of(0), of(1), d, dx + 2 * i);
      hn::StoreInterleaved2(of(2), of(3), d, dx + 2 * count + 2 * i);
    });
  }
}

[[maybe_unused]] const bool is_added =
    cpu::compiled_kernels<WindowLoops>().add(HWY_TARGET, {.hold = hold,
                                                          .hold_shares = hold_shares,
                                                          .hold_taps = hold_taps,
                                                          .largest = largest,
                                                          .largest_of_pairs = largest_of_pairs,
                                                          .spread_pairs = spread_pairs,
                                                          .sum = sum,
                                                          .spread = spread});

}  // namespace
}  // namespace strata::cpu_training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#if HWY_ONCE
namespace strata::cpu_training {

const WindowLoops* window_loops() { return cpu::best_kernels_if_any<WindowLoops>(); }

}  // namespace strata::cpu_training
#endif
