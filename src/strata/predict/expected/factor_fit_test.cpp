// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/factor_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace strata {
namespace {

/// Numbers that look random and are the same every time.
class Scatter {
 public:
  double next() {  // from 0 to 1
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 1;
};

/// Networks whose groups take `truth` times what is predicted, give or take.
std::vector<NetworkRun> made_up_networks(std::size_t networks, const std::vector<double>& truth,
                                         double scatter) {
  Scatter random;
  std::vector<NetworkRun> runs;
  for (std::size_t i = 0; i < networks; ++i) {
    NetworkRun run;
    run.network = "net" + std::to_string(i);
    run.rest_s = 1e-4;
    run.measured_s = run.rest_s;
    for (const double factor : truth) {
      run.busy_s.push_back(0.01 * (0.05 + random.next()));
      run.measured_s += factor * run.busy_s.back();
    }
    run.measured_s *= std::exp(scatter * (2 * random.next() - 1));
    run.to_low = run.to_high = 0.05;
    runs.push_back(std::move(run));
  }
  return runs;
}

double distance_from(const std::vector<double>& found, const std::vector<double>& truth) {
  double farthest = 0;
  for (std::size_t i = 0; i < truth.size(); ++i)
    farthest = std::max(farthest, std::fabs(std::log(found[i] / truth[i])));
  return farthest;
}

TEST(FactorFit, finds_the_factors_that_networks_were_made_with) {
  const std::vector<double> truth = {0.7, 1.0, 1.8, 1.2};
  const FactorFit exact = fit_factors(made_up_networks(60, truth, 0));
  ASSERT_EQ(exact.factors.size(), truth.size());
  EXPECT_LT(distance_from(exact.factors, truth), 0.02);
  EXPECT_LT(exact.error, 0.01);
  EXPECT_EQ(exact.networks, 60U);
  const FactorFit scattered = fit_factors(made_up_networks(60, truth, 0.1));
  EXPECT_LT(distance_from(scattered.factors, truth), 0.2);
  // The mean of |x| of x from -0.1 to 0.1 is 0.05.
  EXPECT_NEAR(scattered.error, 0.05, 0.015);
  EXPECT_LT(std::fabs(scattered.bias), 0.03);
}

TEST(FactorFit, leaves_what_no_network_has_alone) {
  std::vector<NetworkRun> runs = made_up_networks(20, {1.5}, 0);
  for (NetworkRun& run : runs) run.busy_s.push_back(0);
  const FactorFit fit = fit_factors(runs);
  EXPECT_NEAR(fit.factors[0], 1.5, 0.02);
  EXPECT_EQ(fit.factors[1], 1);
}

TEST(FactorFit, is_not_moved_by_one_network_that_is_another) {
  const std::vector<double> truth = {1.2, 0.8};
  std::vector<NetworkRun> runs = made_up_networks(40, truth, 0);
  runs[7].measured_s *= 5;
  EXPECT_LT(distance_from(fit_factors(runs).factors, truth), 0.05);
}

TEST(FactorFit, widens_the_interval_so_that_nine_of_ten_are_inside) {
  const std::vector<NetworkRun> runs = made_up_networks(100, {1.3, 0.9}, 0.4);
  const FactorFit fit = fit_factors(runs);
  int inside = 0;
  for (const NetworkRun& run : runs) {
    const std::vector<double> factors = factors_without(runs, run.network);
    double time_s = run.rest_s;
    for (std::size_t g = 0; g < factors.size(); ++g) time_s += factors[g] * run.busy_s[g];
    const double off = std::fabs(std::log(run.measured_s / time_s));
    inside += off <= std::hypot(run.to_low, fit.widening) + 1e-9 ? 1 : 0;
  }
  EXPECT_GE(inside, 90);
  EXPECT_LE(inside, 93);
}

TEST(FactorFit, of_a_few_networks_is_none) {
  EXPECT_TRUE(fit_factors(made_up_networks(4, {2.0}, 0)).factors.empty());
  EXPECT_TRUE(factors_without({}, "net1").empty());
}

}  // namespace
}  // namespace strata
