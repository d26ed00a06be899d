// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/thin_product.hpp"

#include "strata/convolution/cpu/matrix/thin_product_parts.hpp"

namespace strata::cpu {
namespace {

bool has_few_rows(const ThinKernels& by, const Product<float>& p) {
  return p.m <= by.most_rows && p.k > most_thin_terms && p.n * p.k >= by.least_numbers &&
         p.m * p.n * p.k >= by.least_products;
}

bool has_few_terms(const ThinKernels& by, const Product<float>& p) {
  return p.k > 0 && p.k <= most_thin_terms && p.m > by.most_rows && !p.b_is_turned &&
         p.m * p.n >= by.least_numbers;
}

}  // namespace

bool has_thin_products() { return thin_kernels() != nullptr; }

bool is_thin(const Product<float>& p) {
  const ThinKernels* const by = thin_kernels();
  return by != nullptr && (has_few_rows(*by, p) || has_few_terms(*by, p));
}

bool reads_rows_once(const Product<float>& p) {
  return has_thin_products() && has_few_rows(*thin_kernels(), p) && !p.b_is_turned;
}

void multiply_thin(const Product<float>& p) { thin_kernels()->multiply(p); }

}  // namespace strata::cpu
