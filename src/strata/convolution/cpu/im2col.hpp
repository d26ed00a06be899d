// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

/// The matrix that a convolution multiplies its weights with: a row for every channel and kernel
/// position of a group, a column for every output pixel. Only blocks of it ever exist.
namespace strata::cpu {

struct ColumnBlock {
  std::int64_t first_row = 0;  ///< (channel of the group · kernel height + ky) · kernel width + kx
  std::int64_t rows = 0;
  std::int64_t first_pixel = 0;  ///< of one image's output
  std::int64_t pixels = 0;
};

/// Fills the block, row after row, from the channels of one group of one image.
void im2col(const ConvShape& shape, const float* image, const ColumnBlock& which, float* block);

/// Adds every element of the block to the pixel that im2col takes it from.
void col2im(const ConvShape& shape, const float* block, const ColumnBlock& which, float* image);

}  // namespace strata::cpu
