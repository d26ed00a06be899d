// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/plain/loops.hpp"

#include <algorithm>

namespace strata::cpu_training::plain {

/// result[m, n] = alpha · A[m, k] · B[k, n], added to what is there where `adds`. Rows of each
/// matrix, as it is stored, lie `step` apart; a transposed one is stored as [k, m] or [n, k].
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_step = 0;
  bool a_is_transposed = false;
  const T* b = nullptr;
  std::int64_t b_step = 0;
  bool b_is_transposed = false;
  T* result = nullptr;
  std::int64_t result_step = 0;
  bool adds = false;
  T alpha = 1;

  T a_at(std::int64_t i, std::int64_t p) const {
    return a_is_transposed ? a[p * a_step + i] : a[i * a_step + p];
  }
};

/// Rows begin … end of the result.
template <class T>
void multiply_rows(const Product<T>& p, std::int64_t begin, std::int64_t end) {
  if (!p.adds) {
    for (std::int64_t i = begin; i < end; ++i) std::fill_n(p.result + i * p.result_step, p.n, T(0));
  }
  // So many rows of B are used for all rows of the result before the next are read.
  constexpr std::int64_t terms_at_once = 64;
  for (std::int64_t first = 0; first < p.k; first += terms_at_once) {
    const std::int64_t last = std::min(p.k, first + terms_at_once);
    for (std::int64_t i = begin; i < end; ++i) {
      T* const row = p.result + i * p.result_step;
      if (p.b_is_transposed) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          T sum = 0;
          for (std::int64_t t = first; t < last; ++t) sum += p.a_at(i, t) * p.b[j * p.b_step + t];
          row[j] += p.alpha * sum;
        }
        continue;
      }
      for (std::int64_t t = first; t < last; ++t) {
        const T factor = p.alpha * p.a_at(i, t);
        const T* const of_b = p.b + t * p.b_step;
        for (std::int64_t j = 0; j < p.n; ++j) row[j] += factor * of_b[j];
      }
    }
  }
}

/// On all threads: each has some rows of the result.
template <class T>
void multiply(const Product<T>& product) {
  constexpr std::int64_t rows_at_once = 8;
  parallel_for((product.m + rows_at_once - 1) / rows_at_once, rows_at_once * product.n * product.k,
               [&](std::int64_t block) {
                 const std::int64_t begin = block * rows_at_once;
                 multiply_rows(product, begin, std::min(product.m, begin + rows_at_once));
               });
}

/// sums[j] = Σ over rows of x[row, j]: the gradient of a bias. Rows lie `step` apart.
template <class T>
void sum_rows(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t step, T* sums) {
  constexpr std::int64_t columns_at_once = 16;
  parallel_for((columns + columns_at_once - 1) / columns_at_once, rows * columns_at_once,
               [&](std::int64_t block) {
                 const std::int64_t begin = block * columns_at_once;
                 const std::int64_t end = std::min(columns, begin + columns_at_once);
                 std::fill(sums + begin, sums + end, T(0));
                 for (std::int64_t row = 0; row < rows; ++row) {
                   for (std::int64_t j = begin; j < end; ++j) sums[j] += x[row * step + j];
                 }
               });
}

}  // namespace strata::cpu_training::plain
