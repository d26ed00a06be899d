// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/product.hpp"

#include "strata/convolution/cpu/matrix/packed_product.hpp"
#include "strata/convolution/cpu/matrix/thin_product.hpp"

namespace strata::cpu {

void multiply(const Product<float>& product) {
  if (is_thin(product)) return multiply_thin(product);
  if (is_packed_faster(product)) return multiply_packed(product);
  multiply_by_blas(product);
}

void multiply(const Product<double>& product) { multiply_by_blas(product); }

std::string product_name(bool is_fp64) {
  const bool has_blas = !blas_version().empty();
  if (is_fp64) return has_blas ? "OpenBLAS dgemm" : "plain loops";
  const std::string other = has_blas ? "OpenBLAS sgemm" : "plain loops";
  if (has_packed_products()) return "packed or thin product, " + other + " for few rows";
  return has_thin_products() ? other + ", thin product for few rows" : other;
}

}  // namespace strata::cpu
