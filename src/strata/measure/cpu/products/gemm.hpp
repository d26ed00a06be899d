// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/blas.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace strata::cpu_training {

/// result[m×n] = alpha · a[m×k] · b[k×n] (+ result where `adds`), row after row; a turned factor is
/// stored as k×m or n×k.
template <class T>
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_step = 0;
  bool a_is_turned = false;
  const T* b = nullptr;
  std::int64_t b_step = 0;
  bool b_is_turned = false;
  T* result = nullptr;
  std::int64_t result_step = 0;
  bool adds = false;
  T alpha = 1;
};

template <class T>
void multiply_plainly(const Product<T>& p) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    T* const row = p.result + i * p.result_step;
    if (!p.adds) std::fill(row, row + p.n, T(0));
    for (std::int64_t l = 0; l < p.k; ++l) {
      const T a = p.alpha * (p.a_is_turned ? p.a[l * p.a_step + i] : p.a[i * p.a_step + l]);
      const T* const b = p.b_is_turned ? p.b + l : p.b + l * p.b_step;
      const std::int64_t step = p.b_is_turned ? p.b_step : 1;
      for (std::int64_t j = 0; j < p.n; ++j) row[j] += a * b[j * step];
    }
  }
}

inline void multiply(const Product<double>& p) { multiply_plainly(p); }
inline void multiply(const Product<float>& p) {
  if (p.alpha != 1 || cpu::blas_refusal()) return multiply_plainly(p);
  cpu::multiply(cpu::Gemm<float>{p.m, p.n, p.k, p.a, p.a_step, p.a_is_turned, p.b, p.b_step,
                                 p.b_is_turned, p.result, p.result_step, p.adds});
}

inline std::string product_name(bool is_fp64) {
  return is_fp64 || cpu::blas_refusal() ? "plain loops" : "OpenBLAS sgemm";
}

/// On all threads: each has a share of the rows or columns.
template <class T>
void multiply(const Workers& workers, const Product<T>& whole) {
  constexpr std::int64_t least_products = 1 << 18;
  const bool by_rows = whole.m >= whole.n;
  const std::int64_t others = std::max<std::int64_t>(1, (by_rows ? whole.n : whole.m) * whole.k);
  workers.parts(by_rows ? whole.m : whole.n, std::max<std::int64_t>(1, least_products / others),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  Product<T> part = whole;
                  if (by_rows) {
                    part.m = end - begin;
                    part.a += begin * (whole.a_is_turned ? 1 : whole.a_step);
                    part.result += begin * whole.result_step;
                  } else {
                    part.n = end - begin;
                    part.b += begin * (whole.b_is_turned ? whole.b_step : 1);
                    part.result += begin;
                  }
                  multiply(part);
                });
}

/// sums[j] = Σ over rows of x[row, j]: the gradient of a bias. Rows lie `step` apart.
template <class T>
void sum_rows(const Workers& workers, const T* x, std::int64_t rows, std::int64_t columns,
              std::int64_t step, T* sums) {
  // Each thread has columns of its own, whole lines of the cache of them.
  workers.ranges(columns, std::max<std::int64_t>(16, numbers_per_part / rows),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::fill(sums + begin, sums + end, T(0));
                   for (std::int64_t row = 0; row < rows; ++row) {
                     const T* const from = x + row * step;
                     for (std::int64_t j = begin; j < end; ++j) sums[j] += from[j];
                   }
                 });
}

}  // namespace strata::cpu_training
