// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Lines of memory that are asked for before they are read. An Arm core does not ask for as many by
/// itself as memory could give it, and reads half as fast again when asked some way before, into
/// the last cache; others do well without.
namespace strata::cpu {

/// So far before it is read a line is asked for.
inline constexpr std::int64_t bytes_asked_ahead = 16'384;
template <class T>
inline constexpr std::int64_t asked_ahead = bytes_asked_ahead /
                                            static_cast<std::int64_t>(sizeof(T));

/// Asks for the line of a number. Inlined whatever happens, as loops are compiled for several
/// vector units.
template <class T>
inline __attribute__((always_inline)) void ask_at([[maybe_unused]] const T* number) {
#ifdef __aarch64__
  __builtin_prefetch(number, 0, 1);
#endif
}

/// ask_at each line of so many numbers.
template <class T>
inline __attribute__((always_inline)) void ask_lines([[maybe_unused]] const T* from,
                                                     [[maybe_unused]] std::int64_t count) {
#ifdef __aarch64__
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < count; i += line) ask_at(from + i);
#endif
}

}  // namespace strata::cpu
