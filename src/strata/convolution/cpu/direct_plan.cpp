// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct_plan.hpp"

#include "strata/convolution/cpu/direct.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"

#include <algorithm>
#include <bit>

namespace strata::cpu {
namespace {

bool is_source_as_it_is(const DirectPlan& p) {
  return p.taps.planes.size() == 1 && p.taps.planes[0].y == 0 && p.taps.planes[0].x == 0 &&
         p.taps.source_step_y == 1 && p.taps.source_step_x == 1 &&
         p.taps.plane_height == p.source_height && p.taps.plane_width == p.source_width;
}

bool is_result_as_it_is(const DirectPlan& p) {
  return p.taps.phases.size() == 1 && p.taps.result_step_y == 1 && p.taps.result_step_x == 1 &&
         p.taps.plane_width == p.result_width && p.taps.phases[0].rows == p.result_height &&
         p.taps.phases[0].columns == p.result_width && p.results % p.block == 0;
}

/// Pixels of a frame that vectors compute: it is as wide as the padded source, and ends within one.
std::int64_t computed_pixels(const TapPlan& taps, const TapPhase& phase) {
  constexpr std::int64_t lanes = 16;
  return (phase.rows * taps.plane_width + lanes - 1) / lanes * lanes;
}

/// What share of the arithmetic of vectors of pixels is of pixels that mean something.
double share_of_pixels(const DirectPlan& p) {
  std::int64_t useful = 0, all = 0;
  for (const TapPhase& phase : p.taps.phases) {
    useful += phase.rows * phase.columns;
    all += computed_pixels(p.taps, phase);
  }
  return static_cast<double>(useful) / static_cast<double>(std::max<std::int64_t>(1, all));
}

bool is_better_by_lanes(const DirectPlan& p) {
  constexpr double wasteful = 0.9;
  const std::int64_t block = pixel_block();
  const std::int64_t padded = (p.results + block - 1) / block * block;
  const double channels = static_cast<double>(p.results) / static_cast<double>(padded);
  const double pixels = share_of_pixels(p);
  return pixels < wasteful && channels > pixels;
}

}  // namespace

double DirectPlan::products() const {
  double of_channel = 0;
  for (const TapPhase& phase : taps.phases) {
    of_channel +=
        static_cast<double>(computed_pixels(taps, phase)) * static_cast<double>(phase.taps.size());
  }
  return of_channel * static_cast<double>(groups * sources) * static_cast<double>(blocks * block);
}

DirectPlan direct_plan(const ConvShape& s, ConvPass pass, int threads) {
  const bool is_forward = pass == ConvPass::forward;
  DirectPlan p;
  p.taps = is_forward ? forward_taps(s) : input_gradient_taps(s);
  p.groups = s.groups;
  p.sources = (is_forward ? s.channels : s.filters) / s.groups;
  p.results = (is_forward ? s.filters : s.channels) / s.groups;
  p.source_height = is_forward ? s.height : s.output_height();
  p.source_width = is_forward ? s.width : s.output_width();
  p.result_height = is_forward ? s.output_height() : s.height;
  p.result_width = is_forward ? s.output_width() : s.width;
  p.images = images_at_once(s.batch, p.image_floats());
  p.block =
      std::min(widest_channel_block(),
               static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(p.results))));
  p.is_by_lanes = is_better_by_lanes(p);
  if (p.is_by_lanes) p.block = pixel_block();
  p.blocks = (p.results + p.block - 1) / p.block;
  // The source pixels of a task should stay in the second cache, its frame in the first.
  const std::int64_t pixels = std::clamp<std::int64_t>(
      131072 / (p.sources * static_cast<std::int64_t>(p.taps.planes.size())), 192, 1024);
  std::int64_t rows = 1;
  for (const TapPhase& phase : p.taps.phases) rows = std::max(rows, phase.rows);
  p.rows_at_once = std::clamp<std::int64_t>(pixels / p.taps.plane_width, 1, rows);
  p.sources_at_once =
      std::max<std::int64_t>(1, 6144 / (p.block * s.kernel_height * s.kernel_width));
  if (p.is_by_lanes) {
    // Their pixels as well, which all rows of the frame come back to.
    p.sources_at_once = std::max<std::int64_t>(
        1, 6144 / (p.block * s.kernel_height * s.kernel_width +
                   std::min(p.taps.plane_height, p.rows_at_once + 2) * p.taps.plane_width));
  }
  p.reads_in_place = is_source_as_it_is(p);
  p.writes_in_place = !p.is_by_lanes && is_result_as_it_is(p);
  if (p.reads_in_place) p.images = s.batch;
  p.frame_floats = p.writes_in_place ? 0 : p.rows_at_once * p.taps.plane_width;
  p.planes = p.scratch.add(p.reads_in_place ? 0 : checked_mul(p.images, p.image_floats()));
  p.weights = p.scratch.add(
      checked_mul(p.groups, p.blocks * p.block, p.sources, s.kernel_height * s.kernel_width));
  p.frames = p.scratch.add(checked_mul(threads, p.block, p.frame_floats));
  return p;
}

}  // namespace strata::cpu
