// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/matrix/product.hpp"
#include "strata/convolution/cpu/matrix/thin_product.hpp"
#include "strata/measure/cpu/loops/result_stream.hpp"
#include "strata/measure/cpu/loops/workers.hpp"

#include <type_traits>
#include <vector>

namespace strata::cpu_training {

using cpu::multiply;
using cpu::Product;
using cpu::product_name;

/// Fewer terms are not worth a thread's sums.
inline constexpr std::int64_t least_shared_terms = 256;

/// Each thread has a share of the terms, whose sums are added up after: it reads whole rows of b,
/// one after the other, and memory gives those faster than the same columns of all rows.
inline void multiply_by_terms(const Workers& workers, const Product<float>& whole) {
  const std::int64_t step = whole.n + cpu::between_rows, size = whole.m * step;
  std::vector<float> sums(static_cast<std::size_t>(workers.count() * size));
  const std::int64_t parts = workers.parts(
      whole.k, least_shared_terms, [&](std::int64_t number, std::int64_t begin, std::int64_t end) {
        Product<float> part = whole;
        part.k = end - begin;
        part.a += begin * (whole.a_is_turned ? whole.a_step : 1);
        part.b += begin * whole.b_step;
        part.result = sums.data() + number * size;
        part.result_step = step;
        part.adds = true;
        multiply(part);
      });
  workers.ranges(whole.n, std::max<std::int64_t>(16, numbers_per_part / whole.m),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = 0; i < parts * whole.m; ++i) {
                     const float* const from = sums.data() + i * step;
                     float* const to = whole.result + i % whole.m * whole.result_step;
                     const bool adds = whole.adds || i >= whole.m;
                     for (std::int64_t j = begin; j < end; ++j) {
                       to[j] = adds ? to[j] + from[j] : from[j];
                     }
                   }
                 });
}

/// On all threads: each has a share of the rows or columns, or of the terms.
template <class T>
void multiply(const Workers& workers, const Product<T>& whole) {
  constexpr std::int64_t least_products = 1 << 18;
  if constexpr (std::is_same_v<T, float>) {
    const bool all_have_terms = whole.k >= least_shared_terms * workers.count();
    if (workers.count() > 1 && all_have_terms && cpu::reads_rows_once(whole)) {
      return multiply_by_terms(workers, whole);
    }
  }
  const bool by_rows = whole.m >= whole.n;
  const bool is_beyond = is_beyond_caches(whole.m * whole.n * static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t others = std::max<std::int64_t>(1, (by_rows ? whole.n : whole.m) * whole.k);
  workers.parts(by_rows ? whole.m : whole.n, std::max<std::int64_t>(1, least_products / others),
                [&](std::int64_t, std::int64_t begin, std::int64_t end) {
                  Product<T> part = whole;
                  part.goes_around_caches = is_beyond;
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
