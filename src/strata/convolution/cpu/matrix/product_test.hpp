// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/matrix/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

/// Products beside sums in double precision.
namespace strata::cpu {

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

/// Whole lines of a result that no cache keeps, for as many terms as there may be.
template <class Multiply>
void expect_right_around_caches(const Multiply& multiply_by) {
  constexpr std::int64_t m = 21, n = 48;
  for (std::int64_t k = 1; k <= 8; ++k) {
    const Matrix a(m, k, 0, 1), b(k, n, 0, 2);
    struct alignas(64) Result {
      float numbers[m * n];
    };
    const auto result = std::make_unique<Result>();
    multiply_by(Product<float>{.m = m,
                               .n = n,
                               .k = k,
                               .a = a.numbers.data(),
                               .a_step = a.step,
                               .b = b.numbers.data(),
                               .b_step = b.step,
                               .result = result->numbers,
                               .result_step = n,
                               .goes_around_caches = true});
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += a.at(i, l) * b.at(l, j);
        ASSERT_NEAR(result->numbers[i * n + j], sum, 1e-5) << k << ": " << i << ", " << j;
      }
    }
  }
}

/// Few rows, with terms and columns that take several turns or less than one, and few terms.
template <class Multiply>
void expect_thin_products(const Multiply& multiply_by) {
  struct Size {
    std::int64_t m, n, k;
  };
  for (const Size& size :
       {Size{1, 1, 9},   Size{1, 70, 33},     Size{2, 33, 2100},   Size{8, 6, 17'000},
        Size{4, 16, 16}, Size{8, 17'001, 10}, Size{7, 35, 19},     Size{8, 64, 50},
        Size{9, 40, 1},  Size{30, 17, 2},     Size{12, 16'500, 3}, Size{40, 48, 7},
        Size{9, 5, 8},   Size{3, 4091, 30},   Size{13, 330, 40},   Size{5, 64, 40},
        Size{6, 40, 64}, Size{10, 32, 4},     Size{10, 32, 5},     Size{10, 32, 6}}) {
    for (unsigned variant = 0; variant < 16; ++variant) {
      expect_right(size.m, size.n, size.k, variant, multiply_by);
      if (testing::Test::HasFatalFailure()) {
        FAIL() << size.m << " x " << size.n << " x " << size.k << ", variant " << variant;
      }
    }
  }
  expect_right_around_caches(multiply_by);
}

}  // namespace strata::cpu
