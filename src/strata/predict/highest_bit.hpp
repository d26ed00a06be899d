// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// A set of small numbers that tells its largest one: bits, and bits that tell which words of bits
/// may be not empty, and so on. Numbers come and go far more often than the largest is asked for,
/// so what is said above of a word that has become empty is put right only then.
class HighestBit {
 public:
  /// Empties it, for numbers below `size`.
  void reset(std::size_t size) {
    for (std::vector<std::uint64_t>& level : levels_) {
      size = size / 64 + 1;
      level.assign(size, 0);
    }
  }

  bool has(std::uint32_t number) const { return (levels_[0][number / 64] & bit_of(number)) != 0; }

  void insert(std::uint32_t number) {
    levels_[0][number / 64] |= bit_of(number);
    levels_[1][number / 64 / 64] |= bit_of(number / 64);
    levels_[2][number / 64 / 64 / 64] |= bit_of(number / 64 / 64);
  }

  void erase(std::uint32_t number) { levels_[0][number / 64] &= ~bit_of(number); }

  /// The largest; there must be one.
  std::uint32_t highest() {
    std::size_t top = levels_[2].size() - 1;
    for (;;) {
      while (levels_[2][top] == 0) --top;
      const std::size_t middle = last_of(top, levels_[2][top]);
      if (levels_[1][middle] == 0) {
        levels_[2][top] &= ~bit_of(middle);
        continue;
      }
      const std::size_t low = last_of(middle, levels_[1][middle]);
      if (levels_[0][low] != 0) return static_cast<std::uint32_t>(last_of(low, levels_[0][low]));
      levels_[1][middle] &= ~bit_of(low);
    }
  }

 private:
  static std::uint64_t bit_of(std::size_t number) { return std::uint64_t{1} << (number % 64); }
  /// The number that the highest bit of a word stands for.
  static std::size_t last_of(std::size_t word, std::uint64_t bits) {
    return word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(bits));
  }

  std::array<std::vector<std::uint64_t>, 3> levels_;  // the last is short enough to look through
};

}  // namespace strata
