// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/product_test.hpp"

#include "strata/convolution/cpu/matrix/packed_product.hpp"
#include "strata/convolution/cpu/matrix/thin_product.hpp"

#include <vector>

namespace strata::cpu {
namespace {

// Panels and blocks that are whole and such that are not, in each direction.
TEST(PackedProduct, is_the_sum_of_products) {
  if (!has_packed_products()) GTEST_SKIP() << "products are packed for NEON only";
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& size :
       {Size{1, 1, 1}, Size{4, 16, 8}, Size{5, 17, 3}, Size{16, 32, 257}, Size{31, 29, 64},
        Size{130, 49, 70}, Size{3, 1030, 5}, Size{260, 40, 530}, Size{20, 8, 300}, Size{7, 12, 31},
        Size{9, 20, 41}, Size{6, 18, 33}, Size{4, 35, 6}, Size{140, 1041, 20}}) {
    for (unsigned variant = 0; variant < 16; ++variant) {
      expect_right(size.m, size.n, size.k, variant, multiply_packed);
      if (testing::Test::HasFatalFailure()) {
        FAIL() << size.m << " x " << size.n << " x " << size.k << ", variant " << variant;
      }
    }
  }
}

TEST(ThinProduct, is_the_sum_of_products) {
  if (!has_thin_products()) GTEST_SKIP() << "no thin products for this processor";
  expect_thin_products(multiply_thin);
}

TEST(ThinProduct, is_of_few_rows_or_terms) {
  if (!has_thin_products()) GTEST_SKIP() << "no thin products for this processor";
  const auto of = [](std::int64_t m, std::int64_t n, std::int64_t k, bool b_is_turned) {
    return Product<float>{.m = m, .n = n, .k = k, .b_is_turned = b_is_turned};
  };
  EXPECT_TRUE(is_thin(of(2, 4096, 1024, true)));
  EXPECT_TRUE(is_thin(of(8, 4096, 1024, false)));
  EXPECT_TRUE(is_thin(of(4096, 1024, 2, false)));
  EXPECT_FALSE(is_thin(of(4096, 1024, 2, true)));  // would be read in jumps
  EXPECT_FALSE(is_thin(of(100, 4096, 1024, false)));
  EXPECT_TRUE(reads_rows_once(of(2, 4096, 1024, false)));
  EXPECT_FALSE(reads_rows_once(of(2, 4096, 1024, true)));
  EXPECT_FALSE(reads_rows_once(of(4096, 1024, 2, false)));
}

// Of few rows and of many, of few terms and of none, which may be computed in different ways.
TEST(Product, is_the_sum_of_products) {
  const auto multiply_any = [](const Product<float>& product) { multiply(product); };
  for (const std::int64_t m : {2, 8, 9, 23, 24, 70}) {
    for (const std::int64_t k : {0, 1, 8, 9, 19}) {
      for (unsigned variant = 0; variant < 16; ++variant) {
        expect_right(m, 37, k, variant, multiply_any);
        if (testing::Test::HasFatalFailure()) {
          FAIL() << m << " rows, " << k << " terms, variant " << variant;
        }
      }
    }
  }
}

// As convolutions pack their weights, in panels of four rows of which the last has fewer.
TEST(PackedProduct, takes_panels_of_four_rows) {
  if (!has_packed_products()) GTEST_SKIP() << "products are packed for NEON only";
  for (const std::int64_t m : {3, 4, 131}) {
    for (const std::int64_t k : {5, 300}) {
      constexpr std::int64_t n = 21;
      const Matrix a((m + 3) / 4 * 4, k, 0, 1), b(k, n, 0, 2);
      Matrix result(m, n, 1, 3);
      std::vector<float> panels;
      for (std::int64_t row = 0; row < m; row += 4) {
        for (std::int64_t l = 0; l < k; ++l) {
          for (std::int64_t i = row; i < row + 4; ++i) {
            panels.push_back(static_cast<float>(a.at(i, l)));
          }
        }
      }
      multiply_panels_of_four({.m = m,
                               .n = n,
                               .k = k,
                               .a = panels.data(),
                               .b = b.numbers.data(),
                               .b_step = b.step,
                               .result = result.numbers.data(),
                               .result_step = result.step});
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
          ASSERT_NEAR(result.at(i, j), sum, 1e-6 * static_cast<double>(k) * 8) << i << ", " << j;
        }
      }
    }
  }
}

TEST(PackedProduct, of_no_terms_is_zero_or_what_was_there) {
  if (!has_packed_products()) GTEST_SKIP() << "products are packed for NEON only";
  for (const bool adds : {false, true}) {
    std::vector<float> result(6, 7);
    multiply_packed(
        {.m = 2, .n = 2, .k = 0, .result = result.data(), .result_step = 3, .adds = adds});
    const float expected = adds ? 7 : 0;
    EXPECT_EQ(result, (std::vector<float>{expected, expected, 7, expected, expected, 7}));
  }
}

}  // namespace
}  // namespace strata::cpu
