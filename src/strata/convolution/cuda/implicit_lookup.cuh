// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cuda/implicit.cuh"
#include "strata/convolution/cuda/implicit_tile.cuh"

/// Where the numbers of the unrolled matrix are in the images.
namespace strata::cuda {

/// An entry is nowhere, or a pixel has no window.
constexpr short nowhere = -32768;
constexpr unsigned nowhere_bit = 1U << 31;
constexpr int most_masked = 15;  // rows and columns of a window whose bits fit into a word

/// The images around one output pixel.
struct PixelPlace {
  int base = 0;  ///< of its image, moved to its window where the images are not spread
  int y = nowhere, x = nowhere;
  unsigned outside = 0;  ///< rows and columns of its window that are not in the image, as bits
};

template <Lookup How>
__device__ PixelPlace pixel_place(const ConvView& view, int image_begin, int oy, int ox) {
  PixelPlace place;
  place.y = oy * view.stride_height - view.pad_height;
  place.x = ox * view.stride_width - view.pad_width;
  place.base = image_begin;
  if (How != Lookup::spread) place.base += place.y * view.in_width + place.x;
  if constexpr (How == Lookup::masked) {
    place.outside = nowhere_bit;
    for (int ky = 0; ky < view.kernel_height; ++ky) {
      const int y = place.y + ky * view.dilation_height;
      if (y < 0 || y >= view.in_height) place.outside |= 1U << ky;
    }
    for (int kx = 0; kx < view.kernel_width; ++kx) {
      const int x = place.x + kx * view.dilation_width;
      if (x < 0 || x >= view.in_width) place.outside |= 1U << (most_masked + kx);
    }
  }
  return place;
}

/// Begins the copy of the number that `entry` names in the window of `pixel`. What is not there
/// becomes 0; its address is not read.
template <Lookup How>
__device__ __forceinline__ void copy_number(const ConvView& view, const float* images,
                                            const PixelPlace& pixel, const WindowEntry& entry,
                                            float* to) {
  if constexpr (How == Lookup::inside) {
    copy_later(to, images + (pixel.base + entry.offset));
  } else if constexpr (How == Lookup::masked) {
    copy_later(to, images + (pixel.base + entry.offset),
               (pixel.outside & static_cast<unsigned>(entry.where)) == 0);
  } else {
    const int y = pixel.y + static_cast<short>(entry.where & 0xffff);
    const int x = pixel.x + (entry.where >> 16);
    if constexpr (How == Lookup::spread) {
      const int row = y / view.gap_height, column = x / view.gap_width;
      const bool is_there = y >= 0 && x >= 0 && row * view.gap_height == y &&
                            column * view.gap_width == x && row < view.in_height &&
                            column < view.in_width;
      const int at = pixel.base + entry.offset + row * view.in_width + column;
      copy_later(to, images + (is_there ? at : 0), is_there);
    } else {
      const bool is_there = static_cast<unsigned>(y) < static_cast<unsigned>(view.in_height) &&
                            static_cast<unsigned>(x) < static_cast<unsigned>(view.in_width);
      copy_later(to, images + (is_there ? pixel.base + entry.offset : 0), is_there);
    }
  }
}

}  // namespace strata::cuda
