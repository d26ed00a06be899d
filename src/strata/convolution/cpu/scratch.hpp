// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/checked.hpp"

#include <cstdint>

namespace strata::cpu {

/// Memory for floats, aligned to the widest vectors and cache lines.
class Scratch {
 public:
  static constexpr std::int64_t alignment_bytes = 64;

  explicit Scratch(std::int64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* at(std::int64_t offset) { return data_ + offset; }
  std::int64_t bytes() const { return bytes_; }

  /// What all of them together hold now; tests compare it with what strategies say.
  static std::int64_t bytes_in_use();

 private:
  std::int64_t bytes_;
  float* data_;
};

/// Where the parts of one Scratch begin, in floats; each on a cache line of its own.
class ScratchPlan {
 public:
  std::int64_t add(std::int64_t floats) {
    constexpr std::int64_t line = Scratch::alignment_bytes / 4;
    const std::int64_t offset = floats_;
    floats_ = checked_add(offset, checked_add(floats, line - 1) / line * line);
    return offset;
  }
  std::int64_t bytes() const { return checked_mul(floats_, 4); }

 private:
  std::int64_t floats_ = 0;
};

}  // namespace strata::cpu
