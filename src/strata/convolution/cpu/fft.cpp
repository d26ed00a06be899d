// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/blas.hpp"
#include "strata/convolution/cpu/fft_plan.hpp"
#include "strata/convolution/cpu/fourier.hpp"
#include "strata/convolution/cpu/sizes.hpp"
#include "strata/convolution/cpu/tiled_convolution.hpp"
#include "strata/convolution/cpu/tiles.hpp"

#include <algorithm>

namespace strata::cpu {
namespace {

using Complex = std::complex<float>;

/// Frequencies. Kernels are real, so that two tiles travel as the real and the imaginary part of
/// one: correlating their pair correlates both. In the gradient of the weights the real part of the
/// product of two pairs is the sum of both products, which is what is wanted.
class FrequencyDomain : public TileDomain<Complex> {
 public:
  /// Sizes are known without the transforms.
  FrequencyDomain(const Correlation& c, std::unique_ptr<Fourier> fourier)
      : correlation_(c), tiles_(fft_tiles(c)), fourier_(std::move(fourier)) {
    source_ = {.images = c.batch,
               .image_step = c.groups * c.source_channels * c.source_height * c.source_width,
               .height = c.source_height,
               .width = c.source_width,
               .zeros_above = c.zeros_above,
               .zeros_left = c.zeros_left,
               .step_y = tiles_.result_rows,
               .step_x = tiles_.result_columns,
               .reach_y = tiles_.height,
               .reach_x = tiles_.width,
               .tile_height = tiles_.height,
               .tile_width = tiles_.width,
               .rows = tiles_.rows,
               .columns = tiles_.columns};
    result_ = source_;
    result_.image_step = c.groups * c.result_channels * c.result_height * c.result_width;
    result_.height = c.result_height;
    result_.width = c.result_width;
    result_.zeros_above = result_.zeros_left = 0;
    result_.reach_y = tiles_.result_rows;
    result_.reach_x = tiles_.result_columns;
  }

  std::int64_t positions() const override { return tiles_.points(); }
  std::int64_t columns() const override { return divide_up(source_.tiles(), 2); }
  std::int64_t work_floats() const override { return 2 * (1 + columns_together) * array(); }

  void transform_source(const float* channel, ColumnRange which, Complex* to, std::int64_t step,
                        float* work) const override {
    transform_pairs(source_, channel, which, to, step, work);
  }
  void transform_gradient(const float* channel, ColumnRange which, Complex* to, std::int64_t step,
                          float* work) const override {
    transform_pairs(result_, channel, which, to, step, work);
  }
  void restore_result(const Complex* from, std::int64_t step, ColumnRange which, float* channel,
                      float* work) const override {
    restore(from, step, which.count, work, [&](std::int64_t i, const float* points) {
      write_tile(result_, points, 2, 2 * (which.first + i), channel);
      write_tile(result_, points + 1, 2, 2 * (which.first + i) + 1, channel);
    });
  }

  /// The scale of the way back is put in here.
  void transform_kernels(const KernelList<const float>& kernels, Complex* to, std::int64_t step,
                         float* work) const override {
    const float scale = 1 / static_cast<float>(tiles_.points());
    transform(kernels.count, to, step, work, [&](std::int64_t i, float* points) {
      std::fill_n(points, 2 * tiles_.points(), 0.0F);
      visit_kernel(kernels.is_flipped, [&](std::int64_t weight, std::int64_t point) {
        points[2 * point] = scale * kernels.first[i * kernels.step + weight];
      });
    });
  }
  void restore_kernels(const Complex* from, std::int64_t step, const KernelList<float>& kernels,
                       float* work) const override {
    const float scale = 1 / static_cast<float>(tiles_.points());
    restore(from, step, kernels.count, work, [&](std::int64_t i, const float* points) {
      visit_kernel(kernels.is_flipped, [&](std::int64_t weight, std::int64_t point) {
        kernels.first[i * kernels.step + weight] = scale * points[2 * point];
      });
    });
  }

 private:
  /// Numbers from one array of complex points to the next, all on a cache line.
  std::int64_t array() const { return round_up(tiles_.points(), 8); }

  /// Calls visit(weight of the kernel, point of the tile).
  template <class Visit>
  void visit_kernel(bool is_flipped, const Visit& visit) const {
    const Correlation& c = correlation_;
    const std::int64_t last = c.kernel_height * c.kernel_width - 1;
    for (std::int64_t ky = 0; ky < c.kernel_height; ++ky) {
      for (std::int64_t kx = 0; kx < c.kernel_width; ++kx) {
        const std::int64_t weight = ky * c.kernel_width + kx;
        visit(is_flipped ? last - weight : weight,
              ky * c.dilation_height * tiles_.width + kx * c.dilation_width);
      }
    }
  }

  void transform_pairs(const TileGrid& grid, const float* channel, ColumnRange which, Complex* to,
                       std::int64_t step, float* work) const {
    transform(which.count, to, step, work, [&](std::int64_t i, float* points) {
      read_tile(grid, channel, 2 * (which.first + i), points, 2);
      read_tile(grid, channel, 2 * (which.first + i) + 1, points + 1, 2);
    });
  }

  /// fill(i, points) makes what is transformed to column i. Some spectra at a time are transposed,
  /// so that what is written of a position shares a cache line.
  template <class Fill>
  void transform(std::int64_t count, Complex* to, std::int64_t step, float* work,
                 const Fill& fill) const {
    auto* const spectra = reinterpret_cast<Complex*>(work + 2 * array());
    for (std::int64_t first = 0; first < count; first += columns_together) {
      const std::int64_t some = std::min(columns_together, count - first);
      for (std::int64_t i = 0; i < some; ++i) {
        fill(first + i, work);
        fourier_->forward(reinterpret_cast<Complex*>(work), spectra + i * array());
      }
      for (std::int64_t p = 0; p < tiles_.points(); ++p) {
        for (std::int64_t i = 0; i < some; ++i) to[p * step + first + i] = spectra[i * array() + p];
      }
    }
  }

  /// The reverse: take(i, points) gets what column i was transformed to.
  template <class Take>
  void restore(const Complex* from, std::int64_t step, std::int64_t count, float* work,
               const Take& take) const {
    auto* const spectra = reinterpret_cast<Complex*>(work + 2 * array());
    for (std::int64_t first = 0; first < count; first += columns_together) {
      const std::int64_t some = std::min(columns_together, count - first);
      for (std::int64_t p = 0; p < tiles_.points(); ++p) {
        for (std::int64_t i = 0; i < some; ++i)
          spectra[i * array() + p] = from[p * step + first + i];
      }
      for (std::int64_t i = 0; i < some; ++i) {
        fourier_->backward(spectra + i * array(), reinterpret_cast<Complex*>(work));
        take(first + i, work);
      }
    }
  }

  Correlation correlation_;
  FftTiles tiles_;
  TileGrid source_, result_;
  std::unique_ptr<Fourier> fourier_;
};

class Fft : public ConvStrategy {
 public:
  explicit Fft(SharedThreads threads) : threads_(std::move(threads)) {}

  std::string_view name() const override { return "fft"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    const ConvShape& s = problem.shape;
    if (s.stride_height != 1 || s.stride_width != 1) return "only stride 1";
    if (auto reason = fourier_refusal()) return reason;
    return blas_refusal();
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    const FrequencyDomain domain(correlation_of(problem.shape, problem.pass), nullptr);
    return tiled_bytes<Complex>(problem, domain, threads_->count());
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const Correlation c = correlation_of(problem.shape, problem.pass);
    return fft_flop(c, fft_tiles(c));
  }
  /// Transforms spread the rounding of the largest number over a whole tile.
  double tolerance(const ConvProblem& problem) const override {
    return 4 * rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    const Correlation c = correlation_of(problem.shape, problem.pass);
    const FftTiles tiles = fft_tiles(c);
    return prepare_tiled<Complex>(
        problem, std::make_unique<FrequencyDomain>(c, make_fourier(tiles.height, tiles.width)),
        threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> fft_strategy(const SharedThreads& threads) {
  return std::make_unique<Fft>(threads);
}

}  // namespace strata::cpu
