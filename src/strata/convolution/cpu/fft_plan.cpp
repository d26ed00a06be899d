// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/fft_plan.hpp"

#include "strata/convolution/cpu/spectrum_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace strata::cpu {
namespace {

std::int64_t rounded_up_quotient(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

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

/// Seconds, roughly: what FFTW, our products and memory reach on a core of some 100 GFLOP/s. Only
/// the ratios matter.
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

void choose_tile(FftPlan& p) {
  const Correlation& c = p.correlation;
  const std::int64_t reach_y = (c.kernel_height - 1) * c.dilation_height + 1;
  const std::int64_t reach_x = (c.kernel_width - 1) * c.dilation_width + 1;
  double best = std::numeric_limits<double>::infinity();
  for (const std::int64_t height : sizes_to_try(reach_y, c.result_height)) {
    for (const std::int64_t width : sizes_to_try(reach_x, c.result_width)) {
      const std::int64_t rows = rounded_up_quotient(c.result_height, height - reach_y + 1);
      const std::int64_t columns = rounded_up_quotient(c.result_width, width - reach_x + 1);
      const std::int64_t tiles = checked_mul(c.batch, rows, columns);
      const double time = estimate(c, height, width, rounded_up_quotient(tiles, 2));
      if (time >= best) continue;
      best = time;
      p.height = height;
      p.width = width;
      p.result_rows = height - reach_y + 1;
      p.result_columns = width - reach_x + 1;
      p.tile_rows = rows;
      p.tile_columns = columns;
      p.tiles = tiles;
    }
  }
  p.pairs = rounded_up_quotient(p.tiles, 2);
  p.blocks = rounded_up_quotient(checked_mul(p.height, p.width), frequency_block);
  p.frequencies = p.blocks * frequency_block;
}

}  // namespace

FftPlan fft_plan(const ConvProblem& problem, int threads) {
  const bool is_products = problem.pass == ConvPass::weight_gradient;
  FftPlan p;
  p.correlation = correlation_of(problem.shape, is_products ? ConvPass::forward : problem.pass);
  choose_tile(p);
  const Correlation& c = p.correlation;
  // The spectra of a chunk should stay near the cores, but the weights' spectra, read once per
  // chunk, want a dozen pairs at least.
  constexpr std::int64_t chunk_floats = 512 << 10;
  const std::int64_t pair_floats =
      checked_mul(2, p.frequencies, c.source_channels + c.result_channels);
  const std::int64_t least = c.source_channels >= 16 ? 12 : 3;
  const std::int64_t most = std::max(least, chunk_floats / pair_floats);
  p.is_chunk_per_thread = !is_products && p.pairs >= least * threads;
  p.workers = p.is_chunk_per_thread ? threads : 1;
  const std::int64_t share = rounded_up_quotient(p.pairs, p.workers);
  p.pairs_at_once = rounded_up_quotient(share, rounded_up_quotient(share, most));
  p.sources_floats = checked_mul(2 * p.frequencies, c.source_channels, p.pairs_at_once);
  p.results_floats = checked_mul(2 * p.frequencies, c.result_channels, p.pairs_at_once);
  // Two arrays of complex numbers, each with room for whole vectors, and two rows.
  p.buffer_floats = 2 * (2 * p.frequencies + 64) + 2 * ((p.width + 47) / 16 * 16);
  p.weights = p.scratch.add(checked_mul(2 * p.frequencies, c.source_channels, c.result_channels));
  p.sources = p.scratch.add(checked_mul(p.workers, p.sources_floats));
  p.results = p.scratch.add(checked_mul(p.workers, p.results_floats));
  p.buffers = p.scratch.add(checked_mul(threads, p.buffer_floats));
  return p;
}

std::int64_t fft_flop(const ConvProblem& problem, int threads) {
  const FftPlan p = fft_plan(problem, threads);
  const Correlation& c = p.correlation;
  const std::int64_t kernels = checked_mul(c.source_channels, c.result_channels);
  const std::int64_t transforms =
      checked_add(kernels, checked_mul(p.pairs, c.source_channels + c.result_channels));
  const auto one = static_cast<std::int64_t>(transform_flop(static_cast<double>(p.points())));
  return checked_mul(c.groups, checked_add(checked_mul(transforms, one),
                                           checked_mul(8, p.points(), p.pairs, kernels)));
}

}  // namespace strata::cpu
