// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace strata {

/// A vector of at most `capacity` elements that lives where it stands, without a heap allocation.
/// For shapes and window extents: a graph has several per node, and they are the bulk of what
/// building it would allocate.
template <class T, std::size_t capacity>
class InlineVector {
 public:
  constexpr InlineVector() = default;
  InlineVector(std::initializer_list<T> items) { assign(items.begin(), items.end()); }
  explicit InlineVector(std::span<const T> items) { assign(items.begin(), items.end()); }
  InlineVector(std::size_t count, const T& value) {
    require(count);
    std::fill_n(items_.begin(), count, value);
    size_ = static_cast<std::uint8_t>(count);
  }

  static constexpr std::size_t most() { return capacity; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() { size_ = 0; }

  void push_back(const T& item) {
    require(size_ + std::size_t{1});
    items_[size_++] = item;
  }

  T& operator[](std::size_t index) { return items_[checked(index)]; }
  const T& operator[](std::size_t index) const { return items_[checked(index)]; }
  T& back() { return items_[checked(size_ - std::size_t{1})]; }
  const T& back() const { return items_[checked(size_ - std::size_t{1})]; }

  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  // NOLINTNEXTLINE(google-explicit-constructor): as of a std::vector
  operator std::span<const T>() const { return {items_.data(), size_}; }

  friend bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  template <class Iterator>
  void assign(Iterator first, Iterator last) {
    require(static_cast<std::size_t>(last - first));
    std::copy(first, last, items_.begin());
    size_ = static_cast<std::uint8_t>(last - first);
  }
  static void require(std::size_t count) {
    if (count > capacity)
      fail(ErrorKind::unsupported, "{} entries where at most {} are supported", count, capacity);
  }
  std::size_t checked(std::size_t index) const {
    STRATA_CHECK(index < size_, "index beyond the end");
    return index;
  }

  static_assert(capacity < 256);
  std::array<T, capacity> items_{};
  std::uint8_t size_ = 0;
};

}  // namespace strata
