// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/correlation.hpp"
#include "strata/convolution/cpu/direct_kernels.hpp"
#include "strata/convolution/cpu/matrix/packed_product.hpp"
#include "strata/convolution/cpu/winograd.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"
#include "strata/convolution/cpu/winograd_tiles.hpp"

#include <algorithm>
#include <bit>

namespace strata::cpu {
namespace {

struct WinogradSumsPlan {
  Correlation correlation;
  TileGrid source, result;
  std::int64_t side = 4;        ///< of an input tile
  std::int64_t positions = 16;  ///< side²
  std::int64_t tiles = 1;       ///< of all images
  std::int64_t block_tiles = 16;
  std::int64_t blocks = 1;
  std::int64_t step = 16;            ///< from one row of tiles to the next: block_tiles and slack
  bool is_block_per_thread = false;  ///< otherwise all threads work on the same block
  std::int64_t channel_block = 1, channel_blocks = 1;  ///< of result channels
  bool is_by_matrices = false;                         ///< each position is a product of matrices
  std::int64_t workers = 1;                            ///< with blocks of their own
  std::int64_t weights = 0, sources = 0, results = 0, tile_lists = 0, lines = 0;
  std::int64_t sources_floats = 0, results_floats = 0, list_floats = 0, line_step = 0;
  ScratchPlan scratch;

  std::int64_t channels() const { return channel_blocks * channel_block; }
  /// From the weights of one position to those of the next.
  std::int64_t weights_step() const { return channels() * correlation.source_channels; }
};

TileGrid grid_of(int tile, std::int64_t height, std::int64_t width, std::int64_t channels,
                 const Correlation& c) {
  return {.step = tile,
          .height = height,
          .width = width,
          .image_step = channels * height * width,
          .rows = (c.result_height + tile - 1) / tile,
          .columns = (c.result_width + tile - 1) / tile};
}

constexpr std::int64_t weights_at_once = 16;  // source channels whose weights are transformed

WinogradSumsPlan sums_plan(const ConvProblem& problem, int threads, int tile) {
  WinogradSumsPlan p;
  const Correlation& c = p.correlation = correlation_of(problem.shape, problem.pass);
  p.source = grid_of(tile, c.source_height, c.source_width, c.groups * c.source_channels, c);
  p.source.zeros_above = c.zeros_above;
  p.source.zeros_left = c.zeros_left;
  p.result = grid_of(tile, c.result_height, c.result_width, c.groups * c.result_channels, c);
  p.side = tile + 2;
  p.positions = p.side * p.side;
  p.tiles = checked_mul(c.batch, p.result.rows, p.result.columns);
  constexpr std::int64_t few_channels = 16;  // which are not worth packing tiles for
  p.is_by_matrices = has_packed_products() && c.result_channels > few_channels;
  p.channel_block =
      p.is_by_matrices
          ? 4
          : std::min(widest_channel_block(), static_cast<std::int64_t>(std::bit_ceil(
                                                 static_cast<std::uint64_t>(c.result_channels))));
  p.channel_blocks = (c.result_channels + p.channel_block - 1) / p.channel_block;
  // What a block needs should stay in the second cache, but transformed weights, read once per
  // block, want many tiles.
  constexpr std::int64_t cache_floats = 384 << 10;
  const std::int64_t fitting =
      cache_floats / (p.positions * (c.source_channels + c.result_channels));
  const std::int64_t most = std::clamp<std::int64_t>(fitting / 48 * 48, 96, 480);
  p.is_block_per_thread = p.tiles >= 48 * threads;
  p.workers = p.is_block_per_thread ? threads : 1;
  const std::int64_t rounds = (p.tiles + most * p.workers - 1) / (most * p.workers);
  const std::int64_t share = (p.tiles + rounds * p.workers - 1) / (rounds * p.workers);
  p.block_tiles = (share + 15) / 16 * 16;
  p.blocks = (p.tiles + p.block_tiles - 1) / p.block_tiles;
  p.step = p.block_tiles + 48;
  p.sources_floats = checked_mul(p.positions, c.source_channels, p.step);
  p.results_floats = checked_mul(p.positions, p.channels(), p.step);
  p.list_floats =
      std::max(p.positions * p.step, (p.positions + 9) * (weights_at_once * p.channel_block + 16));
  p.line_step = (std::max(line_floats(p.source), line_floats(p.result)) + 15) / 16 * 16;
  p.weights = p.scratch.add(checked_mul(p.positions, p.channels(), c.source_channels) + 16);
  p.sources = p.scratch.add(checked_mul(p.workers, p.sources_floats));
  p.results = p.scratch.add(checked_mul(p.workers, p.results_floats));
  p.tile_lists = p.scratch.add(checked_mul(threads, p.list_floats));
  p.lines = p.scratch.add(checked_mul(threads, p.line_step));
  return p;
}

class WinogradSums : public PreparedConvolution {
 public:
  WinogradSums(const ConvProblem& problem, SharedThreads threads, int tile)
      : threads_(std::move(threads)),
        one_thread_(1),
        tile_(tile),
        is_forward_(problem.pass == ConvPass::forward),
        plan_(sums_plan(problem, threads_->count(), tile)),
        scratch_(plan_.scratch.bytes()) {}

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Correlation& c = plan_.correlation;
    const auto* source = static_cast<const float*>(is_forward_ ? tensors.input : tensors.output);
    auto* result = static_cast<float*>(is_forward_ ? tensors.output : tensors.input);
    for (std::int64_t group = 0; group < c.groups; ++group) {
      marks.begin(KernelRole::transform);
      transform_weights(static_cast<const float*>(tensors.weights), group);
      const float* const from =
          source + group * c.source_channels * c.source_height * c.source_width;
      float* const to = result + group * c.result_channels * c.result_height * c.result_width;
      if (plan_.is_block_per_thread) {
        threads_->for_each(plan_.blocks, [&](std::int64_t block, int thread) {
          compute_block({from, to, block, thread, one_thread_, marks});
        });
      } else {
        for (std::int64_t block = 0; block < plan_.blocks; ++block) {
          compute_block({from, to, block, 0, *threads_, marks});
        }
      }
    }
  }

 private:
  struct Block {
    const float* source;
    float* result;
    std::int64_t number;
    int worker;
    Threads& threads;  ///< that share its work
    RoleMarks& marks;
  };

  /// [position][block of result channels][source channel][result channel of the block]
  void transform_weights(const float* weights, std::int64_t group) {
    const Correlation& c = plan_.correlation;
    const std::int64_t width = plan_.channel_block;
    const std::int64_t parts = (c.source_channels + weights_at_once - 1) / weights_at_once;
    threads_->for_each(plan_.channel_blocks * parts, [&](std::int64_t i, int thread) {
      const std::int64_t first_result = i / parts * width;
      const std::int64_t first_source = i % parts * weights_at_once;
      const std::int64_t sources = std::min(weights_at_once, c.source_channels - first_source);
      float* const list = scratch_.at(plan_.tile_lists) + thread * plan_.list_floats;
      const std::int64_t step = weights_at_once * width + 16;
      for (std::int64_t s = 0; s < sources; ++s) {
        for (std::int64_t r = 0; r < width; ++r) {
          const bool is_one = first_result + r < c.result_channels;
          const float* const from = weights + c.weight_index(group, is_one ? first_result + r : 0,
                                                             first_source + s, 0, 0);
          for (std::int64_t k = 0; k < 9; ++k) {
            list[k * step + s * width + r] = !is_one ? 0 : c.is_turned ? from[-k] : from[k];
          }
        }
      }
      // Whole vectors reach into weights that another thread makes, so the end goes by way of a
      // list.
      float* const made = list + 9 * step;
      const std::int64_t count = sources * width;
      transform_tiles(tile_, TileTransform::weights, {list, step, made, step, count});
      for (std::int64_t p = 0; p < plan_.positions; ++p) {
        std::copy_n(made + p * step, count,
                    scratch_.at(plan_.weights) + p * plan_.weights_step() +
                        (i / parts * c.source_channels + first_source) * width);
      }
    });
  }

  static void mark(const Block& block, KernelRole role) {
    if (block.worker == 0) block.marks.begin(role);
  }

  void compute_block(const Block& block) {
    const Correlation& c = plan_.correlation;
    const std::int64_t first = block.number * plan_.block_tiles;
    const std::int64_t count = std::min(plan_.block_tiles, plan_.tiles - first);
    float* const sources = scratch_.at(plan_.sources) + block.worker * plan_.sources_floats;
    float* const results = scratch_.at(plan_.results) + block.worker * plan_.results_floats;
    const std::int64_t channels = plan_.channels();

    mark(block, KernelRole::transform);
    block.threads.for_each(c.source_channels, [&](std::int64_t s, int helper) {
      const std::int64_t thread = block.worker + helper;
      float* const list = scratch_.at(plan_.tile_lists) + thread * plan_.list_floats;
      gather_tiles(plan_.source, plan_.side, block.source + s * c.source_height * c.source_width,
                   first, count, list, plan_.step,
                   scratch_.at(plan_.lines) + thread * plan_.line_step);
      transform_tiles(
          tile_, TileTransform::input,
          {list, plan_.step, sources + s * plan_.step, c.source_channels * plan_.step, count});
    });

    mark(block, KernelRole::gemm);
    block.threads.for_each(plan_.positions, [&](std::int64_t p, int) {
      multiply_position(p, sources, results, count);
    });

    mark(block, KernelRole::inverse_transform);
    block.threads.for_each(c.result_channels, [&](std::int64_t r, int helper) {
      const std::int64_t thread = block.worker + helper;
      float* const list = scratch_.at(plan_.tile_lists) + thread * plan_.list_floats;
      transform_tiles(tile_, TileTransform::output,
                      {results + r * plan_.step, channels * plan_.step, list, plan_.step, count});
      scatter_tiles(plan_.result, list, plan_.step, first, count,
                    block.result + r * c.result_height * c.result_width,
                    scratch_.at(plan_.lines) + thread * plan_.line_step);
    });
  }

  void multiply_position(std::int64_t position, const float* sources, float* results,
                         std::int64_t count) {
    const std::int64_t channels = plan_.correlation.source_channels;
    const float* const weights = scratch_.at(plan_.weights) + position * plan_.weights_step();
    const std::int64_t tiles = (count + 15) / 16 * 16;  // whole vectors are fastest
    if (plan_.is_by_matrices) {
      return multiply_panels_of_four({.m = plan_.correlation.result_channels,
                                      .n = tiles,
                                      .k = channels,
                                      .a = weights,
                                      .b = sources + position * channels * plan_.step,
                                      .b_step = plan_.step,
                                      .result = results + position * plan_.channels() * plan_.step,
                                      .result_step = plan_.step});
    }
    constexpr std::int64_t no_offset = 0;
    for (std::int64_t b = 0; b < plan_.channel_blocks; ++b) {
      add_taps({.source = sources + position * channels * plan_.step,
                .channels = channels,
                .channel_step = plan_.step,
                .offsets = &no_offset,
                .taps = 1,
                .weights = weights + b * channels * plan_.channel_block,
                .result = results +
                          (position * plan_.channel_blocks + b) * plan_.channel_block * plan_.step,
                .result_step = plan_.step,
                .block = plan_.channel_block,
                .pixels = tiles});
    }
  }

  SharedThreads threads_;
  Threads one_thread_;
  int tile_;
  bool is_forward_;
  WinogradSumsPlan plan_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<PreparedConvolution> prepare_winograd_sums(const ConvProblem& problem,
                                                           const SharedThreads& threads, int tile) {
  return std::make_unique<WinogradSums>(problem, threads, tile);
}

std::int64_t winograd_sums_bytes(const ConvProblem& problem, int threads, int tile) {
  return sums_plan(problem, threads, tile).scratch.bytes();
}

}  // namespace strata::cpu
