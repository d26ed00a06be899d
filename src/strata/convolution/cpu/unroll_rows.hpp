// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

/// The matrix that a convolution multiplies its weights with: a row for every channel and kernel
/// position of a group, a column for every output pixel. Only blocks of it ever exist.
namespace strata::cpu {

struct UnrolledBlock {
  std::int64_t first_row = 0;  ///< (channel of the group · kernel height + ky) · kernel width + kx
  std::int64_t rows = 0;
  std::int64_t first_pixel = 0;  ///< of one image's output
  std::int64_t pixels = 0;
};

/// im2col. `image`: the channels of one group of one image; row r of the block begins at
/// block + r·step.
void unroll(const ConvShape& shape, const float* image, const UnrolledBlock& which, float* block,
            std::int64_t step);

/// col2im: adds every element to the pixel that it came from.
void roll_back(const ConvShape& shape, const float* block, std::int64_t step,
               const UnrolledBlock& which, float* image);

}  // namespace strata::cpu
