// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/tap_plan.hpp"

namespace strata::cpu {

/// The forward pass and the input's gradient, by tap sums.
struct DirectPlan {
  TapPlan taps;
  std::int64_t images = 1;  ///< whose planes exist at once
  std::int64_t groups = 1;
  std::int64_t sources = 1;  ///< channels of one group
  std::int64_t results = 1;
  std::int64_t source_height = 1, source_width = 1, result_height = 1, result_width = 1;
  std::int64_t block = 1;            ///< result channels that one inner loop computes
  std::int64_t blocks = 1;           ///< in a group
  std::int64_t rows_at_once = 1;     ///< of a frame
  std::int64_t sources_at_once = 1;  ///< whose weights stay in the first cache
  std::int64_t frame_floats = 0;     ///< of one result channel
  bool reads_in_place = false;       ///< the source is as wanted: nothing to copy
  bool writes_in_place = false;      ///< so is the result
  bool is_by_lanes = false;          ///< channels in vectors, not pixels
  std::int64_t planes = 0, weights = 0, frames = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;

  std::int64_t image_floats() const { return groups * sources * taps.channel_floats(); }
  std::int64_t result_floats() const { return result_height * result_width; }
  /// Multiplications of numbers for one image, those with padding and in vain included.
  double products() const;
};

DirectPlan direct_plan(const ConvShape& shape, ConvPass pass, int threads);

}  // namespace strata::cpu
