// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The inner loops of the direct strategy, compiled for every vector unit and chosen at run time.
namespace strata::cpu {

/// A block of result channels over a run of pixels:
///   result[r·result_step + p] (+)= Σ_c Σ_t source[c·channel_step + offsets[t] + p] · w[c][t][r]
/// for p < pixels, and nothing beyond them is read or written.
struct TapSums {
  const float* source = nullptr;
  std::int64_t channels = 1;
  std::int64_t channel_step = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t taps = 1;
  const float* weights = nullptr;  ///< [channels][taps][block]
  float* result = nullptr;
  std::int64_t result_step = 0;
  std::int64_t block = 1;  ///< result channels: 1, 2, 4 or 8
  std::int64_t pixels = 1;
  bool adds = false;  ///< to what is in the result; otherwise it is overwritten
};
void add_taps(const TapSums& sums);

/// One kernel position of add_lanes.
struct LaneTap {
  std::int64_t offset = 0;   ///< in a channel, of the first pixel's source
  std::int64_t weights = 0;  ///< in those of a channel
  /// Pixels without a source, which are left out: the first so many, or if negative the last.
  std::int64_t outside = 0;
};
inline constexpr std::int64_t most_outside = 2;

/// The same with the channels of a block side by side, for frames whose rows are no whole vectors:
///   result[p·result_step + r] (+)= Σ_c Σ_t source[c·channel_step + t.offset + p·pixel_step] ·
///                                          weights[c·weight_step + t.weights + r]
/// for p < pixels and r < block = pixel_block(). Weights and result are on a cache line. Pixels
/// outside are not read, so that neither padding nor what a stride leaves out is ever copied.
struct LaneSums {
  const float* source = nullptr;
  std::int64_t channels = 1;
  std::int64_t channel_step = 0;
  std::int64_t pixel_step = 1;
  const LaneTap* taps = nullptr;
  std::int64_t tap_count = 0;
  const float* weights = nullptr;
  std::int64_t weight_step = 0;
  float* result = nullptr;
  std::int64_t result_step = 0;
  std::int64_t pixels = 1;  ///< at most lane_pixels()
  bool adds = false;        ///< to what is in the result; otherwise it is overwritten
};
void add_lanes(const LaneSums& sums);

/// Products of gradients with shifted sources, summed over the pixels of all images:
///   result[i·sources + j] (+)= Σ_n Σ_p gradient[n·gradient_image_step + i·gradient_step + p] ·
///                                      source[n·source_image_step + source_offsets[j] + p]
struct TapProducts {
  const float* gradient = nullptr;
  std::int64_t gradients = 1;  ///< at most most_gradients
  std::int64_t gradient_step = 0;
  std::int64_t gradient_image_step = 0;
  const float* source = nullptr;
  const std::int64_t* source_offsets = nullptr;
  std::int64_t sources = 1;  ///< at most most_sources
  std::int64_t source_image_step = 0;
  std::int64_t images = 1;
  std::int64_t pixels = 1;  ///< gradients are zero from here to the end of the last vector
  float* result = nullptr;
};
inline constexpr std::int64_t most_gradients = 4;
inline constexpr std::int64_t most_sources = 6;
void multiply_taps(const TapProducts& products);

/// Products of a block of gradients, which lie side by side, with shifted sources, summed over
/// pixels:
///   result[j·block + i] (+)= Σ_y Σ_x gradient[(y·columns + x)·block + i] ·
///                                    source[source_offsets[j] + y·source_row_step +
///                                           x·source_pixel_step]
/// for i < block = pixel_block(). Gradients and result are on a cache line.
struct PixelProducts {
  const float* gradient = nullptr;
  const float* source = nullptr;
  const std::int64_t* source_offsets = nullptr;
  std::int64_t sources = 1;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t source_row_step = 0;
  std::int64_t source_pixel_step = 1;
  float* result = nullptr;
  bool adds = false;  ///< to what is in the result; otherwise it is overwritten
};
void multiply_pixels(const PixelProducts& products);

/// to[x·to_step + y] = from[y·from_step + x] for y < height, x < width.
struct TurnedMatrix {
  const float* from = nullptr;
  std::int64_t from_step = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  float* to = nullptr;
  std::int64_t to_step = 0;
};
void turn(const TurnedMatrix& matrix);

/// The block of multiply_pixels and add_lanes.
std::int64_t pixel_block();

/// The most pixels that add_lanes takes at once.
std::int64_t lane_pixels();

/// How many result channels add_taps takes at once when there are enough.
std::int64_t widest_channel_block();

/// The most floats that multiply_taps reads beyond its pixels.
inline constexpr std::int64_t vector_slack = 16;

}  // namespace strata::cpu
