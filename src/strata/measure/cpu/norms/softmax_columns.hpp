// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <algorithm>

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
