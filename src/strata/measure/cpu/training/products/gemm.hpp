// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/matrix/product.hpp"
#include "strata/measure/cpu/training/loops/workers.hpp"

namespace strata::cpu_training {

using cpu::multiply;
using cpu::Product;
using cpu::product_name;

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
