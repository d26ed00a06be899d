// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/vector_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

/// Results that are larger than the caches. A store into memory that is not in a cache fetches its
/// line first, although it writes all of it: a third of the traffic of a copy. Stores around the
/// caches do not. They pay only where nobody finds the result in a cache anyway. Workers see to it
/// that they have arrived when shared work ends.
namespace strata::cpu_training {

/// What whoever comes next finds in a cache, at most: half of the last one, as what a layer reads
/// passes through it as well.
std::int64_t bytes_that_caches_keep();
/// Whether a result of so many bytes is too large for that.
bool is_beyond_caches(std::int64_t bytes);

/// For tests: while it lives, every result is too large.
class AsWithoutCaches {
 public:
  AsWithoutCaches();
  ~AsWithoutCaches();
  AsWithoutCaches(const AsWithoutCaches&) = delete;
  AsWithoutCaches& operator=(const AsWithoutCaches&) = delete;
};

/// Asks for numbers that are needed next, while the processor is busy with others: for every line
/// in which one of them lies. Inlined whatever happens: gcc takes a function that does nothing else
/// for one that does nothing.
template <class T>
STRATA_INLINE void fetch(const T* from, std::int64_t count) {
  constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
  const auto before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(from) % 64 /
                                                sizeof(T));  // in the first line
  for (std::int64_t i = -before; i < count; i += line) __builtin_prefetch(from + i, 0, 2);
}

/// The same for numbers that follow others in memory: Arm's cores see by themselves that they do.
template <class T>
STRATA_INLINE void fetch_following([[maybe_unused]] const T* from,
                                   [[maybe_unused]] std::int64_t count) {
#ifndef __aarch64__
  fetch(from, count);
#endif
}

/// Asks for numbers a few pieces ahead of the piece from[at … at + count) that is worked on next,
/// up to from[end): the processor looks ahead by itself only as far as its queue of instructions
/// goes, which is not far where a number takes many. Arm's cores lose a quarter of their rate when
/// asked so near: loops ask further ahead there (lanes.hpp).
template <class T>
STRATA_INLINE void fetch_ahead([[maybe_unused]] const T* from, [[maybe_unused]] std::int64_t at,
                               [[maybe_unused]] std::int64_t count,
                               [[maybe_unused]] std::int64_t end) {
#ifndef __aarch64__
  constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T)), ahead = 64 * line;
  if (count > ahead) return;  // in one piece: nothing but the loop itself would be waited for
  const std::int64_t last = std::min(at + ahead + count, end);
  for (std::int64_t i = at + ahead; i < last; i += line) __builtin_prefetch(from + i, 0, 3);
#endif
}

/// Copies that go around the caches, when what is written all in all is that large.
struct PastCaches {
  void (*stream)(const void* from, void* to, std::int64_t bytes) = nullptr;

  explicit PastCaches(std::int64_t bytes_written) {
    // 0: nothing is gained, whatever the size.
    if (bytes_written > 0 && is_beyond_caches(bytes_written)) {
      stream = vector_loops<float>().stream;
    }
  }
  void copy(void* to, const void* from, std::int64_t bytes) const {
    // Short stretches are mostly parts of lines.
    constexpr std::int64_t least = 256;
    if (stream != nullptr && bytes >= least) return stream(from, to, bytes);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
};

/// What writes around the caches, if there is such a thing.
template <class T>
auto stream_of() {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    return vector_loops<float>().stream;
  } else {
    return vector_loops<T>().stream;
  }
}

/// So many numbers go through the room of a stream at once: eight lines. The processor makes the
/// next ones while the last are on their way, if those are few: a Xeon of 2019 took a fifth longer
/// with sixteen, a newer one up to a quarter.
template <class T>
inline constexpr std::int64_t short_piece = 512 / static_cast<std::int64_t>(sizeof(T));

/// The same in rows that are made at once.
template <class T>
std::int64_t rows_of_piece(std::int64_t width) {
  return std::max<std::int64_t>(1, short_piece<T> / width);
}

/// The length of pieces that are made in one go, each number once: short where they go through the
/// room of a stream. Where they do not, the fewer the better: a processor that writes whole lines
/// without fetching them stops doing so when other lines are written in between, be it a few
/// variables.
template <class T>
std::int64_t longest_result_piece(bool is_beyond) {
  constexpr std::int64_t long_enough = 16'384;
  return is_beyond && stream_of<T>() != nullptr ? short_piece<T> : long_enough;
}

/// Like std::fill_n, several stores a turn: loops of one are slower than memory.
template <class T>
void fill_numbers(T* to, std::int64_t count, T value) {
#ifdef __x86_64__
  // Of a few zeros gcc would make one repeated instruction, half as fast: it may not know the
  // value.
  asm("" : "+r"(value));
#endif
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < count; ++i) to[i] = value;
}

/// Numbers written one after the other. They are made in a piece of memory that stays
/// in the first cache, and leave it by whole lines around the others; or are made where they
/// belong, when the result is small.
template <class T>
class ResultStream {
 public:
  /// The most that can be asked for at once.
  static constexpr std::int64_t longest = 2048;

  /// From results + first on; results may be null when nothing is asked for.
  ResultStream(T* results, std::int64_t first, bool is_beyond)
      : to_(results != nullptr ? results + first : nullptr),
        is_past_(is_beyond && stream_of<T>() != nullptr) {}
  ~ResultStream() { finish(); }
  ResultStream(const ResultStream&) = delete;
  ResultStream& operator=(const ResultStream&) = delete;

  /// The place of the next `count` numbers; it holds until the next call.
  T* next(std::int64_t count) {
    if (!is_past_) {
      T* const place = to_;
      to_ += count;
      return place;
    }
    if (is_enough() || held_ + count > capacity) pass_on();
    T* const place = room_.data() + held_;
    held_ += count;
    return place;
  }

  /// Calls make(first, length, place) for pieces of the next `count` numbers, which end with a line
  /// of the results.
  template <class Make>
  void pieces(std::int64_t count, const Make& make) {
    for (std::int64_t at = 0; at < count;) {
      const std::int64_t most = is_past_ ? short_piece<T> - in_last_line() : count;
      const std::int64_t length = std::min(most, count - at);
      make(at, length, next(length));
      at += length;
    }
  }

  void copy(const T* from, std::int64_t count) {
    pieces(count, [from](std::int64_t at, std::int64_t length, T* place) {
      std::memcpy(place, from + at, static_cast<std::size_t>(length) * sizeof(T));
    });
  }
  void fill(T value, std::int64_t count) {
    pieces(count, [value](std::int64_t, std::int64_t length, T* place) {
      fill_numbers(place, length, value);
    });
  }

  void finish() {
    if (!is_past_ || held_ == 0) return;
    stream_of<T>()(room_.data(), to_, held_ * element);
    to_ += held_;
    held_ = 0;
  }

 private:
  static constexpr std::int64_t line = 64, element = static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t capacity = longest + line / element;

  /// Whether what is held goes now: what ends within a line leaves a part behind, which has to be
  /// moved, so that more of it goes at once.
  bool is_enough() const {
    constexpr std::int64_t least = short_piece<T> - line / element;
    return held_ >= 2 * short_piece<T> || (held_ > least && in_last_line() == 0);
  }
  /// How many numbers are in the line of the results that is made now.
  std::int64_t in_last_line() const {
    const auto end = reinterpret_cast<std::uintptr_t>(to_ + held_);
    return static_cast<std::int64_t>(end % line) / element;
  }

  /// Up to the last whole line; what is left stays.
  void pass_on() {
    const std::int64_t left = std::min(held_, in_last_line());
    const std::int64_t passed = held_ - left;
    stream_of<T>()(room_.data(), to_, passed * element);
    if (left > 0) {
      std::memmove(room_.data(), room_.data() + passed, static_cast<std::size_t>(left * element));
    }
    to_ += passed;
    held_ = left;
  }

  T* to_;
  bool is_past_;
  std::int64_t held_ = 0;
  alignas(64) std::array<T, static_cast<std::size_t>(capacity)> room_;
};

/// Pieces of results that come one after the other, from wherever the first one is: in a stream, or
/// where they belong.
template <class T>
class ResultPieces {
 public:
  ResultPieces(T* results, bool is_beyond)
      : results_(results), is_past_(is_beyond && stream_of<T>() != nullptr) {}

  /// The place of the piece that begins at results + first; it holds until the next call.
  T* next(std::int64_t first, std::int64_t count) {
    if (!is_past_) return results_ + first;  // nothing is stored between pieces
    if (!stream_) stream_.emplace(results_, first, true);
    return stream_->next(count);
  }

 private:
  T* results_;
  bool is_past_;
  std::optional<ResultStream<T>> stream_;
};

}  // namespace strata::cpu_training
