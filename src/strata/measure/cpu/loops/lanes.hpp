// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cpu/asked_lines.hpp"
#include "strata/measure/cpu/loops/vector_math.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

/// Loops that go through numbers vector by vector, for what compilers make no good vectors of.
namespace strata::cpu_training {

template <class T>
struct PairOfSums {
  T first = 0, second = 0;

  void add(const PairOfSums& other) {
    first += other.first;
    second += other.second;
  }
};

/// Sums go into several numbers at once, because additions may not be reordered by the compiler:
/// vectors of 64 bytes, which are cut to what the vector unit has; NEON's own size, as gcc keeps
/// larger ones on the stack there. A term is written once for vectors and for the numbers that are
/// left at the end; AtLanes and AtOne give it either.
#ifdef __aarch64__
inline constexpr std::size_t lane_bytes = 16;
#else
inline constexpr std::size_t lane_bytes = 64;
#endif
template <class T>
using Lanes __attribute__((vector_size(lane_bytes))) = T;
template <class T>
inline constexpr std::int64_t lanes = lane_bytes / static_cast<std::int64_t>(sizeof(T));

/// So many vectors at once, as one addition after the other would wait.
inline constexpr std::size_t vectors_at_once = 128 / lane_bytes;
using EachVector = std::make_index_sequence<vectors_at_once>;
template <class T>
inline constexpr std::int64_t numbers_at_once =
    lanes<T>* static_cast<std::int64_t>(vectors_at_once);

using cpu::ask_at;
using cpu::ask_lines;
using cpu::asked_ahead;
using cpu::bytes_asked_ahead;
/// Of numbers that the walk before has asked for: brings what is read soon into the first cache.
template <class T>
STRATA_INLINE void bring_soon([[maybe_unused]] const T* from) {
#ifdef __aarch64__
  constexpr std::size_t bytes_before = 1536;
  __builtin_prefetch(from + bytes_before / sizeof(T), 0, 3);
#endif
}
template <class T>
STRATA_INLINE void ask_after(const T* from) {
  ask_at(from + asked_ahead<T>);
}

template <class T>
STRATA_INLINE void ask_after_lines(const T* from, std::int64_t count) {
  ask_lines(from + asked_ahead<T>, count);
}

/// Calls work(begin, end) for numbers that are read from memory, of which compilers make vectors.
/// Where one has to ask for lines, in pieces: for as many numbers of each `from` before each.
template <class Work, class... From>
STRATA_INLINE void while_asking(std::int64_t count, Work work,
                                [[maybe_unused]] const From*... from) {
#ifdef __aarch64__
  constexpr std::int64_t piece = 256;
  for (std::int64_t begin = 0; begin < count; begin += piece) {
    const std::int64_t end = begin + piece < count ? begin + piece : count;
    (ask_after_lines(from + begin, end - begin), ...);
    work(begin, end);
  }
#else
  work(0, count);
#endif
}

/// Copies what comes from memory, and lies `ahead` bytes before what is copied some way after it.
STRATA_INLINE void copy_from_memory(void* to, const void* from, std::int64_t bytes,
                                    [[maybe_unused]] std::int64_t ahead) {
  auto* y = static_cast<char*>(to);
  const auto* x = static_cast<const char*>(from);
#ifdef __aarch64__
  constexpr std::int64_t line = 64;
  for (; bytes >= line; bytes -= line, x += line, y += line) {
    __builtin_prefetch(x + ahead, 0, 1);
    __builtin_memcpy(y, x, line);
  }
#endif
  if (bytes > 0) __builtin_memcpy(y, x, static_cast<std::size_t>(bytes));
}

template <class T>
struct AtLanes {
  using Number = Lanes<T>;
  std::int64_t place;
  STRATA_INLINE void load(Number& to, const T* from) const { load_near(to, from); }
  /// Numbers that are in a cache already.
  STRATA_INLINE void load_near(Number& to, const T* from) const {
    __builtin_memcpy(&to, from + place, sizeof(Number));
  }
  STRATA_INLINE void store(const Number& from, T* to) const {
    __builtin_memcpy(to + place, &from, sizeof(Number));
  }
};
/// The first vector of a line.
template <class T>
struct AtLine : AtLanes<T> {
  STRATA_INLINE void load(Lanes<T>& to, const T* from) const {
    ask_after(from + this->place);
    this->load_near(to, from);
  }
};
/// Four vectors side by side.
template <class T>
struct AtFour {
  using Number = Four<T>;
  std::int64_t place;
  STRATA_INLINE AtLanes<T> part(std::int64_t k) const { return {place + k * lanes<T>}; }
  STRATA_INLINE void load(Number& to, const T* from) const {
    ask_after(from + place);
    load_near(to, from);
  }
  STRATA_INLINE void load_near(Number& to, const T* from) const {
    part(0).load(to.a, from);
    part(1).load(to.b, from);
    part(2).load(to.c, from);
    part(3).load(to.d, from);
  }
  STRATA_INLINE void store(const Number& from, T* to) const {
    part(0).store(from.a, to);
    part(1).store(from.b, to);
    part(2).store(from.c, to);
    part(3).store(from.d, to);
  }
};
template <class T>
struct AtOne {
  using Number = T;
  std::int64_t place;
  STRATA_INLINE void load(Number& to, const T* from) const { to = from[place]; }
  STRATA_INLINE void load_near(Number& to, const T* from) const { to = from[place]; }
  STRATA_INLINE void store(const Number& from, T* to) const { to[place] = from; }
};
template <class T, std::size_t k>
STRATA_INLINE auto vector_at(std::int64_t i) {
  constexpr bool is_line = k * lane_bytes % 64 == 0;
  return std::conditional_t<is_line, AtLine<T>, AtLanes<T>>{i + static_cast<std::int64_t>(k) *
                                                                    lanes<T>};
}

template <class T, std::size_t... k>
STRATA_INLINE T sum_of_lanes(const Lanes<T>* sums, std::index_sequence<k...>) {
  const Lanes<T> all = (sums[k] + ...);
  T total = 0;
  for (std::int64_t lane = 0; lane < lanes<T>; ++lane) total += all[lane];
  return total;
}

/// Whether loops over functions of one number are written for vectors. Where there are no masked
/// instructions, gcc takes three times as many of them to choose between numbers that may not be
/// numbers when it makes vectors itself.
template <class T>
inline constexpr bool writes_vectors = lane_bytes == 16 && sizeof(T) == 4;

template <class T>
STRATA_INLINE T sum_of_four(const Four<T>& sums) {
  const Lanes<T> all[1] = {(sums.a + sums.b) + (sums.c + sums.d)};
  return sum_of_lanes<T>(all, std::index_sequence<0>());
}

template <class T, class Term, std::size_t... k>
STRATA_INLINE PairOfSums<T> pair_loop(std::int64_t count, Term term,
                                      std::index_sequence<k...> each) {
  Lanes<T> a[vectors_at_once] = {}, b[vectors_at_once] = {};
  std::int64_t i = 0;
  for (; i + numbers_at_once<T> <= count; i += numbers_at_once<T>) {
    (term(vector_at<T, k>(i), a[k], b[k]), ...);
  }
  PairOfSums<T> total{sum_of_lanes<T>(a, each), sum_of_lanes<T>(b, each)};
  for (; i < count; ++i) term(AtOne<T>{i}, total.first, total.second);
  return total;
}
/// Two sums in one walk; term(at, a, b) adds to both.
template <class T, class Term>
STRATA_INLINE PairOfSums<T> pair_loop(std::int64_t count, Term term) {
  if constexpr (writes_vectors<T>) {
    Four<T> a, b;
    std::int64_t i = 0;
    for (; i + 4 * lanes<T> <= count; i += 4 * lanes<T>) term(AtFour<T>{i}, a, b);
    PairOfSums<T> total{sum_of_four(a), sum_of_four(b)};
    for (; i < count; ++i) term(AtOne<T>{i}, total.first, total.second);
    return total;
  }
  return pair_loop<T>(count, term, EachVector());
}

template <class T, class Term, std::size_t... k>
STRATA_INLINE T one_sum_loop(std::int64_t count, Term term, std::index_sequence<k...> each) {
  Lanes<T> sums[vectors_at_once] = {};
  std::int64_t i = 0;
  for (; i + numbers_at_once<T> <= count; i += numbers_at_once<T>) {
    (term(vector_at<T, k>(i), sums[k]), ...);
  }
  T total = sum_of_lanes<T>(sums, each);
  for (; i < count; ++i) term(AtOne<T>{i}, total);
  return total;
}
template <class T, class Term>
STRATA_INLINE T one_sum_loop(std::int64_t count, Term term) {
  if constexpr (writes_vectors<T>) {
    Four<T> sums;
    std::int64_t i = 0;
    for (; i + 4 * lanes<T> <= count; i += 4 * lanes<T>) term(AtFour<T>{i}, sums);
    T total = sum_of_four(sums);
    for (; i < count; ++i) term(AtOne<T>{i}, total);
    return total;
  }
  return one_sum_loop<T>(count, term, EachVector());
}

/// Calls work(at) for four vectors at a time, then for the numbers that are left.
template <class T, class Work>
STRATA_INLINE void four_by_four(std::int64_t count, Work work) {
  std::int64_t i = 0;
  for (; i + 4 * lanes<T> <= count; i += 4 * lanes<T>) work(AtFour<T>{i});
  for (; i < count; ++i) work(AtOne<T>{i});
}

/// Calls second(at, first(at)) for four vectors at a time; for how many numbers. A core sees few of
/// the operations that wait for each other, so that the first step of four vectors comes before the
/// second of the four before them. What both need is loaded twice, as registers are few.
template <class T, class First, class Second>
STRATA_INLINE std::int64_t fours_in_two_steps(std::int64_t count, First first, Second second) {
  constexpr std::int64_t step = 4 * lanes<T>;
  if (count < step) return 0;
  std::int64_t i = 0;
  auto started = first(AtFour<T>{0});
  for (; i + 3 * step <= count; i += 2 * step) {  // twice, so that nothing changes its place
    const auto next = first(AtFour<T>{i + step});
    second(AtFour<T>{i}, started);
    started = first(AtFour<T>{i + 2 * step});
    second(AtFour<T>{i + step}, next);
  }
  second(AtFour<T>{i}, started);
  i += step;
  for (; i + step <= count; i += step) second(AtFour<T>{i}, first(AtFour<T>{i}));
  return i;
}
/// Then for the numbers that are left.
template <class T, class First, class Second>
STRATA_INLINE void four_in_two_steps(std::int64_t count, First first, Second second) {
  std::int64_t i = fours_in_two_steps<T>(count, first, second);
  for (; i < count; ++i) second(AtOne<T>{i}, first(AtOne<T>{i}));
}

/// The same for all numbers: in vectors where those are written, else one by one, of which
/// compilers make vectors.
template <class T, class First, class Second>
STRATA_INLINE void in_two_steps(std::int64_t count, First first, Second second) {
  if constexpr (writes_vectors<T>) return four_in_two_steps<T>(count, first, second);
  for (std::int64_t i = 0; i < count; ++i) second(AtOne<T>{i}, first(AtOne<T>{i}));
}

/// Calls work(at) for all numbers: in vectors where those are written, else one by one, of which
/// compilers make vectors.
template <class T, class Work>
STRATA_INLINE void numbers_of(std::int64_t count, Work work) {
  if constexpr (writes_vectors<T>) return four_by_four<T>(count, work);
  for (std::int64_t i = 0; i < count; ++i) work(AtOne<T>{i});
}

/// Three numbers for each place of a row, in turn a cache line of each kind. Rows are often a power
/// of two apart: in arrays of their own, the three would compete with the numbers of the rows for
/// the same places of the first cache.
template <class T>
struct InTurn {
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t step = 3 * line, vectors = line / lanes<T>;

  static constexpr std::int64_t room(std::int64_t count) {
    return (count + line - 1) / line * step;
  }
  /// Where the first kind of number i is; the others are a line and two lines behind it.
  static constexpr std::int64_t place(std::int64_t i) { return i / line * step + i % line; }
};

/// Calls work(true) or work(false), as a constant, by whether there is a base to take off numbers:
/// without one, loops save an operation for each vector.
template <class T, class Work>
STRATA_INLINE auto with_base(T base, Work work) {
  return base != T(0) ? work(std::true_type()) : work(std::false_type());
}

#define STRATA_INLINE_LAMBDA __attribute__((always_inline))

/// Vectors of which one is chosen: not larger than AVX2's, as gcc compares number by number where
/// the unit has no vectors of such a size.
inline constexpr std::size_t choice_bytes = lane_bytes < 32 ? lane_bytes : 32;
template <class T>
using Choices __attribute__((vector_size(choice_bytes))) = T;

/// By one instruction; a choice between two numbers becomes a branch that nobody foresees.
template <class V>
STRATA_INLINE Element<V> largest_lane(const V& numbers) {
#ifdef __aarch64__
  return vmaxnmvq_f32(numbers);
#else
  return numbers[0];
#endif
}

template <class T, std::size_t... k>
STRATA_INLINE T maximum_loop(const T* x, std::int64_t count, std::index_sequence<k...>) {
  constexpr auto numbers = static_cast<std::int64_t>(choice_bytes / sizeof(T));
  constexpr auto at_once = static_cast<std::int64_t>(sizeof...(k)) * numbers;
  T most = -std::numeric_limits<T>::infinity();
  Choices<T> all[sizeof...(k)] = {((void)k, most - Choices<T>{})...};
  const auto take = [](const T* from, bool is_line, Choices<T>& largest) STRATA_INLINE_LAMBDA {
    if (is_line) ask_after(from);
    Choices<T> some;
    __builtin_memcpy(&some, from, sizeof some);
    keep_larger(some, largest);
  };
  std::int64_t i = 0;
  for (; i + at_once <= count; i += at_once) {
    (take(x + i + static_cast<std::int64_t>(k) * numbers, k * choice_bytes % 64 == 0, all[k]), ...);
  }
  Choices<T> largest = all[0];
  (keep_larger(all[k], largest), ...);
  if constexpr (is_neon_vector<Choices<T>>) {
    most = largest_lane(largest);
  } else {
    for (std::int64_t lane = 0; lane < numbers; ++lane) keep_larger(T(largest[lane]), most);
  }
  for (; i < count; ++i) keep_larger(x[i], most);
  return most;
}
template <class T>
STRATA_INLINE T maximum_loop(const T* x, std::int64_t count) {
  return maximum_loop(x, count, std::make_index_sequence<128 / choice_bytes>());
}

#undef STRATA_INLINE_LAMBDA

}  // namespace strata::cpu_training
