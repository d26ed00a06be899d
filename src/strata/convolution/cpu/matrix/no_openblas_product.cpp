// SPDX-License-Identifier: Apache-2.0
// Stands for openblas_product.cpp in a build without OpenBLAS: right, and slow.
#include "strata/convolution/cpu/matrix/product.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

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

}  // namespace

void multiply_by_blas(const Product<float>& product) { multiply_plainly(product); }
void multiply_by_blas(const Product<double>& product) { multiply_plainly(product); }

std::string blas_version() { return ""; }

std::optional<std::string> blas_refusal() {
  return "this strata was built without OpenBLAS (libopenblas-dev)";
}

}  // namespace strata::cpu
