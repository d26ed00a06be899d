// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// A set of small numbers that tells its largest one: bits, and bits that tell which words of bits
/// are not empty, and so on.
class HighestBit {
 public:
  /// Empties it, for numbers below `size`.
  void reset(std::size_t size) {
    for (std::vector<std::uint64_t>& level : levels_) {
      size = size / 64 + 1;
      level.assign(size, 0);
    }
  }

  void insert(std::uint32_t number) {
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[number / 64];
      const bool is_known_above = word != 0;
      word |= std::uint64_t{1} << (number % 64);
      if (is_known_above) return;
      number /= 64;
    }
  }

  void erase(std::uint32_t number) {
    for (std::vector<std::uint64_t>& level : levels_) {
      level[number / 64] &= ~(std::uint64_t{1} << (number % 64));
      if (level[number / 64] != 0) return;
      number /= 64;
    }
  }

  /// The largest; there must be one.
  std::uint32_t highest() const {
    std::size_t word = levels_.back().size() - 1;
    while (levels_.back()[word] == 0) --word;
    for (std::size_t level = levels_.size(); level-- > 0;)
      word = word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(levels_[level][word]));
    return static_cast<std::uint32_t>(word);
  }

 private:
  std::array<std::vector<std::uint64_t>, 3> levels_;  // the last is short enough to look through
};

}  // namespace strata
