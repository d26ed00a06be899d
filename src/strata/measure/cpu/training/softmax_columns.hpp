// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/measure/cpu/training/workers.hpp"

#include <algorithm>
#include <memory>

namespace strata::cpu_training {

/// A tensor as [outer, length, inner] with the softmax along `length`.
struct SoftmaxRows {
  std::int64_t outer = 1, length = 1, inner = 1;

  SoftmaxRows(const BoundTensor& x, std::int64_t axis) {
    const std::size_t place = normal_axis(axis, x.axes());
    for (std::size_t i = 0; i < x.axes(); ++i) {
      (i < place ? outer : i == place ? length : inner) *= x[i];
    }
  }
  std::int64_t count() const { return outer * inner; }
  std::int64_t start(std::int64_t row) const { return row / inner * length * inner + row % inner; }
  std::int64_t least() const { return std::max<std::int64_t>(1, numbers_per_part / length); }
};

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

/// Softmax where the numbers of a row lie `inner` apart: as many rows at once as lie side by side.
/// y = softmax(x), or its logarithm.
void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const float* x, float* y,
                     bool is_log);
void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const double* x, double* y,
                     bool is_log);
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const float* y,
                              const float* dy, float* dx, bool is_log);
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const double* y,
                              const double* dy, double* dx, bool is_log);

}  // namespace strata::cpu_training
