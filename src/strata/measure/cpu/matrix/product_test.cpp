// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/matrix/packed_product.hpp"
#include "strata/measure/cpu/matrix/thin_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace strata::cpu {
namespace {

/// A matrix of random numbers whose rows lie some numbers more than their length apart.
struct Matrix {
  std::int64_t rows, columns, step;
  std::vector<float> numbers;

  Matrix(std::int64_t r, std::int64_t c, std::int64_t apart, unsigned seed)
      : rows(r), columns(c), step(c + apart), numbers(static_cast<std::size_t>(r * (c + apart))) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& number : numbers) number = normal(random);
  }
  double at(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(numbers[static_cast<std::size_t>(row * step + column)]);
  }
};

/// Compares each number with its sum in double precision, and what lies between the rows.
template <class Multiply>
void expect_right(std::int64_t m, std::int64_t n, std::int64_t k, unsigned variant,
                  const Multiply& multiply_by) {
  const bool a_is_turned = (variant & 1U) != 0, b_is_turned = (variant & 2U) != 0;
  const bool adds = (variant & 4U) != 0;
  const float alpha = (variant & 8U) != 0 ? -0.5F : 1.0F;
  const Matrix a(a_is_turned ? k : m, a_is_turned ? m : k, 3, 1);
  const Matrix b(b_is_turned ? n : k, b_is_turned ? k : n, 5, 2);
  Matrix result(m, n, 2, 3);
  const Matrix before = result;
  multiply_by(Product<float>{.m = m,
                             .n = n,
                             .k = k,
                             .a = a.numbers.data(),
                             .a_step = a.step,
                             .a_is_turned = a_is_turned,
                             .b = b.numbers.data(),
                             .b_step = b.step,
                             .b_is_turned = b_is_turned,
                             .result = result.numbers.data(),
                             .result_step = result.step,
                             .adds = adds,
                             .alpha = alpha});
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < result.step; ++j) {
      if (j >= n) {
        ASSERT_EQ(result.at(i, j), before.at(i, j)) << "behind row " << i;
        continue;
      }
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double term = static_cast<double>(alpha) * (a_is_turned ? a.at(l, i) : a.at(i, l)) *
                            (b_is_turned ? b.at(j, l) : b.at(l, j));
        sum += term;
        size += std::abs(term);
      }
      if (adds) sum += before.at(i, j);
      ASSERT_NEAR(result.at(i, j), sum, 1e-6 * (size + 1)) << i << ", " << j;
    }
  }
}

// Panels and blocks that are whole and such that are not, in each direction.
TEST(PackedProduct, is_the_sum_of_products) {
  if (!has_packed_products()) GTEST_SKIP() << "products are packed for NEON only";
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& size :
       {Size{1, 1, 1}, Size{4, 16, 8}, Size{5, 17, 3}, Size{16, 32, 257}, Size{31, 29, 64},
        Size{130, 49, 70}, Size{3, 1030, 5}, Size{260, 40, 530}, Size{20, 8, 300}, Size{7, 12, 31},
        Size{9, 20, 41}, Size{6, 18, 33}, Size{4, 35, 6}}) {
    for (unsigned variant = 0; variant < 16; ++variant) {
      expect_right(size.m, size.n, size.k, variant, multiply_packed);
      if (testing::Test::HasFatalFailure()) {
        FAIL() << size.m << " x " << size.n << " x " << size.k << ", variant " << variant;
      }
    }
  }
}

// Few rows, with terms and columns that take several turns or less than one, and few terms.
TEST(ThinProduct, is_the_sum_of_products) {
  struct Size {
    std::int64_t m, n, k;
  };
  int thin = 0;
  const auto multiply_if_thin = [&](const Product<float>& product) {
    thin += is_thin(product) ? 1 : 0;
    is_thin(product) ? multiply_thin(product) : multiply(product);
  };
  for (const Size& size :
       {Size{1, 1, 9}, Size{1, 70, 33}, Size{2, 33, 2100}, Size{3, 6, 8300}, Size{4, 16, 16},
        Size{5, 8200, 10}, Size{7, 35, 19}, Size{8, 64, 50}, Size{9, 40, 1}, Size{30, 17, 2},
        Size{12, 16'500, 3}, Size{40, 48, 7}, Size{9, 5, 8}}) {
    for (unsigned variant = 0; variant < 16; ++variant) {
      expect_right(size.m, size.n, size.k, variant, multiply_if_thin);
      if (testing::Test::HasFatalFailure()) {
        FAIL() << size.m << " x " << size.n << " x " << size.k << ", variant " << variant;
      }
    }
  }
  // Few terms where b is not turned.
  EXPECT_EQ(thin, has_packed_products() ? 8 * 16 + 5 * 8 : 0);
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
