// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/view.cuh"
#include "strata/gpu/cuda/api.cuh"

#include <cstdint>

/// Winograd's minimal filtering F(m × m, 3 × 3), m = 2 or 4, with Lavin and Gray's matrices:
/// y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A. The gradient of g is Gᵀ[(A dy Aᵀ) ⊙ (Bᵀ d B)]G.
namespace strata::cuda {

/// Tiles of m × m outputs. Transformed tiles lie as [part][number of the (m+2)² ][channel][tile of
/// the part]; parts cut the sum over tiles of the weights' gradient into several matrix products,
/// and the last one is filled up with zeros.
struct WinogradTiles {
  int m = 4;
  int tiles_y = 1, tiles_x = 1;
  int parts = 1;
  int per_part = 1;  ///< tiles of a part

  int points() const { return (m + 2) * (m + 2); }
};

/// Bᵀ d B of the images' tiles.
void winograd_images(const ConvView& view, const WinogradTiles& tiles, const float* images,
                     float* transformed, cudaStream_t stream);
/// G g Gᵀ: [number][filter × channel].
void winograd_kernels(const WinogradTiles& tiles, int count, const float* kernels,
                      float* transformed, cudaStream_t stream);
/// Aᵀ … A, to the results of the view.
void winograd_results(const ConvView& view, const WinogradTiles& tiles, const float* transformed,
                      float* results, cudaStream_t stream);
/// A dy Aᵀ of the results' gradient.
void winograd_result_gradients(const ConvView& view, const WinogradTiles& tiles,
                               const float* gradients, float* transformed, cudaStream_t stream);
/// Gᵀ … G of the sum over the parts: [part][number][filter × channel] → the weights' gradient.
void winograd_kernel_gradients(const WinogradTiles& tiles, int count, const float* transformed,
                               float* gradients, cudaStream_t stream);

const void* winograd_images_kernel(int m);
const void* winograd_results_kernel(int m);

/// Multiplications and additions of the transforms of one tile, one kernel and one result.
struct WinogradFlop {
  std::int64_t images = 0, kernels = 0, results = 0;
};
WinogradFlop winograd_flop(int m);

}  // namespace strata::cuda
