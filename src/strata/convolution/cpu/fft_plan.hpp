// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/correlation.hpp"
#include "strata/convolution/cpu/scratch.hpp"

/// How an FFT convolution is cut. Images are cut into overlapping tiles; a tile of `height` ×
/// `width` gives result_rows × result_columns results that no wrap-around has touched.
///
/// Kernels are real, so two tiles travel as the real and the imaginary part of one: correlating
/// their pair correlates both. For the weights' gradient the real part of the product of two pairs
/// is the sum of both products, which is what is wanted. Complex transforms are also two to three
/// times as fast as FFTW's real ones at these sizes.
namespace strata::cpu {

struct FftPlan {
  Correlation correlation;  ///< of the forward pass, for the weights' gradient
  std::int64_t height = 1, width = 1;
  std::int64_t result_rows = 1, result_columns = 1;
  std::int64_t tile_rows = 1, tile_columns = 1;  ///< tiles of one image
  std::int64_t tiles = 1, pairs = 1;             ///< of all images
  std::int64_t frequencies = 16;                 ///< rounded up to whole blocks
  std::int64_t blocks = 1;
  std::int64_t pairs_at_once = 1;
  bool is_chunk_per_thread = false;  ///< otherwise all threads work on the same chunk
  std::int64_t workers = 1;
  std::int64_t weights = 0, sources = 0, results = 0, buffers = 0;  ///< in the scratch memory
  std::int64_t sources_floats = 0, results_floats = 0, buffer_floats = 0;
  ScratchPlan scratch;

  std::int64_t points() const { return height * width; }
};

FftPlan fft_plan(const ConvProblem& problem, int threads);

/// Arithmetic of the transforms (5·n·log₂n each) and of the products.
std::int64_t fft_flop(const ConvProblem& problem, int threads);

}  // namespace strata::cpu
