// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/vector_loops_test.hpp"
#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr double root_of_half = std::numbers::sqrt2 / 2;
constexpr double density_at_0 = std::numbers::inv_sqrtpi * root_of_half;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double tanh_of_mish(double x) { return std::tanh(std::log1p(std::exp(x))); }
/// Twice what tanh is taken of.
double inside_gelu(double x) {
  return 4 * density_at_0 * (x + training_constants::gelu_cubic * x * x * x);
}
double slope_of_gelu_tanh(double x) {
  if (std::fabs(x) > 100) return x > 0 ? 1 : 0;
  const double u = inside_gelu(x);
  const double inner = 4 * density_at_0 * (1 + 3 * training_constants::gelu_cubic * x * x);
  return logistic(u) + x * logistic(u) * logistic(-u) * inner;
}

/// What a function is in fp64, and how far it may be from that: relative to it, and in all.
struct Wanted {
  UnaryKind kind;
  double (*of)(double);
  double relative, absolute;
};
constexpr double almost_0 = 1e-36;  // where numbers are no longer normal, or soon

const std::vector<Wanted>& values() {
  static const std::vector<Wanted> all = {
      {UnaryKind::exponential, [](double x) { return std::exp(x); }, 1.2e-7, 1.3e-38},
      {UnaryKind::elu, [](double x) { return x > 0 ? x : std::expm1(x); }, 1.25e-7, almost_0},
      {UnaryKind::sigmoid, logistic, 2.4e-7, almost_0},
      {UnaryKind::silu, [](double x) { return x * logistic(x); }, 2.4e-7, almost_0},
      {UnaryKind::tanh, [](double x) { return std::tanh(x); }, 6.1e-7, almost_0},
      {UnaryKind::error_function, [](double x) { return std::erf(x); }, 6.1e-7, almost_0},
      {UnaryKind::mish, [](double x) { return x * tanh_of_mish(x); }, 5e-7, almost_0},
      {UnaryKind::gelu, [](double x) { return 0.5 * x * std::erfc(-x * root_of_half); }, 2.5e-7,
       8e-7},
      {UnaryKind::gelu_tanh, [](double x) { return x * logistic(inside_gelu(x)); }, 2.5e-7, 8e-7}};
  return all;
}

const std::vector<Wanted>& slopes() {
  static const std::vector<Wanted> all = {
      {UnaryKind::silu, [](double x) { return logistic(x) * (1 + x * logistic(-x)); }, 1e-6, 2e-7},
      {UnaryKind::mish,
       [](double x) {
         const double t = tanh_of_mish(x);
         return x > 100 ? 1 : t + x * logistic(x) * (1 - t * t);
       },
       1.3e-6, 2e-7},
      {UnaryKind::gelu,
       [](double x) {
         return 0.5 * std::erfc(-x * root_of_half) + x * density_at_0 * std::exp(-0.5 * x * x);
       },
       0, 2.5e-7},
      {UnaryKind::gelu_tanh, slope_of_gelu_tanh, 0, 2.5e-7}};
  return all;
}

/// Floats of either sign from the smallest normal one to the largest: as many of every size.
std::vector<float> floats_of_every_size() {
  std::vector<float> numbers = {0, -0.0F};
  constexpr std::uint32_t first = 0x00800000, last = 0x7f7fffff, step = 20'011;
  for (std::uint32_t bits = first; bits < last; bits += step) {
    numbers.push_back(std::bit_cast<float>(bits));
    numbers.push_back(-numbers.back());
  }
  return numbers;
}

void expect_close(const std::vector<float>& found, const std::vector<float>& x,
                  const Wanted& wanted) {
  constexpr auto largest = static_cast<double>(std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = wanted.of(static_cast<double>(x[i]));
    if (value > 0.9999 * largest) {
      ASSERT_GT(found[i], 0.9998 * largest) << static_cast<int>(wanted.kind) << " of " << x[i];
      continue;
    }
    ASSERT_NEAR(static_cast<double>(found[i]), value,
                wanted.relative * std::fabs(value) + wanted.absolute)
        << static_cast<int>(wanted.kind) << " of " << x[i];
  }
}

TEST(UnaryFunctions, are_those_of_doubles_for_numbers_of_every_size) {
  const std::vector<float> x = floats_of_every_size();
  std::vector<float> y(x.size());
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const Wanted& wanted : values()) {
      loops.apply[static_cast<std::size_t>(wanted.kind)](x.data(), y.data(),
                                                         static_cast<std::int64_t>(x.size()));
      expect_close(y, x, wanted);
    }
  }
}

TEST(UnaryFunctions, slopes_are_those_of_doubles_for_numbers_of_every_size) {
  const std::vector<float> x = floats_of_every_size(), ones(x.size(), 1);
  std::vector<float> dx(x.size());
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const Wanted& wanted : slopes()) {
      loops.gradient[static_cast<std::size_t>(wanted.kind)](x.data(), ones.data(), dx.data(),
                                                            static_cast<std::int64_t>(x.size()));
      expect_close(dx, x, wanted);
    }
  }
}

// Far from 0, gelu is x or nothing, and its slope 1 or 0: what was left would be multiplied by x.
TEST(UnaryFunctions, gelu_ends_without_an_error) {
  const std::vector<float> x = {-1e30F, -1000, -20, -7, 7, 20, 1000, 1e30F}, ones(x.size(), 1);
  std::vector<float> y(x.size()), dx(y);
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const UnaryKind kind : {UnaryKind::gelu, UnaryKind::gelu_tanh}) {
      const auto count = static_cast<std::int64_t>(x.size());
      loops.apply[static_cast<std::size_t>(kind)](x.data(), y.data(), count);
      loops.gradient[static_cast<std::size_t>(kind)](x.data(), ones.data(), dx.data(), count);
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0) << x[i];
        EXPECT_EQ(dx[i], x[i] > 0 ? 1 : 0) << x[i];
      }
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
