// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata {

/// Finds loads that are larger than a number of bytes, 64 at a time: one bit mask per power of
/// two.
class LoadSizes {
 public:
  void reset(std::size_t loads) { at_least_.assign((loads / 64 + 1) * classes, 0); }
  void add(std::uint32_t load, std::int64_t bytes) {
    at_least_[load / 64 * classes + class_of(bytes)] |= std::uint64_t{1} << (load % 64);
  }
  /// After the last load.
  void finish() {
    for (std::size_t word = 0; word < at_least_.size(); word += classes) {
      for (std::size_t size = classes - 1; size-- > 0;)
        at_least_[word + size] |= at_least_[word + size + 1];
    }
  }

  /// Of the loads [64·word, 64·word + 64) those of at least least_larger_than(bytes): some that are
  /// larger may be missing, none is there that is not.
  std::uint64_t larger_than(std::uint32_t word, std::int64_t bytes) const {
    const std::size_t size = bytes < 0 ? 0 : class_of(bytes) + 1;
    return size < classes ? at_least_[word * classes + size] : 0;
  }
  static std::int64_t least_larger_than(std::int64_t bytes) {
    if (bytes < 0) return 0;
    const auto width = std::bit_width(static_cast<std::uint64_t>(bytes));
    return width < 62 ? std::int64_t{1} << width : INT64_MAX;
  }

 private:
  static constexpr std::size_t classes = 48;  // larger ones are not told apart

  static std::size_t class_of(std::int64_t bytes) {
    const auto width = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(bytes)));
    return std::min(width, classes - 1);
  }

  std::vector<std::uint64_t> at_least_;
};

}  // namespace strata
