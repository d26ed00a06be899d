// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/counted_test.hpp"

#include <cstdint>
#include <random>
#include <vector>

/// What the naive definitions compute with: indices, tensors that note which of their numbers were
/// read and written, and scratch arrays that do not.
namespace strata::naive {

using Index = std::vector<std::int64_t>;

inline std::int64_t elements_of(const Index& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

/// Row-major place of an index. A shape with fewer axes, or with extent 1 where the index goes on,
/// is broadcast as in NumPy.
inline std::size_t place_of(const Index& shape, const Index& index) {
  std::int64_t place = 0;
  const std::size_t lead = index.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    place = place * shape[axis] + (shape[axis] == 1 ? 0 : index[lead + axis]);
  }
  return static_cast<std::size_t>(place);
}

/// Calls f(index) for every index below `shape`, last axis fastest.
template <class F>
void for_each_index(const Index& shape, F f) {
  Index index(shape.size(), 0);
  for (std::int64_t i = elements_of(shape); i > 0; --i) {
    f(static_cast<const Index&>(index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// { index[from], …, index[end − 1] }
inline Index part(const Index& index, std::size_t from, std::size_t end) {
  return {index.begin() + static_cast<std::ptrdiff_t>(from),
          index.begin() + static_cast<std::ptrdiff_t>(end)};
}
inline Index joined(Index head, const Index& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}
inline Index without(Index index, std::size_t axis) {
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
  return index;
}
inline Index with(Index index, std::size_t axis, std::int64_t value) {
  index[axis] = value;
  return index;
}

/// Scratch that lives within one pass and never crosses memory: accumulators, padded copies.
template <class T>
class Buffer {
 public:
  explicit Buffer(Index shape, T value = T(0))
      : shape_(std::move(shape)), values_(static_cast<std::size_t>(elements_of(shape_)), value) {}
  const Index& shape() const { return shape_; }
  T& operator[](const Index& index) { return values_[place_of(shape_, index)]; }
  const T& operator[](const Index& index) const { return values_[place_of(shape_, index)]; }

 private:
  Index shape_;
  std::vector<T> values_;
};

/// A tensor of the node. Reading and writing leave a mark per number.
template <class T>
class Tensor {
 public:
  Tensor() = default;
  Tensor(Index shape, std::int64_t element_bytes)
      : shape_(std::move(shape)), element_bytes_(element_bytes) {
    const auto count = static_cast<std::size_t>(elements_of(shape_));
    values.resize(count);
    is_read_.resize(count);
    is_written_.resize(count);
  }

  const Index& shape() const { return shape_; }
  std::int64_t operator[](std::size_t axis) const { return shape_[axis]; }
  std::size_t axes() const { return shape_.size(); }
  std::int64_t elements() const { return elements_of(shape_); }

  T operator()(const Index& index) const {
    const std::size_t place = place_of(shape_, index);
    is_read_[place] = true;
    return values[place];
  }
  void set(const Index& index, T value) {
    const std::size_t place = place_of(shape_, index);
    is_written_[place] = true;
    values[place] = value;
  }
  /// Stores a scratch array of the same shape.
  void set_all(const Buffer<T>& buffer) {
    for_each_index(shape_, [&](const Index& i) { set(i, buffer[i]); });
  }

  void clear_marks() {
    is_read_.assign(is_read_.size(), false);
    is_written_.assign(is_written_.size(), false);
  }
  std::int64_t bytes() const { return elements() * element_bytes_; }
  std::int64_t read_bytes() const { return marks(is_read_) * element_bytes_; }
  std::int64_t written_bytes() const { return marks(is_written_) * element_bytes_; }

  std::vector<T> values;  // for setting up and comparing; definitions use () and set

 private:
  static std::int64_t marks(const std::vector<bool>& flags) {
    std::int64_t count = 0;
    for (const bool flag : flags) count += flag ? 1 : 0;
    return count;
  }

  Index shape_;
  std::int64_t element_bytes_ = 0;
  mutable std::vector<bool> is_read_;
  std::vector<bool> is_written_;
};

/// Small random cases, the same in every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  bool coin() { return between(0, 1) == 1; }
  /// True once in n times.
  bool rarely(std::int64_t n) { return between(1, n) == 1; }
  template <class Choice>
  Choice pick(std::initializer_list<Choice> choices) {
    return *(choices.begin() + between(0, static_cast<std::int64_t>(choices.size()) - 1));
  }
  Index shape(std::size_t axes, std::int64_t most) {
    Index shape(axes);
    for (std::int64_t& extent : shape) extent = between(1, most);
    return shape;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace strata::naive
