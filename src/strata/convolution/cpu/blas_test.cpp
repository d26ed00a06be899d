// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/blas.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace strata::cpu {
namespace {

using Complex = std::complex<float>;

template <class T>
std::vector<T> some_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> numbers;
  for (std::int64_t i = 0; i < count; ++i) {
    const float real = normal(random), imaginary = normal(random);
    if constexpr (std::is_same_v<T, Complex>) {
      numbers.push_back({real, imaginary});
    } else {
      numbers.push_back(real);
    }
  }
  return numbers;
}

std::complex<double> wide(const Complex& value) { return {value.real(), value.imag()}; }
std::complex<double> wide(float value) { return value; }

/// Rows lie some numbers more than their length apart; what is between them stays.
template <class T>
void expect_products() {
  constexpr std::int64_t m = 5, n = 7, k = 9;
  for (unsigned variant = 0; variant < 8; ++variant) {
    const bool is_a = (variant & 1U) != 0, is_b = (variant & 2U) != 0, adds = (variant & 4U) != 0;
    const std::int64_t a_step = (is_a ? m : k) + 3, b_step = (is_b ? k : n) + 2, step = n + 1;
    const auto a = some_numbers<T>(a_step * (is_a ? k : m), 1);
    const auto b = some_numbers<T>(b_step * (is_b ? n : k), 2);
    const auto before = some_numbers<T>(step * m, 3);
    auto result = before;
    multiply(Gemm<T>{m, n, k, a.data(), a_step, is_a, b.data(), b_step, is_b, result.data(), step,
                     adds});
    const auto at = [](const std::vector<T>& numbers, std::int64_t i) {
      return wide(numbers[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t i = 0; i < m * step; ++i) {
      const std::int64_t row = i / step, column = i % step;
      std::complex<double> sum = column == n || adds ? at(before, i) : 0;
      for (std::int64_t l = 0; l < k && column < n; ++l) {
        sum += (is_a ? std::conj(at(a, l * a_step + row)) : at(a, row * a_step + l)) *
               (is_b ? std::conj(at(b, column * b_step + l)) : at(b, l * b_step + column));
      }
      EXPECT_LE(std::abs(at(result, i) - sum), 1e-5) << variant << ": " << row << ", " << column;
    }
  }
}

TEST(Blas, multiplies_with_transposes) {
  if (const auto reason = blas_refusal()) GTEST_SKIP() << *reason;
  expect_products<float>();
}

TEST(Blas, a_transpose_of_complex_numbers_is_conjugate) {
  if (const auto reason = blas_refusal()) GTEST_SKIP() << *reason;
  expect_products<Complex>();
}

}  // namespace
}  // namespace strata::cpu
