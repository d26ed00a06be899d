// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/fft_plan.hpp"

#include "strata/base/checked.hpp"
#include "strata/convolution/cpu/sizes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace strata::cpu {
namespace {

bool has_small_factors(std::int64_t n) {
  for (const std::int64_t factor : {2, 3, 5, 7}) {
    while (n % factor == 0) n /= factor;
  }
  return n == 1;
}

/// Sizes worth a look along one axis: powers of two and their small multiples up to the size that
/// takes the whole axis, and that one.
std::vector<std::int64_t> sizes_to_try(std::int64_t reach, std::int64_t results) {
  std::int64_t whole = checked_add(results, reach - 1);
  while (!has_small_factors(whole)) ++whole;
  std::vector<std::int64_t> sizes{whole};
  for (std::int64_t power = 4; power <= 256; power *= 2) {
    for (const std::int64_t size : {power, power + power / 4}) {
      if (size >= reach && size < whole) sizes.push_back(size);
    }
  }
  return sizes;
}

double transform_flop(double points) { return 5 * points * std::log2(std::max(2.0, points)); }

/// Seconds, roughly: what FFTW, matrix products and memory reach on a core of some 100 GFLOP/s.
/// Only the ratios matter.
double estimate(const Correlation& c, std::int64_t height, std::int64_t width, std::int64_t pairs) {
  constexpr double transforms_per_s = 20e9;
  constexpr double products_per_s = 80e9;
  constexpr double moved_per_s = 5e9;  // floats to and from the layout of spectra
  const auto points = static_cast<double>(height * width);
  const auto kernels = static_cast<double>(c.source_channels * c.result_channels);
  const auto channels = static_cast<double>(c.source_channels + c.result_channels);
  const double one = transform_flop(points) / transforms_per_s + 2 * points / moved_per_s;
  return static_cast<double>(pairs) * (channels * one + kernels * 8 * points / products_per_s) +
         kernels * (one + 2 * points / moved_per_s);
}

}  // namespace

FftTiles fft_tiles(const Correlation& c) {
  const std::int64_t reach_y = (c.kernel_height - 1) * c.dilation_height + 1;
  const std::int64_t reach_x = (c.kernel_width - 1) * c.dilation_width + 1;
  FftTiles best;
  double best_s = std::numeric_limits<double>::infinity();
  for (const std::int64_t height : sizes_to_try(reach_y, c.result_height)) {
    for (const std::int64_t width : sizes_to_try(reach_x, c.result_width)) {
      const FftTiles tiles{.height = height,
                           .width = width,
                           .result_rows = height - reach_y + 1,
                           .result_columns = width - reach_x + 1,
                           .rows = divide_up(c.result_height, height - reach_y + 1),
                           .columns = divide_up(c.result_width, width - reach_x + 1)};
      const std::int64_t pairs = divide_up(checked_mul(c.batch, tiles.rows, tiles.columns), 2);
      const double seconds = estimate(c, height, width, pairs);
      if (seconds >= best_s) continue;
      best_s = seconds;
      best = tiles;
    }
  }
  return best;
}

std::int64_t fft_flop(const Correlation& c, const FftTiles& tiles) {
  const std::int64_t pairs = divide_up(checked_mul(c.batch, tiles.rows, tiles.columns), 2);
  const std::int64_t kernels = checked_mul(c.source_channels, c.result_channels);
  const std::int64_t transforms =
      checked_add(kernels, checked_mul(pairs, c.source_channels + c.result_channels));
  const auto one = static_cast<std::int64_t>(transform_flop(static_cast<double>(tiles.points())));
  return checked_mul(c.groups, checked_add(checked_mul(transforms, one),
                                           checked_mul(8, tiles.points(), pairs, kernels)));
}

}  // namespace strata::cpu
