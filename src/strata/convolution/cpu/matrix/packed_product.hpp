// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/matrix/product.hpp"

/// Products of our own, for vector units on which they are faster than OpenBLAS's: NEON, of whose
/// peak the distribution's reaches three quarters at best and these nine tenths, measured on a
/// Neoverse V1 without SVE (bench/product_rates.cpp).
namespace strata::cpu {

/// Whether this program is compiled for such a vector unit.
bool has_packed_products();
/// Whether it is worth the packing.
bool is_packed_faster(const Product<float>& product);
void multiply_packed(const Product<float>& product);

/// The same of an a that is packed already: [m / 4][k][4], with any number for rows that are not
/// there; not scaled. Only where there are packed products.
void multiply_panels_of_four(const Product<float>& product);

}  // namespace strata::cpu
