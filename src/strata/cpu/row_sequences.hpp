// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace strata::cpu {

/// Calls work(first, apart, number) for all of `count` rows that lie in memory one after the other:
/// for `number` rows at once, a constant, which are `apart` rows apart. What such rows have in
/// common is read once for all of them, and each of several sequences goes on where it was.
/// Neighbours would each begin at a new place when they are done, for which a core has fetched
/// nothing: they take a tenth to a third longer on a Neoverse V1. Inlined whatever happens, as
/// loops are compiled for several vector units.
template <std::int64_t sequences, class Work>
inline __attribute__((always_inline)) void in_sequences(std::int64_t count, const Work& work) {
  const std::int64_t apart = count / sequences;
  for (std::int64_t first = 0; first < apart; ++first) {
    work(first, apart, std::integral_constant<std::int64_t, sequences>());
  }
  for (std::int64_t rest = apart * sequences; rest < count; ++rest) {
    work(rest, std::int64_t{0}, std::integral_constant<std::int64_t, 1>());
  }
}

}  // namespace strata::cpu
