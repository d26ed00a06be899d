// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/correlation.hpp"

namespace strata::cpu {

/// Into which tiles an FFT convolution cuts its images: `height` × `width` points, of which
/// result_rows × result_columns are results that no wrap-around has touched (overlap-save).
struct FftTiles {
  std::int64_t height = 1, width = 1;
  std::int64_t result_rows = 1, result_columns = 1;
  std::int64_t rows = 1, columns = 1;  ///< tiles of one image

  std::int64_t points() const { return height * width; }
};

/// The size with the least arithmetic, roughly.
FftTiles fft_tiles(const Correlation& correlation);

/// Arithmetic of the transforms (5·n·log₂n each) and of the products.
std::int64_t fft_flop(const Correlation& correlation, const FftTiles& tiles);

}  // namespace strata::cpu
