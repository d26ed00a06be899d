// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/cpu/loops/vector_loops_test.hpp"

#include "strata/measure/engine/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace strata::cpu_training {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> evenly(float low, float high, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = low + (high - low) * static_cast<float>(i) / static_cast<float>(count - 1);
  }
  return numbers;
}

void expect_relative(const std::vector<float>& found, const std::vector<float>& x,
                     double (*wanted)(double), double tolerance) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = wanted(static_cast<double>(x[i]));
    ASSERT_NEAR(static_cast<double>(found[i]), value, tolerance * std::fabs(value) + 1e-38)
        << "of " << x[i];
  }
}

TEST(VectorLoops, powers_of_e_are_those_of_the_standard) {
  for (const VectorLoops<float>& loops : both_loops()) {
    const auto exp = loops.apply[static_cast<std::size_t>(UnaryKind::exponential)];
    const std::vector<float> x = evenly(-87.2F, 88.7F, 20'011);
    std::vector<float> y(x.size());
    exp(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    expect_relative(
        y, x, [](double v) { return std::exp(v); }, 1.8e-7);
    const std::vector<float> odd = {-infinity, -1000, 89, infinity, nan, 0, -nan};
    std::vector<float> of_odd(odd.size());
    exp(odd.data(), of_odd.data(), 7);
    EXPECT_EQ(of_odd[0], 0);
    EXPECT_EQ(of_odd[1], 0);
    EXPECT_EQ(of_odd[2], infinity);
    EXPECT_EQ(of_odd[3], infinity);
    EXPECT_TRUE(std::isnan(of_odd[4]));
    EXPECT_EQ(of_odd[5], 1);
    EXPECT_TRUE(std::isnan(of_odd[6]));
  }
}

TEST(VectorLoops, functions_of_powers_keep_their_limits) {
  const std::vector<std::pair<UnaryKind, double (*)(double)>> functions = {
      {UnaryKind::sigmoid, [](double v) { return 1 / (1 + std::exp(-v)); }},
      {UnaryKind::silu, [](double v) { return v / (1 + std::exp(-v)); }},
      {UnaryKind::elu, [](double v) { return v > 0 ? v : std::expm1(v); }},
      {UnaryKind::mish, [](double v) { return v * std::tanh(std::log1p(std::exp(v))); }},
      {UnaryKind::softplus, [](double v) { return v > 40 ? v : std::log1p(std::exp(v)); }},
      {UnaryKind::tanh, [](double v) { return std::tanh(v); }},
      {UnaryKind::gelu, [](double v) { return 0.5 * v * std::erfc(-v * std::sqrt(0.5)); }}};
  std::vector<float> x = evenly(-95, 95, 4001);
  x.insert(x.end(), {1000, -1000, 0, 88.5F, -88.5F, nan});
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const auto& [kind, wanted] : functions) {
      std::vector<float> y(x.size());
      loops.apply[static_cast<std::size_t>(kind)](x.data(), y.data(),
                                                  static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        const double value = wanted(static_cast<double>(x[i]));
        ASSERT_NEAR(static_cast<double>(y[i]), value, 1e-6 * std::fabs(value) + 2e-6)
            << static_cast<int>(kind) << " of " << x[i];
      }
      EXPECT_TRUE(std::isnan(y.back())) << static_cast<int>(kind);
    }
  }
}

// Many numbers go through vectors, one alone does not.
TEST(VectorLoops, functions_of_many_numbers_are_those_of_each) {
  std::vector<float> x = evenly(-7, 7, 101);
  x[20] = infinity, x[37] = -infinity, x[50] = nan, x[70] = 100, x[80] = -100;
  const std::vector<float> dy = evenly(2, -1, x.size());
  const auto is_same = [](float a, float b, float tolerance) {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
  };
  for (const VectorLoops<float>& loops : both_loops()) {
    for (std::size_t kind = 0; kind < unary_kinds; ++kind) {
      std::vector<float> y(x.size()), dx(y);
      const auto count = static_cast<std::int64_t>(x.size());
      loops.apply[kind](x.data(), y.data(), count);
      loops.gradient[kind](x.data(), dy.data(), dx.data(), count);
      for (std::size_t i = 0; i < x.size(); ++i) {
        float one = 0, slope = 0;
        loops.apply[kind](&x[i], &one, 1);
        loops.gradient[kind](&x[i], &dy[i], &slope, 1);
        EXPECT_TRUE(is_same(y[i], one, 1e-6F)) << kind << " of " << x[i];
        // Far out, 1 − tanh² is what rounding leaves of it.
        if (std::fabs(x[i]) > 7) continue;
        EXPECT_TRUE(is_same(dx[i], slope, 1e-5F)) << "slope of " << kind << " at " << x[i];
      }
    }
  }
}

TEST(VectorLoops, shifted_powers_are_summed_and_masks_give_zero) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t count : {1U, 15U, 16U, 17U, 1023U, 2500U}) {
      std::vector<float> x = evenly(-86, 1, count), y(count);
      x.back() = 1;
      if (count > 3) x[1] = -infinity, x[2] = -1e6F;
      const float sum = loops.exp_shifted(x.data(), 1, y.data(), static_cast<std::int64_t>(count));
      double wanted = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double power = std::exp(static_cast<double>(x[i] - 1));
        wanted += power;
        ASSERT_NEAR(static_cast<double>(y[i]), power, 1e-6 * power + 1e-37) << x[i];
      }
      EXPECT_NEAR(static_cast<double>(sum), wanted, 1e-5 * wanted);
      x[count / 2] = nan;
      EXPECT_TRUE(
          std::isnan(loops.exp_shifted(x.data(), 1, y.data(), static_cast<std::int64_t>(count))));
    }
  }
}

TEST(VectorLoops, response_is_a_power_of_minus_three_quarters) {
  for (const VectorLoops<float>& loops : both_loops()) {
    std::vector<float> x = evenly(-3, 18, 1001);
    for (float& number : x) number = std::pow(10.0F, number);
    const std::vector<std::size_t> beyond = {40, x.size()};  // in a vector, and in what is left
    const std::size_t not_a_number = 41;
    x[40] = infinity;
    x[not_a_number] = nan;
    x.push_back(infinity);
    const std::vector<float> ones(x.size(), 1);
    std::vector<float> y(x.size()), scale(y);
    const std::vector<const float*> rows = {x.data()};
    loops.respond(rows.data(), 1, ones.data(), 1, 0.5F, y.data(), scale.data(),
                  static_cast<std::int64_t>(y.size()));
    for (const std::size_t i : beyond) EXPECT_FALSE(y[i] > 0) << i;  // as good as nothing
    EXPECT_TRUE(std::isnan(y[not_a_number]));
    for (std::size_t i = 0; i + 1 < y.size(); ++i) {
      if (i == beyond[0] || i == not_a_number) continue;
      const double t = 1 + 0.5 * static_cast<double>(x[i]) * static_cast<double>(x[i]);
      ASSERT_NEAR(static_cast<double>(scale[i]), t, 1e-6 * t);
      ASSERT_NEAR(static_cast<double>(y[i]) * std::pow(t, 0.75), 1, 1e-6) << t;
    }
  }
}

TEST(VectorLoops, gradients_of_prelu_and_of_its_slope_are_those_of_doubles) {
  const std::vector<float> x = evenly(-1, 2, 199), dy = evenly(3, -2, 199);
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::int64_t count : {1, 15, 33, 128, 199}) {
      std::vector<float> dx(200, 9);
      const float slope = 0.25F;
      const float sum = loops.prelu_gradient(x.data(), dy.data(), slope, dx.data(), count);
      EXPECT_EQ(loops.prelu_gradient(x.data(), dy.data(), slope, nullptr, count), sum);
      double wanted = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        if (x[i] < 0) wanted += static_cast<double>(x[i]) * static_cast<double>(dy[i]);
        EXPECT_EQ(dx[i], x[i] > 0 ? dy[i] : slope * dy[i]) << i << " of " << count;
      }
      EXPECT_NEAR(static_cast<double>(sum), wanted, 1e-4);
      EXPECT_EQ(dx[static_cast<std::size_t>(count)], 9);
    }
  }
}

TEST(VectorLoops, what_is_not_a_number_is_larger_than_all) {
  std::vector<float> x(200, 1);
  x[4] = nan;
  x[5] = 3;
  const std::vector<std::int32_t> zeros(200, 0);
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::int64_t stride : {1, 2, 3}) {
      std::vector<float> most(200);
      std::vector<std::int32_t> which(200);
      loops.largest_of_taps(x.data(), 3, 1, stride, zeros.data(), most.data(), which.data(), 16);
      for (std::int64_t i = 0; i < 16; ++i) {
        const bool holds = i * stride <= 4 && 4 < i * stride + 3;
        EXPECT_EQ(std::isnan(most[static_cast<std::size_t>(i)]), holds) << i << ", " << stride;
        if (holds) {
          EXPECT_EQ(which[static_cast<std::size_t>(i)], 4 - i * stride);
        }
      }
    }
  }
}

// What compilers made of each loop for this CPU is what they made of it for any CPU, at every
// length: whole vectors, their halves, and what is left.
TEST(VectorLoops, are_the_same_on_every_vector_unit) {
  const auto loops = both_loops();
  const std::vector<float> x = evenly(-3, 3, 400), z = evenly(2, -1, 400);
  const std::vector<std::int32_t> zeros(400, 0);
  for (std::int64_t count = 0; count < 70; ++count) {
    std::vector<std::vector<float>> results;
    for (const VectorLoops<float>& each : loops) {
      std::vector<float> y(400, 9), most(400, 9), even(z);
      std::vector<std::int32_t> which(400, 7);
      each.largest_of_taps(x.data(), 3, 1, 2, zeros.data(), most.data(), which.data(), count);
      each.larger_row(z.data(), zeros.data(), 5, most.data(), which.data(), count);
      each.multiply(x.data(), z.data(), y.data(), count);
      each.add_scaled(x.data(), 0.25F, even.data(), count);
      each.prelu(z.data(), 0.1F, even.data() + 100, count);
      most.resize(static_cast<std::size_t>(count));  // what is behind may be anything
      which.resize(most.size());
      results.push_back(y);
      results.back().insert(results.back().end(), most.begin(), most.end());
      results.back().insert(results.back().end(), even.begin(), even.end());
      for (const std::int32_t tap : which) results.back().push_back(static_cast<float>(tap));
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_NEAR(results[0][i], results[1][i], 1e-5F) << "place " << i << " of " << count;
    }
  }
}

TEST(VectorLoops, gradients_of_products_are_those_of_each_number) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t count : row_lengths) {
      const auto length = static_cast<std::int64_t>(count);
      const auto dy = some_numbers(count, 1), a = some_numbers(count, 2),
                 b = some_numbers(count, 3);
      std::vector<float> da(count + 1, 7), db(count + 1, 7), sums = some_numbers(count + 1, 4);
      loops.product_gradients(dy.data(), a.data(), b.data(), da.data(), db.data(), length);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_FLOAT_EQ(da[i], dy[i] * b[i]);
        ASSERT_FLOAT_EQ(db[i], dy[i] * a[i]);
      }
      const std::vector<float> before = sums;
      loops.factor_gradients(dy.data(), b.data(), a.data(), db.data(), sums.data(), length);
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_FLOAT_EQ(db[i], dy[i] * b[i]);
        ASSERT_NEAR(sums[i], before[i] + dy[i] * a[i], 1e-5);
        sum += static_cast<double>(dy[i]) * static_cast<double>(a[i]);
      }
      const float all = loops.factor_gradient(dy.data(), 3, a.data(), da.data(), length);
      ASSERT_NEAR(static_cast<double>(all), sum, 1e-5 * static_cast<double>(count));
      for (std::size_t i = 0; i < count; ++i) ASSERT_FLOAT_EQ(da[i], 3 * dy[i]);
      ASSERT_EQ(da[count], 7);
      ASSERT_EQ(db[count], 7);
      ASSERT_EQ(sums[count], before[count]);
    }
  }
}

TEST(VectorLoops, add_and_keep_rows_number_by_number) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t count : row_lengths) {
      const auto length = static_cast<std::int64_t>(count);
      const auto x = some_numbers(count, 1), before = some_numbers(count + 1, 2);
      std::vector<float> total = before, kept(count + 1, 7);
      loops.add_distant_row(x.data(), total.data(), length);
      std::vector<std::uint8_t> mask(count);
      for (std::size_t i = 0; i < count; ++i) mask[i] = i * i % 3 == 1 ? 255 : 0;
      loops.keep(x.data(), mask.data(), 1.25F, kept.data(), length);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_FLOAT_EQ(total[i], before[i] + x[i]);
        ASSERT_FLOAT_EQ(kept[i], mask[i] != 0 ? 1.25F * x[i] : 0.0F);
      }
      ASSERT_EQ(total[count], before[count]);
      ASSERT_EQ(kept[count], 7);
    }
  }
}

TEST(VectorLoops, copy_a_row_and_keep_the_larger_numbers) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t count : row_lengths) {
      auto x = some_numbers(count, 1);
      x[count / 2] = nan;  // does not count
      const auto before = some_numbers(count + 1, 1.2F);
      std::vector<float> most = before, copy(count + 1, 7);
      loops.copy_and_larger(x.data(), copy.data(), most.data(), static_cast<std::int64_t>(count));
      for (std::size_t i = 0; i < count; ++i) {
        if (i == count / 2) {
          ASSERT_TRUE(std::isnan(copy[i]));
          ASSERT_EQ(most[i], before[i]);
        } else {
          ASSERT_EQ(copy[i], x[i]);
          ASSERT_EQ(most[i], std::fmax(x[i], before[i]));
        }
      }
      ASSERT_EQ(copy[count], 7);
      ASSERT_EQ(most[count], before[count]);
    }
  }
}

// From any place on, across places whose upper halves differ, and at every length.
TEST(VectorLoops, drop_what_the_hash_of_the_place_says) {
  using namespace training_constants;
  constexpr std::uint32_t key = 0x9abcdef1, threshold = 0x4ccc0000;
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::uint64_t first :
         {0ULL, 5ULL, 16ULL, 31ULL, 131'000ULL, 131'072ULL - 64, 8'000'000'001ULL}) {
      for (const std::size_t count : {1U, 16U, 17U, 32U, 48U, 63U, 64U, 100U, 161U, 257U, 400U}) {
        const auto x = some_numbers(count, 3);
        std::vector<float> y(count + 1, 7);
        std::vector<std::uint8_t> mask(count + 1, 7);
        loops.drop(x.data(), key, first, threshold, 1.25F, y.data(), mask.data(),
                   static_cast<std::int64_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
          const std::uint64_t place = first + i;
          const auto number = static_cast<std::uint32_t>(dropout_hash_number(place));
          const bool is_kept = dropout_half(dropout_hash(key, number), place) >= threshold;
          ASSERT_EQ(mask[i], is_kept ? 255 : 0) << i << " of " << count << " from " << first;
          ASSERT_EQ(y[i], is_kept ? 1.25F * x[i] : 0.0F) << i << " of " << count;
        }
        ASSERT_EQ(y[count], 7);
        ASSERT_EQ(mask[count], 7);
      }
    }
  }
}

TEST(VectorLoops, gradients_of_softmax_are_those_of_doubles) {
  for (const VectorLoops<float>& loops : both_loops()) {
    for (const std::size_t n : row_lengths) {
      constexpr std::size_t rows = 3;
      const std::vector<float> y = some_numbers(rows * n, 1), dy = some_numbers(rows * n, 0.5F);
      std::vector<float> dx(rows * n + 1, -9);
      loops.softmax_gradient_rows(y.data(), dy.data(), dx.data(), rows,
                                  static_cast<std::int64_t>(n));
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t first = row * n, last = first + n;
        double sum = 0;
        for (std::size_t i = first; i < last; ++i) {
          sum += static_cast<double>(y[i]) * static_cast<double>(dy[i]);
        }
        for (std::size_t i = first; i < last; ++i) {
          const double wanted = static_cast<double>(y[i]) * (static_cast<double>(dy[i]) - sum);
          ASSERT_NEAR(static_cast<double>(dx[i]), wanted, 2e-5 * static_cast<double>(n)) << i;
        }
      }
      EXPECT_EQ(dx[rows * n], -9) << "wrote behind its numbers";
    }
  }
}

}  // namespace
}  // namespace strata::cpu_training
