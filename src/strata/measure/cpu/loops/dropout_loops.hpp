// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/lanes.hpp"
#include "strata/measure/engine/constants.hpp"

#include <array>
#include <cstdint>

/// Loops of dropout: which numbers are kept is a hash of their places, the same on every device.
namespace strata::cpu_training {

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

/// Which of two times 16 numbers are kept, by the halves of 16 hashes: all bits or none, of the
/// size of the numbers and as bytes.
struct KeptPairs {
  Four<std::int32_t> lower, upper;
#ifdef __aarch64__
  uint8x16_t lower_bytes, upper_bytes;

  STRATA_INLINE KeptPairs(const Four<std::uint32_t>& hashes, std::uint32_t threshold) {
    const uint16x8_t least = vdupq_n_u16(static_cast<std::uint16_t>(threshold >> 16U));
    const auto halves = [=](auto of) STRATA_INLINE_LAMBDA {
      return vcgeq_u16(reinterpret_cast<uint16x8_t>(of), least);
    };
    const uint16x8_t a = halves(hashes.a), b = halves(hashes.b), c = halves(hashes.c),
                     d = halves(hashes.d);
    const auto first = [](uint16x8_t x) STRATA_INLINE_LAMBDA {
      return reinterpret_cast<int32x4_t>(vtrn1q_u16(x, x));
    };
    const auto second = [](uint16x8_t x) STRATA_INLINE_LAMBDA {
      return reinterpret_cast<int32x4_t>(vtrn2q_u16(x, x));
    };
    lower = {first(a), first(b), first(c), first(d)};
    upper = {second(a), second(b), second(c), second(d)};
    const auto narrow = [](uint16x8_t x, uint16x8_t y) STRATA_INLINE_LAMBDA {
      return vuzp1q_u8(vreinterpretq_u8_u16(x), vreinterpretq_u8_u16(y));
    };
    const uint8x16_t ab = narrow(a, b), cd = narrow(c, d);
    lower_bytes = vuzp1q_u8(ab, cd);
    upper_bytes = vuzp2q_u8(ab, cd);
  }
  STRATA_INLINE void store_bytes(std::uint8_t* mask) const {
    vst1q_u8(mask, lower_bytes);
    vst1q_u8(mask + 16, upper_bytes);
  }
#else
  STRATA_INLINE KeptPairs(const Four<std::uint32_t>&, std::uint32_t) {}
  STRATA_INLINE void store_bytes(std::uint8_t*) const {}
#endif
};

/// Dropout of two times 16 numbers at a time, whose hashes have the numbers `hash`, `hash` + 1, …,
/// from a whole multiple of 16 on and with the same upper 16 bits. Numbers of hashes differ in
/// their last four bits then: the first product is that of the other bits plus one of 16 that are
/// always the same.
template <class T>
STRATA_INLINE void drop_by_four(const T* x, std::uint32_t hash, std::uint32_t mixed_key,
                                std::uint32_t threshold, T scale, T* y, std::uint8_t* mask,
                                std::int64_t count) {
  using namespace training_constants;
  using Bits = Four<std::uint32_t>;
  constexpr std::uint32_t together = dropout_pair_distance;
  static_assert(4 * lanes<T> == together || !writes_vectors<T>);
  std::array<std::uint32_t, together> products;
  for (std::uint32_t k = 0; k < together; ++k) {
    products[k] = first_product((mixed_key ^ k) % together);
  }
  Bits of_last_bits;
  AtFour<std::uint32_t>{0}.load_near(of_last_bits, products.data());
  const auto hashes = [=](AtFour<T> at) STRATA_INLINE_LAMBDA {
    const std::uint32_t number = hash + static_cast<std::uint32_t>(at.place);
    const std::uint32_t others = (number ^ mixed_key) / together * together;
    return second_product(of_last_bits + Bits(first_product(others)));
  };
  const auto drop = [=](std::int64_t place,
                        const Four<std::int32_t>& is_kept) STRATA_INLINE_LAMBDA {
    const AtFour<T> at{place};
    Four<T> number;
    at.load(number, x);
    at.store(bits_as<Four<T>>(bits_as<Bits>(number * scale) & bits_as<Bits>(is_kept)), y);
  };
  const auto drop_pairs = [=](AtFour<T> at, const Bits& hash_of) STRATA_INLINE_LAMBDA {
    const KeptPairs kept(hash_of, threshold);
    drop(2 * at.place, kept.lower);
    drop(2 * at.place + together, kept.upper);
    kept.store_bytes(mask + 2 * at.place);
  };
  fours_in_two_steps<T>(count / 2, hashes, drop_pairs);
}

/// Whether it is kept for one number: the mask as vector units give it, made narrow.
template <class T>
STRATA_INLINE void drop_one(bool is_kept, T x, T scale, T& y, std::uint8_t& mask) {
  const T scaled = x * scale;  // in any case, so that it becomes a vector
  y = is_kept ? scaled : T(0);
  mask = static_cast<std::uint8_t>(-static_cast<std::int32_t>(is_kept));
}

/// The same by loops of which compilers make vectors: one over hashes and one over numbers.
template <class T>
STRATA_INLINE void drop_by_pieces(const T* x, std::uint32_t hash, std::uint32_t mixed_key,
                                  std::uint32_t threshold, T scale, T* y,
                                  std::uint8_t* __restrict__ mask, std::int64_t count) {
  using namespace training_constants;
  constexpr std::int64_t piece = 256, pairs = dropout_pair_distance;
  std::array<std::uint32_t, piece> halves;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = begin + piece < count ? begin + piece : count;
    for (std::uint32_t* half = halves.data(); half < halves.data() + (end - begin);
         half += 2 * pairs, hash += pairs) {
#pragma GCC unroll 1  // else gcc makes vectors of every sixteenth hash
      for (std::uint32_t k = 0; k < pairs; ++k) {
        const std::uint32_t bits = second_product(first_product((hash + k) ^ mixed_key));
        half[k] = bits << 16U;
        half[k + pairs] = bits;
      }
    }
    const std::uint32_t* const half = halves.data();
#pragma GCC ivdep  // x and y do not overlap, but where they are the same
    for (std::int64_t i = begin; i < end; ++i) {
      drop_one(half[i - begin] >= threshold, x[i], scale, y[i], mask[i]);
    }
  }
}

/// Dropout of elements first, first + 1, …, the numbers of whose hashes have the same upper half.
template <class T>
STRATA_INLINE void drop_loop(const T* x, std::uint32_t key, std::uint64_t first,
                             std::uint32_t threshold, T scale, T* y,
                             std::uint8_t* __restrict__ mask, std::int64_t count) {
  using namespace training_constants;
  constexpr std::int64_t block = 2 * std::int64_t{dropout_pair_distance};
  // So far hashes have the same upper 16 bits: the first step of mixing is the same for all.
  constexpr std::int64_t same_upper_half = std::int64_t{2} << 16U;
  const auto one_by_one = [=](std::int64_t from, std::int64_t to) STRATA_INLINE_LAMBDA {
    for (std::int64_t i = from; i < to; ++i) {
      const std::uint64_t place = first + static_cast<std::uint64_t>(i);
      const auto number = static_cast<std::uint32_t>(dropout_hash_number(place));
      const bool is_kept = dropout_half(dropout_hash(key, number), place) >= threshold;
      drop_one(is_kept, x[i], scale, y[i], mask[i]);
    }
  };
  const auto before = static_cast<std::int64_t>(-first % static_cast<std::uint64_t>(block));
  std::int64_t begin = before < count ? before : count;
  one_by_one(0, begin);
  while (begin + block <= count) {
    const std::uint64_t start = first + static_cast<std::uint64_t>(begin);
    const std::int64_t left = same_upper_half - static_cast<std::int64_t>(start % same_upper_half);
    const std::int64_t whole = (count - begin) / block * block,
                       length = left < whole ? left : whole;
    const auto hash = static_cast<std::uint32_t>(dropout_hash_number(start));
    const std::uint32_t mixed_key = with_upper_half(key) ^ (hash >> 16U);
    if constexpr (writes_vectors<T>) {
      drop_by_four(x + begin, hash, mixed_key, threshold, scale, y + begin, mask + begin, length);
    } else {
      drop_by_pieces(x + begin, hash, mixed_key, threshold, scale, y + begin, mask + begin, length);
    }
    begin += length;
  }
  one_by_one(begin, count);
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
  const auto scale_bits = reinterpret_cast<Bits>(scale - Lanes<T>{});
  const auto of = [=](Bytes spread) STRATA_INLINE_LAMBDA {
    return reinterpret_cast<Lanes<T>>(reinterpret_cast<Bits>(spread) & scale_bits);
  };
  const AtFour<T> at{0};
  Four<T> d;
  at.load(d, dy);
  // Four of the 16 bytes, each for one number of four bytes.
#define STRATA_SPREAD(a, b, c, d) \
  of(__builtin_shufflevector(kept, kept, a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d))
  at.store(d * Four<T>(STRATA_SPREAD(0, 1, 2, 3), STRATA_SPREAD(4, 5, 6, 7),
                       STRATA_SPREAD(8, 9, 10, 11), STRATA_SPREAD(12, 13, 14, 15)),
           dx);
#undef STRATA_SPREAD
}
template <class T>
STRATA_INLINE void keep_loop(const T* dy, const std::uint8_t* __restrict__ mask, T scale, T* dx,
                             std::int64_t count) {
  std::int64_t i = 0;
  if constexpr (writes_vectors<T>) {
    for (; i + 4 * lanes<T> <= count; i += 4 * lanes<T>) keep_four(dy + i, mask + i, scale, dx + i);
  }
  for (; i < count; ++i) {
    const auto minus_one_or_0 = static_cast<std::int32_t>(static_cast<std::int8_t>(mask[i]));
    dx[i] = dy[i] * (static_cast<T>(minus_one_or_0) * -scale);
  }
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
