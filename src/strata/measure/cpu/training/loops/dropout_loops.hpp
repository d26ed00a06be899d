// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/loops/lanes.hpp"
#include "strata/measure/training/constants.hpp"

#include <array>
#include <cstdint>

/// Loops of dropout: which numbers are kept is a hash of their places, the same on every device.
namespace strata::cpu_training {

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

/// One byte of each number of four vectors that have all bits or none: 1 or 0.
#ifdef __aarch64__
STRATA_INLINE void store_mask(const Four<std::int32_t>& is, std::uint8_t* mask) {
  const auto narrow = [](auto x, auto y) STRATA_INLINE_LAMBDA {
    return vuzp1q_u16(reinterpret_cast<uint16x8_t>(x), reinterpret_cast<uint16x8_t>(y));
  };
  const auto bytes =
      vuzp1q_u8(vreinterpretq_u8_u16(narrow(is.a, is.b)), vreinterpretq_u8_u16(narrow(is.c, is.d)));
  vst1q_u8(mask, vandq_u8(bytes, vdupq_n_u8(1)));
}
#else
STRATA_INLINE void store_mask(const Four<std::int32_t>&, std::uint8_t*) {}
#endif

/// Dropout of numbers whose places have the same upper 16 bits, from a whole multiple of 16 on, as
/// many as go into four vectors at a time; how many. Places differ in their last four bits then:
/// the first product of mixed_bits is that of the other bits plus one of 16 that are always the
/// same.
template <class T>
STRATA_INLINE std::int64_t drop_by_four(const T* x, std::uint32_t place, std::uint32_t mixed_key,
                                        std::uint32_t threshold, T scale, T* y, std::uint8_t* mask,
                                        std::int64_t count) {
  using namespace training_constants;
  using Bits = Four<std::uint32_t>;
  constexpr std::uint32_t together = 16;
  std::array<std::uint32_t, together> products;
  for (std::uint32_t k = 0; k < together; ++k) {
    products[k] = first_product((mixed_key ^ k) % together);
  }
  Bits of_last_bits;
  AtFour<std::uint32_t>{0}.load_near(of_last_bits, products.data());
  return fours_in_two_steps<T>(
      count,
      [=](AtFour<T> at) STRATA_INLINE_LAMBDA {
        const std::uint32_t at_place = place + static_cast<std::uint32_t>(at.place);
        const std::uint32_t others = (at_place ^ mixed_key) / together * together;
        return mixed_from_product(of_last_bits + Bits(first_product(others)));
      },
      [=](AtFour<T> at, const Bits& mixed) STRATA_INLINE_LAMBDA {
        const auto is_kept = mixed >= Bits(threshold);
        Four<T> number;
        at.load(number, x);
        at.store(bits_as<Four<T>>(bits_as<Bits>(number * scale) & bits_as<Bits>(is_kept)), y);
        store_mask(is_kept, mask + at.place);
      });
}

/// Dropout of elements first, first + 1, … (their places' lower halves; none crosses 2³²).
template <class T>
STRATA_INLINE void drop_loop(const T* x, std::uint32_t key, std::uint32_t first,
                             std::uint32_t threshold, T scale, T* y,
                             std::uint8_t* __restrict__ mask, std::int64_t count) {
  using namespace training_constants;
  // So far places have the same upper 16 bits: the first step of mixed_bits is the same for all.
  constexpr std::int64_t same_upper_half = 1 << 16;
  for (std::int64_t begin = 0; begin < count;) {
    const std::uint32_t start = first + static_cast<std::uint32_t>(begin);
    const std::int64_t left = same_upper_half - static_cast<std::int64_t>(start % same_upper_half);
    const std::int64_t end = begin + left < count ? begin + left : count;
    const std::uint32_t mixed_key = with_upper_half(key) ^ (start >> 16U);
    const auto each = [&](std::int64_t from, std::int64_t to) STRATA_INLINE_LAMBDA {
      std::uint32_t place = first + static_cast<std::uint32_t>(from);
#pragma GCC unroll 2
      for (std::int64_t i = from; i < to; ++i, ++place) {
        const bool is_kept = mixed_from_there(place ^ mixed_key) >= threshold;
        const T scaled = x[i] * scale;  // in any case, so that it becomes a vector
        y[i] = is_kept ? scaled : T(0);
        // As vector units give it: made narrow first, one bit of it after.
        const std::uint32_t all = is_kept ? ~std::uint32_t{0} : 0;
        mask[i] = static_cast<std::uint8_t>(all) & 1U;
      }
    };
    if constexpr (writes_vectors<T>) {
      const std::int64_t next = begin + static_cast<std::int64_t>((16 - start % 16) % 16);
      const std::int64_t middle = next < end ? next : end;
      each(begin, middle);
      begin =
          middle + drop_by_four(x + middle, first + static_cast<std::uint32_t>(middle), mixed_key,
                                threshold, scale, y + middle, mask + middle, end - middle);
    }
    each(begin, end);
    begin = end;
  }
}

/// Of four vectors: each byte of the mask becomes a scale or 0 by one step that spreads its bits
/// and one that picks those of the scale.
template <class T>
STRATA_INLINE void keep_four(const T* dy, const std::uint8_t* mask, T scale, T* dx) {
  using Bytes __attribute__((vector_size(16))) = std::uint8_t;
  using Bits __attribute__((vector_size(16))) = std::uint32_t;
  Bytes kept;
  ask_after(mask);
  __builtin_memcpy(&kept, mask, sizeof kept);
  kept = -kept;  // of 1: all bits
  const auto scale_bits = reinterpret_cast<Bits>(scale - Lanes<T>{});
  const auto of = [=](Bytes spread) STRATA_INLINE_LAMBDA {
    return reinterpret_cast<Lanes<T>>(reinterpret_cast<Bits>(spread) & scale_bits);
  };
  const AtFour<T> at{0};
  Four<T> d;
  at.load(d, dy);
  at.store(
      d * Four<T>(
              of(__builtin_shuffle(kept, Bytes{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3})),
              of(__builtin_shuffle(kept, Bytes{4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7})),
              of(__builtin_shuffle(kept,
                                   Bytes{8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 11, 11, 11, 11})),
              of(__builtin_shuffle(
                  kept, Bytes{12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15}))),
      dx);
}
template <class T>
STRATA_INLINE void keep_loop(const T* dy, const std::uint8_t* __restrict__ mask, T scale, T* dx,
                             std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (writes_vectors<T>) {
    for (; i + 4 * lanes<T> <= count; i += 4 * lanes<T>) keep_four(dy + i, mask + i, scale, dx + i);
  }
  for (; i < count; ++i) {
    dx[i] = dy[i] * (static_cast<T>(static_cast<std::int32_t>(mask[i])) * scale);
  }
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
