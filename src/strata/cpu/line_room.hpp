// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace strata::cpu {

/// Memory that begins with a cache line: vectors that lie in two lines take twice as long. What it
/// holds at first may be anything.
template <class T>
class LineRoom {
 public:
  explicit LineRoom(std::int64_t count)
      : size_((static_cast<std::size_t>(count) + line) * sizeof(T)),
        memory_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count) + line)) {
    void* place = memory_.get();
    first_ = static_cast<T*>(std::align(64, size_ - 64, place, size_));
  }
  T* data() const { return first_; }

 private:
  static constexpr std::size_t line = 64 / sizeof(T);
  std::size_t size_;
  std::unique_ptr<T[]> memory_;
  T* first_;
};

}  // namespace strata::cpu
