// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/convolution/cpu/blas.hpp"
#include "strata/convolution/cpu/correlation.hpp"
#include "strata/convolution/cpu/sizes.hpp"
#include "strata/convolution/cpu/tiled_convolution.hpp"
#include "strata/convolution/cpu/tiles.hpp"
#include "strata/convolution/cpu/winograd_kernels.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

/// Winograd's domain for F(m×m, 3×3), with a tile of m × m results.
class WinogradDomain : public TileDomain<float> {
 public:
  WinogradDomain(const Correlation& c, int tile) : tile_(tile) {
    const std::int64_t side = tile + 2;
    source_ = {.images = c.batch,
               .image_step = c.groups * c.source_channels * c.source_height * c.source_width,
               .height = c.source_height,
               .width = c.source_width,
               .zeros_above = c.zeros_above,
               .zeros_left = c.zeros_left,
               .step_y = tile,
               .step_x = tile,
               .reach_y = side,
               .reach_x = side,
               .tile_height = side,
               .tile_width = side,
               .rows = divide_up(c.result_height, tile),
               .columns = divide_up(c.result_width, tile)};
    result_ = source_;
    result_.image_step = c.groups * c.result_channels * c.result_height * c.result_width;
    result_.height = c.result_height;
    result_.width = c.result_width;
    result_.zeros_above = result_.zeros_left = 0;
    result_.reach_y = result_.reach_x = result_.tile_height = result_.tile_width = tile;
  }

  std::int64_t positions() const override { return (tile_ + 2) * (tile_ + 2); }
  std::int64_t columns() const override { return source_.tiles(); }
  std::int64_t work_floats() const override { return positions() * tiles_per_batch; }

  void transform_source(const float* channel, ColumnRange which, float* to, std::int64_t step,
                        float* work) const override {
    transform(TileTransform::input, which.count, to, step, work, [&](std::int64_t i, float* tile) {
      read_tile(source_, channel, which.first + i, tile, tiles_per_batch);
    });
  }
  void transform_gradient(const float* channel, ColumnRange which, float* to, std::int64_t step,
                          float* work) const override {
    transform(TileTransform::output_gradient, which.count, to, step, work,
              [&](std::int64_t i, float* tile) {
                read_tile(result_, channel, which.first + i, tile, tiles_per_batch);
              });
  }
  void transform_kernels(const KernelList<const float>& kernels, float* to, std::int64_t step,
                         float* work) const override {
    transform(TileTransform::weights, kernels.count, to, step, work,
              [&](std::int64_t i, float* kernel) {
                for (std::int64_t e = 0; e < 9; ++e) {
                  kernel[e * tiles_per_batch] =
                      kernels.first[i * kernels.step + (kernels.is_flipped ? 8 - e : e)];
                }
              });
  }

  void restore_result(const float* from, std::int64_t step, ColumnRange which, float* channel,
                      float* work) const override {
    restore(TileTransform::output, from, step, which.count, work,
            [&](std::int64_t i, const float* tile) {
              write_tile(result_, tile, tiles_per_batch, which.first + i, channel);
            });
  }
  void restore_kernels(const float* from, std::int64_t step, const KernelList<float>& kernels,
                       float* work) const override {
    restore(TileTransform::weight_gradient, from, step, kernels.count, work,
            [&](std::int64_t i, const float* kernel) {
              for (std::int64_t e = 0; e < 9; ++e) {
                kernels.first[i * kernels.step + e] = kernel[e * tiles_per_batch];
              }
            });
  }

 private:
  static_assert(tiles_per_batch == columns_together);

  /// fill(i, tile) makes the elements of column i, tiles_per_batch apart.
  template <class Fill>
  void transform(TileTransform which, std::int64_t count, float* to, std::int64_t step, float* work,
                 const Fill& fill) const {
    for (std::int64_t first = 0; first < count; first += tiles_per_batch) {
      for (std::int64_t i = 0; i < std::min(tiles_per_batch, count - first); ++i) {
        fill(first + i, work + i);
      }
      transform_tiles(tile_, which, {work, tiles_per_batch, to + first, step});
    }
  }

  /// take(i, tile) gets the elements of column i, tiles_per_batch apart.
  template <class Take>
  void restore(TileTransform which, const float* from, std::int64_t step, std::int64_t count,
               float* work, const Take& take) const {
    for (std::int64_t first = 0; first < count; first += tiles_per_batch) {
      transform_tiles(tile_, which, {from + first, step, work, tiles_per_batch});
      for (std::int64_t i = 0; i < std::min(tiles_per_batch, count - first); ++i) {
        take(first + i, work + i);
      }
    }
  }

  int tile_;
  TileGrid source_, result_;
};

class WinogradStrategy : public ConvStrategy {
 public:
  WinogradStrategy(SharedThreads threads, int tile) : threads_(std::move(threads)), tile_(tile) {}

  std::string_view name() const override { return tile_ == 2 ? "winograd2" : "winograd4"; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    const ConvShape& s = problem.shape;
    if (s.kernel_height != 3 || s.kernel_width != 3) return "only 3×3 kernels";
    if (s.stride_height != 1 || s.stride_width != 1) return "only stride 1";
    if (s.dilation_height != 1 || s.dilation_width != 1) return "only dilation 1";
    if (auto reason = vector_refusal()) return reason;
    return blas_refusal();
  }

  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return tiled_bytes<float>(problem, domain(problem), threads_->count());
  }

  /// The products; the transforms, some per cent beside them, are not counted.
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const ConvShape& s = problem.shape;
    const WinogradDomain of = domain(problem);
    return checked_mul(2, of.positions(), of.columns(), s.channels / s.groups, s.filters);
  }

  /// The transforms add and subtract numbers of different size: with tiles of 4 the factors reach 8
  /// and 1/24, and errors are an order of magnitude above those of the plain sum (Lavin and Gray,
  /// table 4).
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem) * (tile_ == 2 ? 4 : 40);
  }

  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return prepare_tiled<float>(problem, std::make_unique<WinogradDomain>(domain(problem)),
                                threads_);
  }

 private:
  WinogradDomain domain(const ConvProblem& problem) const {
    return {correlation_of(problem.shape, problem.pass), tile_};
  }

  SharedThreads threads_;
  int tile_;
};

}  // namespace

std::unique_ptr<ConvStrategy> winograd_strategy(const SharedThreads& threads, int tile) {
  return std::make_unique<WinogradStrategy>(threads, tile);
}

}  // namespace strata::cpu
