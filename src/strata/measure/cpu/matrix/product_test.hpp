// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/matrix/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace strata::cpu
