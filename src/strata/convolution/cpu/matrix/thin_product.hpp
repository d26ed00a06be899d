// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/matrix/product.hpp"

/// Products with few rows or few terms, as layers of small batches and steps of recurrent ones have
/// them: each number of the large matrix is used a few times only, so that memory limits them. It
/// is read, or written, once and in the order in which it lies; packing would do so three times.
namespace strata::cpu {

/// Between rows of copies and sums, so that they do not share places of the first cache.
inline constexpr std::int64_t between_rows = 80;

/// Whether there is vector code for them: NEON's, or what Highway has for this CPU.
bool has_thin_products();
/// Whether the product is such a one, and faster so.
bool is_thin(const Product<float>& product);
/// Whether it is a thin one of few rows that reads b, row after row, and uses each number of it
/// once for each row of a.
bool reads_rows_once(const Product<float>& product);
/// Where there are thin products: any of at least one term, the faster the thinner.
void multiply_thin(const Product<float>& product);

}  // namespace strata::cpu
