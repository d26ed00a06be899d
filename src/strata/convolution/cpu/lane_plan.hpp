// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/lab/shape.hpp"

#include <optional>
#include <vector>

/// The forward pass and the input's gradient with channels in the lanes of vectors, straight from
/// the source: a pixel is one number there, at whatever step, and a tap that meets padding is left
/// out instead of being multiplied with zeros. For a gradient at stride s, columns with the same
/// remainder by s see the same taps and make tiles of their own.
namespace strata::cpu {

/// One axis of a pass: where a result position looks through a kernel position.
struct LaneAxis {
  std::int64_t source_size = 1, result_size = 1;
  std::int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
  bool is_forward = true;

  /// Nothing: at padding, or between the pixels of a stride.
  std::optional<std::int64_t> source(std::int64_t result, std::int64_t tap) const;
};

/// Some pixels of a row that are computed together.
struct LaneTile {
  struct Column {
    std::int64_t kx = 0;
    std::int64_t offset = 0;  ///< in a row of the source, of the tile's first pixel
    std::int64_t outside = 0;
  };
  std::int64_t first = 0;  ///< column of the result
  std::int64_t pixels = 0;
  std::vector<Column> columns;  ///< taps that any of its pixels sees
};

struct LanePlan {
  LaneAxis rows, columns;
  std::vector<LaneTile> tiles;   ///< of a row
  std::int64_t result_step = 1;  ///< columns between the pixels of a tile
  std::int64_t pixel_step = 1;   ///< of the source
  std::int64_t groups = 1;
  std::int64_t sources = 1;  ///< channels of one group
  std::int64_t results = 1;
  std::int64_t block = 1;   ///< result channels that one inner loop computes
  std::int64_t blocks = 1;  ///< in a group
  std::int64_t sources_at_once = 1;
  std::int64_t rows_at_once = 1;
  std::int64_t parts = 1;  ///< of an image, rows_at_once each
  /// How many of those share one run over the result channels: so many as their sources stay in
  /// the second cache, which is what looking at one row of every channel needs.
  std::int64_t parts_at_once = 1;
  /// A block meets all parts at once: its weights are packed just before, by the thread that needs
  /// them. Otherwise all weights are packed first.
  bool packs_late = true;
  std::int64_t weights = 0, frames = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;

  std::int64_t taps() const { return rows.kernel * columns.kernel; }
  std::int64_t source_floats() const { return rows.source_size * columns.source_size; }
  std::int64_t result_floats() const { return rows.result_size * columns.result_size; }
  std::int64_t block_floats() const { return sources * taps() * block; }
  std::int64_t frame_floats() const { return rows_at_once * columns.result_size * block; }
  /// Multiplications of numbers for one image, those in vain included.
  double products() const;
};

/// Nothing where taps leave out more pixels of a tile than the inner loop can, or sizes are absurd.
std::optional<LanePlan> lane_plan(const ConvShape& shape, ConvPass pass, int threads);

}  // namespace strata::cpu
