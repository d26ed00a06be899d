// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/fit.hpp"

#include "strata/base/error.hpp"
#include "strata/predict/expected/kernel_times.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

struct Corner {
  std::vector<double> at;  // logarithms
  double value = 0;
};

std::vector<double> exponentials(const std::vector<double>& logarithms) {
  std::vector<double> numbers;
  for (const double one : logarithms) numbers.push_back(std::exp(one));
  return numbers;
}

/// a + factor (b − a)
std::vector<double> along(const std::vector<double>& a, const std::vector<double>& b,
                          double factor) {
  std::vector<double> point(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) point[i] = a[i] + factor * (b[i] - a[i]);
  return point;
}

KernelDims dims_from(const KernelSample& sample) {
  KernelDims dims{};
  std::copy(sample.dims.begin(), sample.dims.end(), dims.begin());
  return dims;
}

void fit_class(CalibratedClass& one, const GpuRates& gpu) {
  const auto kernel_class = operation_class_named(one.kernel_class);
  if (!kernel_class) fail(ErrorKind::input, "there is no class of kernels '{}'", one.kernel_class);
  const auto precision = dtype_named(one.precision);
  if (!precision)
    fail(ErrorKind::input, "{}: unknown data type '{}'", one.kernel_class, one.precision);
  const KernelForm form = form_of(*kernel_class);
  const ProductPass pass = product_pass(*kernel_class);
  for (const KernelSample& sample : one.samples) {
    if (sample.dims.size() != dims_of(form).size())
      fail(ErrorKind::input, "{}: a sample has {} dimensions, expected {}", one.kernel_class,
           sample.dims.size(), dims_of(form).size());
  }
  const auto error_of = [&](const std::vector<double>& coefficients) {
    double sum = 0;
    for (const KernelSample& sample : one.samples)
      sum += std::fabs(
          std::log(form_time_s(form, pass, *precision, coefficients, dims_from(sample), gpu) /
                   sample.busy_s));
    return sum / static_cast<double>(one.samples.size());
  };
  int most_moves = 300;
  std::vector<double> first = first_coefficients(form);
  // Few samples do not tell more terms apart; what they miss is carried over from sample to sample.
  constexpr std::size_t enough_for_all = 100;
  if (one.samples.size() < enough_for_all) first.resize(fewest_coefficients(form));
  if (first.size() > fewest_coefficients(form)) most_moves = 1500;  // a longer way
  one.coefficients = least_of(error_of, first, most_moves);
  one.sigma = 0;
  const ClassTimes times(*kernel_class, *precision, one, gpu);
  double squares = 0;
  for (std::size_t i = 0; i < one.samples.size(); ++i) {
    const double predicted_s = times.time(dims_from(one.samples[i]), gpu, i).busy_s;
    squares += std::pow(std::log(predicted_s / one.samples[i].busy_s), 2);
  }
  one.sigma = std::max(0.02, std::sqrt(squares / static_cast<double>(one.samples.size())));
}

}  // namespace

std::vector<double> least_of(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> first, int most_moves) {
  for (double& number : first) number = std::log(number);
  const auto corner = [&](std::vector<double> at) {
    const double value = function(exponentials(at));
    return Corner{std::move(at), value};
  };
  std::vector<Corner> simplex = {corner(first)};
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::vector<double> moved = first;
    moved[i] += 0.7;
    simplex.push_back(corner(std::move(moved)));
  }
  const auto is_less = [](const Corner& a, const Corner& b) { return a.value < b.value; };
  for (int step = 0; step < most_moves; ++step) {
    std::stable_sort(simplex.begin(), simplex.end(), is_less);
    Corner& worst = simplex.back();
    if (worst.value - simplex.front().value < 1e-6) break;
    std::vector<double> centre(first.size(), 0.0);
    for (std::size_t i = 0; i + 1 < simplex.size(); ++i) {
      for (std::size_t k = 0; k < centre.size(); ++k)
        centre[k] += simplex[i].at[k] / static_cast<double>(simplex.size() - 1);
    }
    Corner reflected = corner(along(centre, worst.at, -1));
    if (reflected.value < simplex.front().value) {
      Corner expanded = corner(along(centre, worst.at, -2));
      worst = expanded.value < reflected.value ? std::move(expanded) : std::move(reflected);
    } else if (reflected.value < simplex[simplex.size() - 2].value) {
      worst = std::move(reflected);
    } else {
      Corner contracted = corner(along(centre, worst.at, 0.5));
      if (contracted.value < worst.value) {
        worst = std::move(contracted);
        continue;
      }
      for (std::size_t i = 1; i < simplex.size(); ++i)
        simplex[i] = corner(along(simplex.front().at, simplex[i].at, 0.5));
    }
  }
  return exponentials(std::min_element(simplex.begin(), simplex.end(), is_less)->at);
}

void fit(Calibration& calibration, const GpuRates& measured_on) {
  for (CalibratedClass& one : calibration.classes) {
    if (!one.samples.empty()) fit_class(one, measured_on);
  }
}

}  // namespace strata
