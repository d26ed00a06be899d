// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/kernel_forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strata {
namespace {

struct Tile {
  double rows, columns;
};
/// Of the kernels that libraries choose from.
constexpr std::array<Tile, 11> tiles = {{{256, 128},
                                         {128, 256},
                                         {192, 192},
                                         {128, 128},
                                         {128, 64},
                                         {64, 128},
                                         {64, 64},
                                         {128, 32},
                                         {64, 32},
                                         {32, 64},
                                         {32, 32}}};

struct ProductCoefficients {
  double efficiency, edge, depth, fixed_s;
};

/// Of a row with so many numbers: 0 where rows begin at whole 16 bytes, 1 at whole 4 bytes, 2 else.
int misalignment_of(double numbers, double bytes) {
  const double rest = std::fmod(numbers * bytes, 16);
  return rest == 0 ? 0 : std::fmod(rest, 4) == 0 ? 1 : 2;
}

/// The fastest over tiles and splits of the depth: whole waves of tiles over the SMs, each tile at
/// a share of the peak that falls with its edge, plus the traffic of partial sums.
double product_s(double batch, double m, double n, double k, double peak, double bytes,
                 const ProductCoefficients& c, const GpuRates& gpu) {
  const double unit_peak = peak / gpu.units * c.efficiency;
  const double large_edge = 1 + c.edge * (1.0 / 128 + 1.0 / 256);
  double best = INFINITY;
  for (const Tile& tile : tiles) {
    const double blocks = std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * batch;
    const double share = large_edge / (1 + c.edge * (1 / tile.rows + 1 / tile.columns));
    for (double split = 1; split <= 128; split *= 2) {
      if (split > 1 && k / split < 128) break;
      const double waves = std::ceil(blocks * split / gpu.units);
      const double sums = split > 1 ? split * m * n * batch * 8 / gpu.bytes_per_s : 0;
      best = std::min(
          best, waves * 2 * tile.rows * tile.columns * (k / split + c.depth) / (unit_peak * share) +
                    sums);
      if (blocks * split >= 4 * gpu.units) break;  // more splits only add partial sums
    }
  }
  const double moved = (m * k + k * n + m * n) * batch * bytes / gpu.bytes_per_s;
  return std::max(best, moved) + c.fixed_s;
}

/// As a product of matrices that are never stored, or by Winograd's F(4×4, 3×3) in fp32; and the
/// change of layout that 16-bit and TF32 kernels want.
double convolution_s(ProductPass pass, DType precision, std::span<const double> c,
                     const KernelDims& d, const GpuRates& gpu) {
  const auto [n, channels, filters, in, out, window, groups] = d;
  const double bytes = static_cast<double>(bytes_per_element(precision));
  const ProductCoefficients product{c[0], c[1], c[2], c[3]};
  const double cin = channels / groups, cout = filters / groups;
  const double stride_area = std::max(1.0, in / out);
  const double peak = gpu.kernel_peak(precision);
  double time_s = 0;
  switch (pass) {
    case ProductPass::forward:
      time_s = product_s(groups, n * out, cout, cin * window, peak, 0, product, gpu);
      break;
    case ProductPass::backward_input:
      time_s = product_s(groups, n * in, cin, std::max(1.0, cout * window / stride_area), peak, 0,
                         product, gpu);
      break;
    case ProductPass::backward_weight:
      time_s = product_s(groups, cout, cin * window, n * out, peak, 0, product, gpu);
      break;
  }
  const double x = n * channels * in, y = n * filters * out;
  if (precision == DType::fp32 && window == 9 && in == out && groups == 1 && channels > 4) {
    const double tiles_of_4 = n * std::pow(std::ceil(std::sqrt(in) / 4), 2);
    const bool is_weight = pass == ProductPass::backward_weight;
    const double m = is_weight ? filters : tiles_of_4;
    const double k = is_weight ? tiles_of_4 : (pass == ProductPass::forward ? channels : filters);
    const double columns = pass == ProductPass::forward ? filters : channels;
    const double transforms = c[5] * 2.25 * 2 * (x + y) * bytes / gpu.bytes_per_s;
    time_s = std::min(time_s, product_s(36, m, columns, k, peak, 0, product, gpu) + transforms);
  }
  const double moved = (x + y + filters * cin * window) * bytes / gpu.bytes_per_s;
  const double layout = c[4] * 2 * (x + y) * bytes / gpu.bytes_per_s;
  return std::max(time_s, moved) + layout;
}

double recurrent_s(DType precision, std::span<const double> c, const KernelDims& d,
                   const GpuRates& gpu) {
  const auto [samples, steps, width, hidden, layers, none, none_either] = d;
  const double flop = 2 * samples * 4 * hidden * (width + hidden) * steps * layers;
  const double weights =
      4 * hidden * (width + hidden) * layers * static_cast<double>(bytes_per_element(precision));
  return c[0] * 1e-6 * steps * layers + c[1] * flop / gpu.kernel_peak(precision) +
         c[2] * steps * weights / gpu.bytes_per_s;
}

/// Blocks of 128 queries of a head, each to an SM, in waves: the last may leave SMs idle, and short
/// sequences leave queries empty. Exponentials are by scores, products by scores times width.
double attention_s(DType precision, std::span<const double> c, const KernelDims& d,
                   const GpuRates& gpu) {
  const auto [samples, heads, queries, keys, width, causal, none] = d;
  constexpr double block = 128;
  const double flop = 4 * samples * heads * queries * keys * width / causal;
  const double blocks = std::ceil(queries / block);
  const double empty = blocks * block / queries - 1;
  const double of_all_heads = blocks * samples * heads;
  const double busy = of_all_heads / (std::ceil(of_all_heads / gpu.units) * gpu.units);
  const auto term = [&](std::size_t i) { return i < c.size() ? c[i] : 0; };
  return c[1] * flop * (1 + term(3) / width) * (1 + term(4) * empty) /
             (gpu.kernel_peak(precision) * std::pow(busy, term(5))) +
         c[2] * samples * heads * queries * width / gpu.bytes_per_s;
}

}  // namespace

ProductPass product_pass(OperationClass kernel_class) {
  const std::string_view name = name_of(kernel_class);
  if (name.ends_with(".backward_input")) return ProductPass::backward_input;
  return name.ends_with(".backward_weight") || name.ends_with(".tn") ? ProductPass::backward_weight
                                                                     : ProductPass::forward;
}

int misalignment(ProductPass pass, DType precision, const KernelDims& d) {
  if (precision == DType::fp32 || precision == DType::fp64) return 0;  // not on matrix units
  const double bytes = static_cast<double>(bytes_per_element(precision));
  // Rows of the right side and of the result have n numbers, those of the left side k; m, where it
  // is stored transposed. Where the right side is, its rows have k as well.
  const double left = pass == ProductPass::backward_weight ? d[1] : d[3];
  return std::max(misalignment_of(d[2], bytes), misalignment_of(left, bytes));
}

double form_time_s(KernelForm form, ProductPass pass, DType precision, std::span<const double> c,
                   const KernelDims& d, const GpuRates& gpu) {
  const double per_byte = 1 / gpu.bytes_per_s;
  const double per_clock = 1 / gpu.clock_hz;
  const double fixed_s = c[0] * 1e-6;
  switch (form) {
    case KernelForm::elements: return fixed_s + c[1] * d[0] * per_byte;
    case KernelForm::rows:
      return fixed_s + c[1] * d[0] * d[1] * per_byte + c[2] * d[0] / gpu.units * per_clock +
             c[3] * d[1] * per_clock;
    case KernelForm::channels:
      return fixed_s + std::max(c[1] * d[0] * d[1] * per_byte,
                                c[2] * std::max(1.0, d[0] / gpu.units) * d[1] * per_clock);
    case KernelForm::pool:
      return fixed_s + c[1] * d[0] * per_byte + c[2] * d[1] * d[2] / gpu.units * per_clock +
             c[3] * d[0] / gpu.units * per_clock;
    case KernelForm::product: {
      const double slower = std::pow(c[4], misalignment(pass, precision, d));
      return product_s(d[0], d[1], d[2], d[3], gpu.kernel_peak(precision) / slower,
                       static_cast<double>(bytes_per_element(precision)),
                       {c[1], c[2], c[3], fixed_s}, gpu);
    }
    case KernelForm::convolution: {
      const std::array<double, 6> scaled = {c[1], c[2], c[3], fixed_s, c[4], c[5]};
      return convolution_s(pass, precision, scaled, d, gpu);
    }
    case KernelForm::depthwise:
      return fixed_s + c[1] * (d[0] * d[1] * d[3] + d[0] * d[2] * d[4]) * per_byte +
             c[2] * d[0] * d[2] * d[4] * d[5] / gpu.units * per_clock;
    case KernelForm::lookup:
      return fixed_s + c[1] * d[0] * d[2] * per_byte + c[2] * d[1] * d[2] * per_byte;
    case KernelForm::list: return fixed_s + c[1] * d[1] * per_byte + c[2] * 1e-6 * d[0];
    case KernelForm::recurrent: return recurrent_s(precision, c, d, gpu);
    case KernelForm::attention: return fixed_s + attention_s(precision, c, d, gpu);
  }
  return fixed_s;
}

std::vector<double> first_coefficients(KernelForm form) {
  switch (form) {
    case KernelForm::elements: return {2, 8};
    case KernelForm::rows: return {3, 8, 2, 0.1};
    case KernelForm::channels: return {4, 8, 0.05};
    case KernelForm::pool: return {3, 4, 0.1, 0.1};
    case KernelForm::product: return {3, 0.7, 30, 60, 3};
    case KernelForm::convolution: return {5, 0.5, 30, 60, 0.5, 1};
    case KernelForm::depthwise: return {3, 2, 0.05};
    case KernelForm::lookup: return {5, 8, 8};
    case KernelForm::list: return {5, 12, 0.1};
    case KernelForm::recurrent: return {10, 3, 0.3};
    case KernelForm::attention: return {5, 4, 8, 64, 0.3, 0.3};
  }
  return {1};
}

std::size_t fewest_coefficients(KernelForm form) {
  constexpr std::size_t of_attention = 3;
  return form == KernelForm::attention ? of_attention : first_coefficients(form).size();
}

}  // namespace strata
