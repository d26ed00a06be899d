// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/lane_plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace strata::cpu {
namespace {

/// The taps of a tile, from the left to the right of the source, as processors foresee; false: one
/// leaves out what the inner loop cannot leave out.
bool find_columns(const LanePlan& plan, LaneTile& tile) {
  for (std::int64_t i = 0; i < plan.columns.kernel; ++i) {
    const std::int64_t kx = plan.columns.is_forward ? i : plan.columns.kernel - 1 - i;
    std::int64_t begin = tile.pixels, end = 0, offset = 0;
    for (std::int64_t p = 0; p < tile.pixels; ++p) {
      const auto source = plan.columns.source(tile.first + p * plan.result_step, kx);
      if (!source) continue;
      begin = std::min(begin, p);
      end = p + 1;
      offset = *source - p * plan.pixel_step;
    }
    if (begin >= end) continue;
    const std::int64_t after = tile.pixels - end;
    if ((begin > 0 && after > 0) || std::max(begin, after) > most_outside) return false;
    tile.columns.push_back({kx, offset, begin > 0 ? begin : -after});
  }
  return true;
}

/// Rows in tiles of about the same size: a small one at the end would leave registers idle.
bool find_tiles(LanePlan& plan) {
  for (std::int64_t phase = 0; phase < plan.result_step; ++phase) {
    if (phase >= plan.columns.result_size) break;
    const std::int64_t pixels =
        (plan.columns.result_size - phase + plan.result_step - 1) / plan.result_step;
    const std::int64_t tiles = (pixels + lane_pixels() - 1) / lane_pixels();
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t first = pixels * i / tiles;
      LaneTile tile{.first = phase + first * plan.result_step,
                    .pixels = pixels * (i + 1) / tiles - first};
      if (!find_columns(plan, tile)) return false;
      plan.tiles.push_back(std::move(tile));
    }
  }
  return true;
}

/// Weights of the source channels that are summed at once stay in the second cache, beside what
/// they meet; a frame stays in the first.
constexpr std::int64_t most_weight_floats = std::int64_t{1} << 15;
constexpr std::int64_t most_source_floats = std::int64_t{1} << 18;
constexpr std::int64_t most_frame_pixels = 256;

void cut(LanePlan& p, std::int64_t batch, int threads) {
  const std::int64_t rows = p.rows.result_size;
  p.sources_at_once =
      std::clamp<std::int64_t>(most_weight_floats / (p.taps() * p.block), 1, p.sources);
  const std::int64_t most_rows =
      std::clamp<std::int64_t>(most_frame_pixels / p.columns.result_size, 1, rows);
  p.rows_at_once = (rows + most_rows - 1) / most_rows;            // how many parts,
  p.rows_at_once = (rows + p.rows_at_once - 1) / p.rows_at_once;  // of the same size
  p.parts = (rows + p.rows_at_once - 1) / p.rows_at_once;
  const std::int64_t part_floats =
      std::max<std::int64_t>(1, p.sources * p.source_floats() / p.parts);
  const std::int64_t panels = p.groups * p.blocks;
  p.parts_at_once = p.parts * batch;
  if (p.parts_at_once > 2 * most_source_floats / part_floats) {
    p.parts_at_once =
        std::clamp<std::int64_t>(most_source_floats / part_floats, 1, p.parts_at_once);
  }
  p.packs_late = p.parts_at_once == p.parts * batch && (threads == 1 || panels >= 4 * threads);
  if (!p.packs_late && threads > 1) {  // something for each of them
    p.parts_at_once =
        std::clamp<std::int64_t>(panels * p.parts * batch / (4 * threads), 1, p.parts_at_once);
  }
}

}  // namespace

std::optional<std::int64_t> LaneAxis::source(std::int64_t result, std::int64_t tap) const {
  const std::int64_t moved =
      is_forward ? result * stride + tap * dilation - pad : result + pad - tap * dilation;
  if (moved < 0 || (!is_forward && moved % stride != 0)) return std::nullopt;
  const std::int64_t position = is_forward ? moved : moved / stride;
  if (position >= source_size) return std::nullopt;
  return position;
}

double LanePlan::products() const {
  double of_rows = 0, of_columns = 0;
  for (std::int64_t y = 0; y < rows.result_size; ++y) {
    for (std::int64_t ky = 0; ky < rows.kernel; ++ky) of_rows += rows.source(y, ky) ? 1 : 0;
  }
  for (const LaneTile& tile : tiles) {
    for (const LaneTile::Column& column : tile.columns) {
      of_columns += static_cast<double>(tile.pixels - std::abs(column.outside));
    }
  }
  return of_rows * of_columns * static_cast<double>(groups * blocks * block * sources);
}

std::optional<LanePlan> lane_plan(const ConvShape& s, ConvPass pass, int threads) {
  const bool is_forward = pass == ConvPass::forward;
  LanePlan p;
  p.rows = {s.height,     s.output_height(), s.kernel_height, s.stride_height,
            s.pad_height, s.dilation_height, is_forward};
  p.columns = {s.width,     s.output_width(), s.kernel_width, s.stride_width,
               s.pad_width, s.dilation_width, is_forward};
  for (LaneAxis* const axis : {&p.rows, &p.columns}) {
    if (!is_forward) std::swap(axis->source_size, axis->result_size);
  }
  (is_forward ? p.pixel_step : p.result_step) = s.stride_width;
  p.groups = s.groups;
  p.sources = (is_forward ? s.channels : s.filters) / s.groups;
  p.results = (is_forward ? s.filters : s.channels) / s.groups;
  p.block = pixel_block();
  p.blocks = (p.results + p.block - 1) / p.block;
  constexpr std::int64_t most_positions = std::int64_t{1} << 20;  // each is looked at
  for (const LaneAxis& axis : {p.rows, p.columns}) {
    if (axis.result_size > most_positions / axis.kernel) return std::nullopt;
  }
  if (!find_tiles(p)) return std::nullopt;
  cut(p, s.batch, threads);
  p.weights = p.scratch.add(
      checked_mul(p.packs_late ? threads : p.groups * p.blocks, p.sources, p.taps(), p.block));
  p.frames = p.scratch.add(checked_mul(threads, p.frame_floats()));
  return p;
}

}  // namespace strata::cpu
