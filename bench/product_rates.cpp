// SPDX-License-Identifier: Apache-2.0
// Matrix products as layers ask for them, by OpenBLAS and by what Strata takes for their size, in
// GFLOP/s of one core:
//
//   strata_product_rates [seconds]
//
// Both in turn, by the CPU time of the process, which a busy machine hardly disturbs; each figure
// is the best of what fits into the time. Where both are the same, OpenBLAS is what Strata takes.
#include "strata/convolution/cpu/matrix/product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>
#include <tuple>
#include <vector>

namespace {

using namespace strata::cpu;

struct Size {
  const char* of;
  std::int64_t m, n, k;
};
constexpr std::array sizes = {Size{"square", 512, 512, 512},
                              Size{"square", 1024, 1024, 1024},
                              Size{"transformer base, 100 words", 100, 2048, 512},
                              Size{"transformer base, 100 words", 100, 512, 2048},
                              Size{"bert base, 512 words", 512, 3072, 768},
                              Size{"scores of attention", 512, 512, 64},
                              Size{"resnet 1x1, 56x56", 64, 3136, 256},
                              Size{"resnet 1x1, 28x28", 512, 784, 128},
                              Size{"resnet 1x1, 7x7", 512, 49, 2048},
                              Size{"mobilenet 1x1, 112x112", 16, 12544, 96},
                              Size{"mobilenet 1x1, 112x112", 96, 12544, 16},
                              Size{"mobilenet 1x1, 56x56", 24, 3136, 144},
                              Size{"mobilenet 1x1, 28x28", 192, 784, 32},
                              Size{"classes of 32 images", 32, 1000, 2048},
                              Size{"lstm, 8 sequences", 8, 4096, 1024},
                              Size{"lstm, 2 sequences", 2, 4096, 1024},
                              Size{"classes of 4 images", 4, 1000, 4096},
                              Size{"weights of 2 images", 4096, 4096, 2},
                              Size{"weights of 8 images", 4096, 1024, 8}};

double now() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<float> some_numbers(std::int64_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

/// GFLOP/s by OpenBLAS and by Strata.
std::array<double, 2> rates_of(const Product<float>& product, double seconds) {
  std::array<double, 2> best = {1e30, 1e30};
  const double end = now() + seconds;
  for (int round = 0; round < 3 || now() < end; ++round) {
    for (const std::size_t by : {0U, 1U}) {
      const double start = now();
      by == 0 ? multiply_by_blas(product) : multiply(product);
      best[by] = std::min(best[by], now() - start);
    }
  }
  const double gflop = 2e-9 * static_cast<double>(product.m * product.n * product.k);
  return {gflop / best[0], gflop / best[1]};
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 0.1;
  if (const auto reason = blas_refusal()) {
    fmt::print("{}\n", *reason);
    return 1;
  }
  fmt::print("OpenBLAS {} and: {}\n\n", blas_version(), product_name(false));
  fmt::print("{:<30}{:>6}{:>6}{:>6}   {:<12}{:>9}{:>9}{:>8}\n", "", "m", "n", "k", "turned",
             "OpenBLAS", "Strata", "ratio");
  double logarithms = 0;
  int ratios = 0;
  for (const Size& size : sizes) {
    const std::vector<float> a = some_numbers(size.m * size.k), b = some_numbers(size.k * size.n);
    std::vector<float> result(static_cast<std::size_t>(size.m * size.n));
    // As forward, the gradient of the input and the gradient of the weights of a layer have them.
    for (const auto& [turned, a_is_turned, b_is_turned] :
         {std::tuple{"b", false, true}, {"neither", false, false}, {"a", true, false}}) {
      const std::array rates = rates_of({.m = size.m,
                                         .n = size.n,
                                         .k = size.k,
                                         .a = a.data(),
                                         .a_step = a_is_turned ? size.m : size.k,
                                         .a_is_turned = a_is_turned,
                                         .b = b.data(),
                                         .b_step = b_is_turned ? size.k : size.n,
                                         .b_is_turned = b_is_turned,
                                         .result = result.data(),
                                         .result_step = size.n},
                                        seconds);
      fmt::print("{:<30}{:>6}{:>6}{:>6}   {:<12}{:>9.1f}{:>9.1f}{:>8.2f}\n", size.of, size.m,
                 size.n, size.k, turned, rates[0], rates[1], rates[1] / rates[0]);
      logarithms += std::log(rates[1] / rates[0]);
      ++ratios;
    }
  }
  fmt::print("\ngeometric mean of {} ratios: {:.2f}\n", ratios, std::exp(logarithms / ratios));
}
