// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/matrix/packed_product.hpp"
#include "strata/convolution/cpu/winograd.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"
#include "strata/convolution/cpu/winograd_tiles.hpp"

#include <algorithm>
#include <array>

namespace strata::cpu {
namespace {

struct WinogradProductsPlan {
  TileGrid input, gradient;
  std::int64_t channels = 1, filters = 1;  ///< of one group
  std::int64_t side = 4, positions = 16;
  std::int64_t tiles = 1, block_tiles = 16, step = 16;
  std::int64_t inputs = 0, gradients = 0, sums = 0, tile_lists = 0, lines = 0;
  std::int64_t list_floats = 0, line_step = 0, sums_step = 0;
  ScratchPlan scratch;
};

WinogradProductsPlan products_plan_of(const ConvShape& s, int threads, int tile) {
  WinogradProductsPlan p;
  p.channels = s.channels / s.groups;
  p.filters = s.filters / s.groups;
  p.side = tile + 2;
  p.positions = p.side * p.side;
  p.gradient = {.step = tile,
                .height = s.output_height(),
                .width = s.output_width(),
                .image_step = s.filters * s.output_height() * s.output_width(),
                .rows = (s.output_height() + tile - 1) / tile,
                .columns = (s.output_width() + tile - 1) / tile};
  p.input = {.step = tile,
             .height = s.height,
             .width = s.width,
             .image_step = s.channels * s.height * s.width,
             .zeros_above = s.pad_height,
             .zeros_left = s.pad_width,
             .rows = p.gradient.rows,
             .columns = p.gradient.columns};
  p.tiles = checked_mul(s.batch, p.gradient.rows, p.gradient.columns);
  constexpr std::int64_t most_floats = 4 << 20;
  const std::int64_t fitting = most_floats / (p.positions * (p.channels + p.filters));
  const std::int64_t most = std::max<std::int64_t>(fitting / 16 * 16, 256);
  const std::int64_t blocks = (p.tiles + most - 1) / most;
  p.block_tiles = ((p.tiles + blocks - 1) / blocks + 15) / 16 * 16;
  p.step = p.block_tiles + 16;
  p.list_floats = p.positions * std::max(p.step, p.channels + 16);
  p.line_step = (line_floats(p.input) + 15) / 16 * 16;
  p.sums_step = p.channels + 16;
  p.inputs = p.scratch.add(checked_mul(p.positions, p.channels, p.step) + 16);
  p.gradients = p.scratch.add(checked_mul(p.positions, p.filters, p.step) + 16);
  p.sums = p.scratch.add(checked_mul(p.positions, p.filters, p.sums_step));
  p.tile_lists = p.scratch.add(checked_mul(threads, p.list_floats));
  p.lines = p.scratch.add(checked_mul(threads, p.line_step));
  return p;
}

class WinogradProducts : public PreparedConvolution {
 public:
  WinogradProducts(const ConvProblem& problem, SharedThreads threads, int tile)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        tile_(tile),
        plan_(products_plan_of(problem.shape, threads_->count(), tile)),
        scratch_(plan_.scratch.bytes()) {
    for (std::int64_t c = 0; c < plan_.channels; ++c) offsets_.push_back(c * plan_.step);
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const auto* input = static_cast<const float*>(tensors.input);
    const auto* gradient = static_cast<const float*>(tensors.output);
    const std::int64_t input_plane = shape_.height * shape_.width;
    const std::int64_t output_plane = plan_.gradient.height * plan_.gradient.width;
    for (std::int64_t group = 0; group < shape_.groups; ++group) {
      for (std::int64_t first = 0; first < plan_.tiles; first += plan_.block_tiles) {
        const std::int64_t count = std::min(plan_.block_tiles, plan_.tiles - first);
        marks.begin(KernelRole::transform);
        threads_->for_each(plan_.channels + plan_.filters, [&](std::int64_t i, int thread) {
          if (i < plan_.channels) {
            transform_channel(plan_.input, plan_.side, TileTransform::input,
                              input + (group * plan_.channels + i) * input_plane, first, count,
                              scratch_.at(plan_.inputs) + i * plan_.step,
                              plan_.channels * plan_.step, thread);
          } else {
            i -= plan_.channels;
            transform_channel(plan_.gradient, tile_, TileTransform::output_gradient,
                              gradient + (group * plan_.filters + i) * output_plane, first, count,
                              scratch_.at(plan_.gradients) + i * plan_.step,
                              plan_.filters * plan_.step, thread);
          }
        });
        marks.begin(KernelRole::gemm);
        multiply_tiles(count, first > 0);
      }
      marks.begin(KernelRole::inverse_transform);
      finish(static_cast<float*>(tensors.weights) + group * plan_.filters * plan_.channels * 9);
    }
  }

 private:
  void transform_channel(const TileGrid& grid, std::int64_t side, TileTransform which,
                         const float* channel, std::int64_t first, std::int64_t count, float* to,
                         std::int64_t to_step, int thread) {
    float* const list = scratch_.at(plan_.tile_lists) + thread * plan_.list_floats;
    gather_tiles(grid, side, channel, first, count, list, plan_.step,
                 scratch_.at(plan_.lines) + thread * plan_.line_step);
    // Tiles beyond the last must add nothing to the sums over whole vectors.
    for (std::int64_t e = 0; e < side * side; ++e) {
      std::fill_n(list + e * plan_.step + count, (16 - count % 16) % 16, 0.0F);
    }
    transform_tiles(tile_, which, {list, plan_.step, to, to_step, (count + 15) / 16 * 16});
  }

  /// sums[position][filter][channel] (+)= Σ over the tiles of gradient · input
  void multiply_tiles(std::int64_t count, bool adds) {
    if (has_packed_products()) return multiply_matrices(count, adds);
    const std::int64_t rows = (plan_.filters + most_gradients - 1) / most_gradients;
    threads_->for_each(plan_.positions * rows, [&](std::int64_t i, int) {
      const std::int64_t position = i / rows;
      const std::int64_t filter = i % rows * most_gradients;
      std::array<float, most_gradients * most_sources> sums{};
      TapProducts products{
          .gradient =
              scratch_.at(plan_.gradients) + (position * plan_.filters + filter) * plan_.step,
          .gradients = std::min(most_gradients, plan_.filters - filter),
          .gradient_step = plan_.step,
          .source = scratch_.at(plan_.inputs) + position * plan_.channels * plan_.step,
          .pixels = count,
          .result = sums.data()};
      float* const to =
          scratch_.at(plan_.sums) + (position * plan_.filters + filter) * plan_.sums_step;
      for (std::int64_t c = 0; c < plan_.channels; c += most_sources) {
        products.sources = std::min(most_sources, plan_.channels - c);
        products.source_offsets = offsets_.data() + c;
        multiply_taps(products);
        for (std::int64_t f = 0; f < products.gradients; ++f) {
          for (std::int64_t j = 0; j < products.sources; ++j) {
            float& sum = to[f * plan_.sums_step + c + j];
            const float part = sums[static_cast<std::size_t>(f * products.sources + j)];
            sum = adds ? sum + part : part;
          }
        }
      }
    });
  }

  /// The same, a matrix product for some filters of each position.
  void multiply_matrices(std::int64_t count, bool adds) {
    constexpr std::int64_t filters_at_once = 128;
    const std::int64_t parts = (plan_.filters + filters_at_once - 1) / filters_at_once;
    threads_->for_each(plan_.positions * parts, [&](std::int64_t i, int) {
      const std::int64_t position = i / parts, filter = i % parts * filters_at_once;
      const std::int64_t place = position * plan_.filters + filter;
      multiply_packed({.m = std::min(filters_at_once, plan_.filters - filter),
                       .n = plan_.channels,
                       .k = count,
                       .a = scratch_.at(plan_.gradients) + place * plan_.step,
                       .a_step = plan_.step,
                       .b = scratch_.at(plan_.inputs) + position * plan_.channels * plan_.step,
                       .b_step = plan_.step,
                       .b_is_turned = true,
                       .result = scratch_.at(plan_.sums) + place * plan_.sums_step,
                       .result_step = plan_.sums_step,
                       .adds = adds});
    });
  }

  void finish(float* weights) {
    threads_->for_each(plan_.filters, [&](std::int64_t f, int thread) {
      float* const list = scratch_.at(plan_.tile_lists) + thread * plan_.list_floats;
      const std::int64_t step = plan_.channels + 16;
      transform_tiles(tile_, TileTransform::weight_gradient,
                      {scratch_.at(plan_.sums) + f * plan_.sums_step,
                       plan_.filters * plan_.sums_step, list, step, plan_.channels});
      float* to = weights + f * plan_.channels * 9;
      for (std::int64_t c = 0; c < plan_.channels; ++c) {
        for (std::int64_t k = 0; k < 9; ++k) *to++ = list[k * step + c];
      }
    });
  }

  SharedThreads threads_;
  ConvShape shape_;
  int tile_;
  WinogradProductsPlan plan_;
  Scratch scratch_;
  std::vector<std::int64_t> offsets_;  ///< of the channels
};

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_winograd_products(const ConvProblem& problem,
                                                               const SharedThreads& threads,
                                                               int tile) {
  return std::make_unique<WinogradProducts>(problem, threads, tile);
}

std::int64_t winograd_products_bytes(const ConvProblem& problem, int threads, int tile) {
  return products_plan_of(problem.shape, threads, tile).scratch.bytes();
}

}  // namespace strata::cpu
