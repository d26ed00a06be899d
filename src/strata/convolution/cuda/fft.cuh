// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"

#include <cstdint>

/// Convolution by products of spectra, in tiles of N × N numbers (N = 16 or 32) that overlap by the
/// window: overlap-save. The spectrum of real numbers is half of N × N: v in 0 … N/2, u in 0 … N−1,
/// number v × N + u.
namespace strata::cuda {

/// Tensors [image][channel][height][width] as tiles. A window that is too large for a tile is cut
/// into blocks, and each block is a channel of its own, of the kernels and of the images, whose
/// tiles begin `shift` later. A spectrum belongs to a (channel, block, image, tile), numbered in
/// this order. The tile (ty, tx) of the block (by, bx) holds, at (y, x), what is at
/// (ty × step + by × shift − origin + y, …) of the images with `gap` − 1 zeros between their
/// numbers; beyond `limit` rows or columns it is zero, and not written back.
struct TileGrid {
  int images = 1, channels = 1, height = 1, width = 1;
  int gap_height = 1, gap_width = 1;
  int tiles_y = 1, tiles_x = 1;
  int step_height = 0, step_width = 0;
  int origin_height = 0, origin_width = 0;
  int limit_height = 0, limit_width = 0;
  int blocks_y = 1, blocks_x = 1;
  int shift_height = 0, shift_width = 0;

  int planes() const { return channels * blocks_y * blocks_x; }
  std::int64_t spectra() const {
    return static_cast<std::int64_t>(planes()) * images * tiles_y * tiles_x;
  }
};

constexpr int spectrum_size(int n) { return n * (n / 2 + 1); }

enum class SpectrumOrder {
  by_frequency,  ///< [number of the spectrum][which spectrum]: what matrix products want
  by_tile,       ///< [which spectrum][number of it]
};

/// `factor` and conjugation are applied to what is written.
void transform_tiles(int n, const TileGrid& grid, const float* images, SpectrumOrder order,
                     float factor, bool conjugate, float2* spectra, cudaStream_t stream);

/// From by_frequency.
void transform_tiles_back(int n, const TileGrid& grid, const float2* spectra, float* images,
                          cudaStream_t stream);

/// Two filters as one spectrum: pairs[pair][channel][v][u] = first + i × second at (v, u) for v up
/// to N/2, and at (v, −u) above. `spectra` are those of the kernels, by_tile, conjugated.
void pair_filters(int n, int filters, int channels, const float2* spectra, float2* pairs,
                  cudaStream_t stream);

/// Products with all pairs, summed over the planes of `in`, and the way back, in one kernel: for
/// few channels. `spectra` are by_tile.
void multiply_back(int n, const TileGrid& in, const float2* spectra, const float2* pairs,
                   const TileGrid& out, float* images, cudaStream_t stream);

/// Of `frequencies`: c[rows][columns] = a[rows][inner] b[inner][columns], rows at most 4.
void multiply_few_rows(int frequencies, int rows, int inner, int columns, const float2* a,
                       const float2* b, float2* c, cudaStream_t stream);
/// c[rows][columns] = a[rows][inner] b[columns][inner]ᵀ, columns at most 4.
void multiply_few_columns(int frequencies, int rows, int inner, int columns, const float2* a,
                          const float2* b, float2* c, cudaStream_t stream);
inline constexpr int few = 4;

/// The kernels and the shared memory that they are given, for their facts.
struct TileKernel {
  const void* kernel;
  int shared_bytes;
};
TileKernel transform_kernel(int n);
TileKernel transform_back_kernel(int n);
TileKernel multiply_back_kernel(int n, int planes);

}  // namespace strata::cuda
