// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/product_test.hpp"
#include "strata/convolution/cpu/matrix/thin_product_parts.hpp"
#include "strata/cpu/per_target.hpp"

namespace strata::cpu {
namespace {

// The best one is tested as what a product takes; the others are for processors without it.
TEST(ThinProduct, is_the_sum_of_products_on_lesser_vector_units) {
  const std::vector<ThinKernels> all = compiled_kernels<ThinKernels>().usable();
  if (all.size() < 2) GTEST_SKIP() << "there are no others for this processor";
  for (std::size_t i = 1; i < all.size(); ++i) expect_thin_products(all[i].multiply);
}

}  // namespace
}  // namespace strata::cpu
