// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/training/softmax_columns.hpp"

#include "strata/measure/cpu/training/result_stream.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace strata::cpu_training {
namespace {

/// Columns that are worked on together: their rows stay in a cache from one pass to the next.
struct Strip {
  static constexpr std::int64_t widest = 256;
  std::int64_t strips, width;

  explicit Strip(const SoftmaxRows& rows)
      : strips((rows.inner + widest - 1) / widest), width((rows.inner + strips - 1) / strips) {}

  /// Calls f(place of the first number, columns) for each strip of each outer index.
  template <class F>
  void each(const Workers& workers, const SoftmaxRows& rows, const F& f) const {
    const std::int64_t least = std::max<std::int64_t>(1, numbers_per_part / (width * rows.length));
    workers.ranges(rows.outer * strips, least, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t left = i % strips * width;
        f(i / strips * rows.length * rows.inner + left, std::min(width, rows.inner - left));
      }
    });
  }
};

template <class T>
using StripRow = std::array<T, static_cast<std::size_t>(Strip::widest)>;

constexpr std::int64_t rows_ahead = 4;

template <class T>
std::int64_t bytes_of(const SoftmaxRows& rows) {
  return rows.count() * rows.length * static_cast<std::int64_t>(sizeof(T));
}

template <class T>
void forward_columns(const Workers& workers, const SoftmaxRows& rows, const T* x, T* y,
                     bool is_log) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const PastCaches past(bytes_of<T>(rows));
  Strip(rows).each(workers, rows, [&](std::int64_t place, std::int64_t columns) {
    StripRow<T> most, sum, result;
    most.fill(-std::numeric_limits<T>::infinity());
    sum.fill(T(0));
    std::vector<T> powers(static_cast<std::size_t>(rows.length * columns));
    const auto row = [&](auto* from, std::int64_t i) { return from + place + i * rows.inner; };
    for (std::int64_t i = 0; i < rows.length; ++i) {
      if (i + rows_ahead < rows.length) fetch(row(x, i + rows_ahead), columns);
      loops.larger(row(x, i), most.data(), columns);
    }
    for (std::int64_t i = 0; i < rows.length; ++i) {
      loops.exp_columns(row(x, i), most.data(), powers.data() + i * columns, sum.data(), columns);
    }
    for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k) {
      sum[k] = is_log ? most[k] + std::log(sum[k]) : T(1) / sum[k];
    }
    for (std::int64_t i = 0; i < rows.length; ++i) {
      if (is_log) {
        loops.subtract(row(x, i), sum.data(), result.data(), columns);
      } else {
        loops.multiply(powers.data() + i * columns, sum.data(), result.data(), columns);
      }
      past.copy(row(y, i), result.data(), columns * static_cast<std::int64_t>(sizeof(T)));
    }
  });
}

template <class T>
void backward_columns(const Workers& workers, const SoftmaxRows& rows, const T* y, const T* dy,
                      T* dx, bool is_log) {
  const VectorLoops<T>& loops = vector_loops<T>();
  const PastCaches past(bytes_of<T>(rows));
  Strip(rows).each(workers, rows, [&](std::int64_t place, std::int64_t columns) {
    StripRow<T> sum, result;
    sum.fill(T(0));
    const auto row = [&](auto* from, std::int64_t i) { return from + place + i * rows.inner; };
    for (std::int64_t i = 0; i < rows.length; ++i) {
      if (i + rows_ahead < rows.length) {
        fetch(row(dy, i + rows_ahead), columns);
        fetch(row(y, i + rows_ahead), columns);
      }
      if (is_log) {
        loops.add_row(row(dy, i), sum.data(), columns);
      } else {
        loops.add_products(row(y, i), row(dy, i), sum.data(), columns);
      }
    }
    const auto gradient =
        is_log ? loops.log_softmax_gradient_columns : loops.softmax_gradient_columns;
    for (std::int64_t i = 0; i < rows.length; ++i) {
      gradient(row(y, i), row(dy, i), sum.data(), result.data(), columns);
      past.copy(row(dx, i), result.data(), columns * static_cast<std::int64_t>(sizeof(T)));
    }
  });
}

}  // namespace

void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const float* x, float* y,
                     bool is_log) {
  forward_columns(workers, rows, x, y, is_log);
}
void softmax_columns(const Workers& workers, const SoftmaxRows& rows, const double* x, double* y,
                     bool is_log) {
  forward_columns(workers, rows, x, y, is_log);
}
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const float* y,
                              const float* dy, float* dx, bool is_log) {
  backward_columns(workers, rows, y, dy, dx, is_log);
}
void softmax_gradient_columns(const Workers& workers, const SoftmaxRows& rows, const double* y,
                              const double* dy, double* dx, bool is_log) {
  backward_columns(workers, rows, y, dy, dx, is_log);
}

}  // namespace strata::cpu_training
