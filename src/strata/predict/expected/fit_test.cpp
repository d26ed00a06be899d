// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/fit.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/kernel_forms.hpp"
#include "strata/predict/expected/round_gpu_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace strata {
namespace {

TEST(Fit, finds_the_least_of_a_known_function) {
  const std::vector<double> least = {3, 0.02, 700};
  int asked = 0;
  const auto function = [&](const std::vector<double>& x) {
    ++asked;
    double sum = 1;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += (static_cast<double>(i) + 1) * std::pow(std::log(x[i] / least[i]), 2);
    return sum;
  };
  const std::vector<double> found = least_of(function, {1, 1, 1}, 1000);
  for (std::size_t i = 0; i < least.size(); ++i)
    EXPECT_NEAR(found[i], least[i], 0.01 * least[i]) << i;
  EXPECT_EQ(least_of(function, {1, 1, 1}, 1000), found);  // nothing is random
  asked = 0;
  least_of(function, {1, 1, 1}, 5);
  EXPECT_LE(asked, 4 + 5 * 5);
}

/// Dimensions that a calibration would measure: a grid of sizes.
std::vector<std::vector<double>> grid_of(std::vector<std::vector<double>> axes) {
  std::vector<std::vector<double>> points = {{}};
  for (const std::vector<double>& axis : axes) {
    std::vector<std::vector<double>> longer;
    for (const std::vector<double>& point : points) {
      for (const double value : axis) {
        longer.push_back(point);
        longer.back().push_back(value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

struct SyntheticCase {
  std::string kernel_class;
  std::string precision;
  std::vector<double> coefficients;
  std::vector<std::vector<double>> dims;
};

std::vector<SyntheticCase> synthetic_cases() {
  std::vector<std::vector<double>> convolutions;
  for (const double samples : {8.0, 32.0, 128.0}) {
    for (const double channels : {64.0, 256.0}) {
      convolutions.push_back({samples, channels, channels, 784, 784, 9, 1});
      convolutions.push_back({samples, channels, 2 * channels, 784, 196, 9, 1});
      convolutions.push_back({samples, channels, channels, 3136, 3136, 1, 1});
    }
  }
  return {
      {"relu.forward", "fp32", {4, 5}, grid_of({{1e3, 1e5, 1e6, 1e7, 1e8}})},
      {"layer_norm.forward", "fp32", {5, 11, 3, 0.3}, grid_of({{1e3, 3e4, 4e5}, {96, 768, 4096}})},
      {"batch_norm.forward", "fp32", {6, 12, 0.2}, grid_of({{16, 64, 256, 1024}, {2.5e4, 4e5}})},
      {"max_pool.forward",
       "fp32",
       {4, 6, 0.2, 0.3},
       grid_of({{1e5, 1e6, 1e7}, {2e5, 1e6}, {4, 9}})},
      {"linear.forward",
       "bf16",
       {4, 0.8, 50, 100, 5},
       grid_of({{1}, {128, 512, 2048, 8192}, {512, 4096, 4095, 30522}, {64, 1024, 4096}})},
      {"convolution.forward", "bf16", {8, 0.4, 40, 90, 0.8, 1}, convolutions},
      {"convolution.backward_weight", "fp32", {8, 0.7, 40, 90, 0.3, 1.5}, convolutions},
      {"depthwise.forward",
       "fp32",
       {5, 3, 0.1},
       grid_of({{8, 64}, {32, 256}, {256}, {784, 3136}, {784}, {9, 25}, {256}})},
      {"embedding.backward", "fp32", {20, 12, 6}, grid_of({{128, 4096}, {1e3, 5e4}, {64, 768}})},
      {"update.adam", "fp32", {9, 30, 0.3}, grid_of({{10, 100, 400}, {1e4, 1e7, 1e8}})},
      {"lstm.forward",
       "fp32",
       {15, 2, 0.5},
       grid_of({{8, 64}, {20, 100}, {128, 1024}, {256, 1024}, {1, 3}})},
      {"attention.forward",
       "bf16",
       {7, 3, 5},
       grid_of({{2, 16}, {12}, {128, 2048}, {128, 2048}, {64, 128}, {1, 2}})},
  };
}

TEST(Fit, recovers_every_form_from_samples_made_by_it) {
  const GpuRates gpu = round_gpu();
  for (const SyntheticCase& one : synthetic_cases()) {
    const OperationClass kernel_class = *operation_class_named(one.kernel_class);
    const DType precision = *dtype_named(one.precision);
    const auto time = [&](const std::vector<double>& coefficients, const KernelSample& sample) {
      KernelDims dims{};
      std::copy(sample.dims.begin(), sample.dims.end(), dims.begin());
      return form_time_s(form_of(kernel_class), product_pass(kernel_class), precision, coefficients,
                         dims, gpu);
    };
    Calibration calibration;
    calibration.classes = {{.kernel_class = one.kernel_class, .precision = one.precision}};
    CalibratedClass& fitted = calibration.classes.front();
    for (const std::vector<double>& dims : one.dims) {
      fitted.samples.push_back({.dims = dims});
      fitted.samples.back().busy_s = time(one.coefficients, fitted.samples.back());
      fitted.samples.back().kernels_s = fitted.samples.back().busy_s;
    }
    fit(calibration, gpu);
    for (const KernelSample& sample : fitted.samples)
      EXPECT_NEAR(time(fitted.coefficients, sample), sample.busy_s, 0.05 * sample.busy_s)
          << one.kernel_class;
    EXPECT_LT(fitted.sigma, 0.05) << one.kernel_class;
  }
}

TEST(Fit, of_the_calibration_that_ships_finds_the_coefficients_that_ship) {
  for (const Calibration& shipped : shipped_calibrations()) {
    Calibration again = shipped;
    for (CalibratedClass& one : again.classes) one.coefficients.clear();
    fit(again, gpu_rates(load_machine(shipped.machine)));
    for (std::size_t i = 0; i < shipped.classes.size(); ++i) {
      const CalibratedClass &one = shipped.classes[i], &fitted = again.classes[i];
      ASSERT_EQ(fitted.coefficients.size(), one.coefficients.size()) << one.kernel_class;
      for (std::size_t k = 0; k < one.coefficients.size(); ++k)
        EXPECT_NEAR(fitted.coefficients[k], one.coefficients[k], 1e-3 * one.coefficients[k])
            << one.kernel_class << " " << one.precision;
      EXPECT_NEAR(fitted.sigma, one.sigma, 1e-3 * one.sigma) << one.kernel_class;
    }
  }
}

std::string refusal_of_fit(const CalibratedClass& one) {
  Calibration calibration;
  calibration.classes = {one};
  try {
    fit(calibration, round_gpu());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    return error.what();
  }
  return "accepted";
}

TEST(Fit, refuses_what_it_does_not_know) {
  const KernelSample sample{{1e6}, 1e-5, 1e-5, 1};
  const auto refusal = [&](const std::string& kernel_class, const std::string& precision,
                           std::size_t dims) {
    KernelSample one = sample;
    one.dims.assign(dims, 1e6);
    return refusal_of_fit({.kernel_class = kernel_class, .precision = precision, .samples = {one}});
  };
  EXPECT_EQ(refusal("relu.forward", "fp32", 1), "accepted");
  EXPECT_NE(refusal("relu.sideways", "fp32", 1).find("relu.sideways"), std::string::npos);
  EXPECT_NE(refusal("relu.forward", "fp99", 1).find("fp99"), std::string::npos);
  EXPECT_NE(refusal("relu.forward", "fp32", 13).find("13 dimensions, expected 1"),
            std::string::npos);
  EXPECT_NE(refusal("linear.forward", "fp32", 3).find("3 dimensions, expected 4"),
            std::string::npos);
}

TEST(Fit, of_a_class_without_samples_leaves_it_as_it_is) {
  CalibratedClass one{.kernel_class = "relu.forward", .precision = "fp32", .coefficients = {1, 2}};
  Calibration calibration;
  calibration.classes = {one};
  fit(calibration, round_gpu());
  EXPECT_EQ(calibration.classes.front(), one);
}

}  // namespace
}  // namespace strata
