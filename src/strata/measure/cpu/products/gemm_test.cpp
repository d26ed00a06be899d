// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/products/gemm.hpp"

#include "strata/convolution/cpu/matrix/product_test.hpp"

namespace strata::cpu_training {
namespace {

// Shared by rows, by columns, by terms, and too small to be shared.
TEST(SharedProduct, is_the_sum_of_products) {
  const Workers workers(3);
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& size : {Size{2, 70, 1000}, Size{8, 33, 515}, Size{1, 5000, 260}, Size{3, 20, 9},
                           Size{600, 40, 30}, Size{30, 700, 40}, Size{700, 300, 2}}) {
    for (unsigned variant = 0; variant < 16; ++variant) {
      cpu::expect_right(size.m, size.n, size.k, variant,
                        [&](const Product<float>& product) { multiply(workers, product); });
      if (testing::Test::HasFatalFailure()) {
        FAIL() << size.m << " x " << size.n << " x " << size.k << ", variant " << variant;
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
