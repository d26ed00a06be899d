// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/implicit_product.cuh"
#include "strata/convolution/cuda/implicit_tiles.cuh"

#include <cmath>
#include <limits>

namespace strata::cuda {
namespace {

template <class T, int Blocks>
ProductChoice usual(double rate) {
  return {T::rows,  T::columns,
          T::depth, T::threads,
          rate,     {product<T, Lookup::inside, Blocks>, product<T, Lookup::masked, Blocks>}};
}
template <class T, int Blocks>
ProductChoice any(double rate) {
  ProductChoice choice = usual<T, Blocks>(rate);
  choice.kernels[static_cast<std::size_t>(Lookup::checked)] = product<T, Lookup::checked, Blocks>;
  choice.kernels[static_cast<std::size_t>(Lookup::spread)] = product<T, Lookup::spread, Blocks>;
  return choice;
}

/// Rates as measured on an H200: 44.8 TFLOP/s is 1. The ways to look numbers up that few
/// convolutions need are compiled for some tiles only.
const std::array<ProductChoice, 4>& product_choices() {
  static const std::array<ProductChoice, 4> choices = {
      usual<ProductTile<128, 128, 8, 8, 4>, 2>(1.0),
      usual<ProductTile<96, 128, 12, 16, 3>, 3>(1.0),
      any<ProductTile<64, 128, 8, 16, 3>, 4>(0.96),
      any<ProductTile<32, 128, 8, 8, 4>, 8>(0.88),
  };
  return choices;
}

int sm_count() {
  int device = 0, count = 1;
  STRATA_CUDA_CALL(cudaGetDevice(&device));
  STRATA_CUDA_CALL(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

constexpr int most_parts = 16;
constexpr int least_inner = 256;  // of a part: fewer are not worth the way in and out
constexpr double most_part_bytes = 128.0 * 1024 * 1024;

/// In multiply-adds of one SM, of which an H200's makes about 24 while the memory moves a byte.
double time_of(const ConvView& view, const ProductChoice& tile, int parts, int sms) {
  constexpr double steps_per_byte = 1.0 / 24;
  const double pixels = static_cast<double>(view.batch) * view.out_height * view.out_width;
  const double filters = view.out_channels / view.groups;
  const double inner =
      static_cast<double>(view.in_channels / view.groups) * view.kernel_height * view.kernel_width;
  const double tiles =
      std::ceil(pixels / tile.columns) * std::ceil(filters / tile.rows) * view.groups;
  const double steps = std::ceil(inner / tile.depth / parts) * tile.depth;
  const double product =
      std::ceil(tiles * parts / sms) * steps * tile.rows * tile.columns / tile.rate;
  // Every further part is written and read, and the results once more.
  const double moved = parts == 1 ? 0 : (2.0 * (parts - 1) + 2) * 4 * pixels * view.out_channels;
  return product + moved * steps_per_byte;
}

}  // namespace

ProductPlan product_plan(const ConvView& view) {
  const Lookup how = lookup_of(view);
  const int sms = sm_count();
  const double result_bytes =
      4.0 * view.batch * view.out_channels * view.out_height * view.out_width;
  const int inner = view.in_channels / view.groups * view.kernel_height * view.kernel_width;
  ProductPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (const ProductChoice& tile : product_choices()) {
    if (tile.kernel_for(how) == nullptr) continue;
    for (int parts = 1; parts <= most_parts; ++parts) {
      if (parts > 1 &&
          (inner / parts < least_inner || (parts - 1) * result_bytes > most_part_bytes))
        break;
      const double time = time_of(view, tile, parts, sms);
      if (time < least) least = time, best = {&tile, parts};
    }
  }
  return best;
}

}  // namespace strata::cuda
