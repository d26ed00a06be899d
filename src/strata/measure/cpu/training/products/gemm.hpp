// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/training/loops/workers.hpp"

#include <string>

namespace strata::cpu_training {

/// result[m×n] = alpha · a[m×k] · b[k×n] (+ result where `adds`), row after row; step: from one row
/// to the next. A turned factor is stored as k×m or n×k.
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

/// On the thread that asks.
void multiply(const Product<float>& product);
void multiply(const Product<double>& product);

/// By what the products are computed: "OpenBLAS sgemm"; and its version, empty without a library.
std::string gemm_name(bool is_fp64);
std::string gemm_version();

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
