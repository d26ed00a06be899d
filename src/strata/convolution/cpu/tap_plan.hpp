// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/lab/shape.hpp"

#include <vector>

/// Any convolution as sums over shifted planes. The source is copied into planes in which every
/// kernel position (tap) is one constant offset: padding becomes zeros, and a stride becomes as
/// many planes as there are remainders, so that the inner loop runs over whole rows at step one.
namespace strata::cpu {

struct Tap {
  std::int64_t offset = 0;  ///< from a result pixel of the frame to its source pixel
  std::int64_t ky = 0;
  std::int64_t kx = 0;
};

/// Result pixels that see the same taps: all of them, or for a gradient at stride s those with the
/// same remainder. The frame is as wide as the planes; columns beyond `columns` mean nothing.
struct TapPhase {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t first_y = 0;  ///< of the result
  std::int64_t first_x = 0;
  std::vector<Tap> taps;
};

struct PlaneStart {
  std::int64_t y = 0;
  std::int64_t x = 0;
};

struct TapPlan {
  // plane[y][x] = source[start.y + y·source_step_y][start.x + x·source_step_x], or zero outside
  std::vector<PlaneStart> planes;
  std::int64_t source_step_y = 1;
  std::int64_t source_step_x = 1;
  std::int64_t plane_height = 0;
  std::int64_t plane_width = 0;
  // phase pixel (y, x) is result pixel (first_y + y·result_step_y, first_x + x·result_step_x)
  std::vector<TapPhase> phases;
  std::int64_t result_step_y = 1;
  std::int64_t result_step_x = 1;

  std::int64_t plane_floats() const { return plane_height * plane_width; }
  std::int64_t channel_floats() const {
    return static_cast<std::int64_t>(planes.size()) * plane_floats();
  }
};

/// The source is the input; for the weights' gradient the frame holds the output's gradient.
TapPlan forward_taps(const ConvShape& shape);
/// The source is the output's gradient, the result the input's.
TapPlan input_gradient_taps(const ConvShape& shape);

/// Fills the planes of one channel from its source of height × width.
void fill_planes(const TapPlan& plan, const float* source, std::int64_t height, std::int64_t width,
                 float* planes);

}  // namespace strata::cpu
