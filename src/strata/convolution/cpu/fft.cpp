// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/fft_plan.hpp"
#include "strata/convolution/cpu/fourier.hpp"
#include "strata/convolution/cpu/spectrum_kernels.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <algorithm>
#include <limits>

namespace strata::cpu {
namespace {

class FftConvolution : public PreparedConvolution {
 public:
  FftConvolution(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        one_thread_(1),
        pass_(problem.pass),
        plan_(fft_plan(problem, threads_->count())),
        fourier_(make_fourier(plan_.height, plan_.width)),
        scratch_(plan_.scratch.bytes()) {
    // Beyond the transform's points spectra are rounded up to whole blocks; those stay zero.
    std::fill_n(scratch_.at(plan_.buffers), threads_->count() * plan_.buffer_floats, 0.0F);
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Correlation& c = plan_.correlation;
    auto* const input = static_cast<float*>(tensors.input);
    auto* const output = static_cast<float*>(tensors.output);
    const bool is_input_gradient = pass_ == ConvPass::input_gradient;
    for (std::int64_t group = 0; group < c.groups; ++group) {
      float* const source = (is_input_gradient ? output : input) +
                            group * c.source_channels * c.source_height * c.source_width;
      float* const result = (is_input_gradient ? input : output) +
                            group * c.result_channels * c.result_height * c.result_width;
      auto* const weights = static_cast<float*>(tensors.weights);
      if (pass_ == ConvPass::weight_gradient) {
        weight_gradient(source, result, weights, group, marks);
      } else {
        correlate(source, weights, result, group, marks);
      }
    }
  }

 private:
  /// What one thread works in.
  struct Buffers {
    float* points;    ///< complex, height × width
    float* spectrum;  ///< complex
    float* row;
    float* other_row;
  };
  Buffers buffers(int thread) {
    float* const at = scratch_.at(plan_.buffers) + thread * plan_.buffer_floats;
    const std::int64_t array = 2 * plan_.frequencies + 64;
    const std::int64_t row = (plan_.width + 47) / 16 * 16;
    return {at, at + array, at + 2 * array, at + 2 * array + row};
  }

  /// A rectangle of a plane, zero where the plane ends.
  struct Window {
    float* plane = nullptr;
    std::int64_t height = 0, width = 0;  ///< of the plane
    std::int64_t y = 0, x = 0;           ///< of the window in it
    std::int64_t rows = 0, columns = 0;  ///< of the window; beyond them the tile is zero
  };

  void copy_row(const Window& w, std::int64_t row, float* to) const {
    const std::int64_t y = w.y + row;
    if (w.plane == nullptr || row >= w.rows || y < 0 || y >= w.height) {
      std::fill_n(to, plan_.width, 0.0F);
      return;
    }
    const std::int64_t begin = std::clamp<std::int64_t>(-w.x, 0, w.columns);
    const std::int64_t end = std::clamp<std::int64_t>(w.width - w.x, begin, w.columns);
    const float* const from = w.plane + y * w.width + w.x;
    std::fill_n(to, begin, 0.0F);
    std::copy(from + begin, from + end, to + begin);
    std::fill(to + end, to + plan_.width, 0.0F);
  }

  /// The window of a tile in a plane of `channels` per image; nothing beyond the last tile.
  Window tile_window(std::int64_t tile, float* channel, std::int64_t image_step,
                     std::int64_t height, std::int64_t width) const {
    if (tile >= plan_.tiles) return {};
    const std::int64_t per_image = plan_.tile_rows * plan_.tile_columns;
    const std::int64_t place = tile % per_image;
    return {.plane = channel + tile / per_image * image_step,
            .height = height,
            .width = width,
            .y = place / plan_.tile_columns * plan_.result_rows,
            .x = place % plan_.tile_columns * plan_.result_columns,
            .rows = plan_.height,
            .columns = plan_.width};
  }
  Window source_window(std::int64_t tile, float* source, std::int64_t channel) const {
    const Correlation& c = plan_.correlation;
    const std::int64_t plane = c.source_height * c.source_width;
    Window window =
        tile_window(tile, source + channel * plane, c.groups * c.source_channels * plane,
                    c.source_height, c.source_width);
    window.y -= c.zeros_above;
    window.x -= c.zeros_left;
    return window;
  }
  Window result_window(std::int64_t tile, float* result, std::int64_t channel) const {
    const Correlation& c = plan_.correlation;
    const std::int64_t plane = c.result_height * c.result_width;
    Window window =
        tile_window(tile, result + channel * plane, c.groups * c.result_channels * plane,
                    c.result_height, c.result_width);
    window.rows = std::min(plan_.result_rows, window.height - window.y);
    window.columns = std::min(plan_.result_columns, window.width - window.x);
    return window;
  }

  void transform_pair(const Window& a, const Window& b, float* to, std::int64_t step, int thread) {
    const Buffers work = buffers(thread);
    for (std::int64_t y = 0; y < plan_.height; ++y) {
      copy_row(a, y, work.row);
      copy_row(b, y, work.other_row);
      join_rows(work.row, work.other_row, plan_.width, work.points + 2 * y * plan_.width);
    }
    fourier_->forward(work.points, work.spectrum);
    store_spectrum(work.spectrum, plan_.frequencies, to, step);
  }

  void transform_sources(float* source, std::int64_t first, std::int64_t pairs, float* to,
                         int worker, Threads& threads) {
    const std::int64_t count = plan_.correlation.source_channels * pairs;
    threads.for_each(count, [&](std::int64_t i, int helper) {
      const std::int64_t tile = 2 * (first + i % pairs);
      transform_pair(source_window(tile, source, i / pairs),
                     source_window(tile + 1, source, i / pairs), to + i * block_floats,
                     count * block_floats, worker + helper);
    });
  }

  /// [frequency block][result channel][source channel]; the scale of the way back is put in here.
  void transform_weights(const float* weights, std::int64_t group) {
    const Correlation& c = plan_.correlation;
    const std::int64_t kernels = c.source_channels * c.result_channels;
    const float scale = 1 / static_cast<float>(plan_.points());
    threads_->for_each(kernels, [&](std::int64_t i, int thread) {
      const Buffers work = buffers(thread);
      std::fill_n(work.points, 2 * plan_.points(), 0.0F);
      for (std::int64_t ky = 0; ky < c.kernel_height; ++ky) {
        float* const row = work.points + 2 * ky * c.dilation_height * plan_.width;
        for (std::int64_t kx = 0; kx < c.kernel_width; ++kx) {
          row[2 * kx * c.dilation_width] =
              scale *
              weights[c.weight_index(group, i / c.source_channels, i % c.source_channels, ky, kx)];
        }
      }
      fourier_->forward(work.points, work.spectrum);
      store_spectrum(work.spectrum, plan_.frequencies,
                     scratch_.at(plan_.weights) + i * block_floats, kernels * block_floats);
    });
  }

  void correlate(float* source, const float* weights, float* result, std::int64_t group,
                 RoleMarks& marks) {
    marks.begin(KernelRole::transform);
    transform_weights(weights, group);
    const std::int64_t chunks = (plan_.pairs + plan_.pairs_at_once - 1) / plan_.pairs_at_once;
    if (plan_.is_chunk_per_thread) {
      threads_->for_each(chunks, [&](std::int64_t chunk, int thread) {
        correlate_chunk(source, result, chunk, thread, one_thread_, marks);
      });
    } else {
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        correlate_chunk(source, result, chunk, 0, *threads_, marks);
      }
    }
  }

  void correlate_chunk(float* source, float* result, std::int64_t chunk, int worker,
                       Threads& threads, RoleMarks& marks) {
    const Correlation& c = plan_.correlation;
    const std::int64_t first = chunk * plan_.pairs_at_once;
    const std::int64_t pairs = std::min(plan_.pairs_at_once, plan_.pairs - first);
    float* const sources = scratch_.at(plan_.sources) + worker * plan_.sources_floats;
    float* const results = scratch_.at(plan_.results) + worker * plan_.results_floats;
    if (worker == 0) marks.begin(KernelRole::transform);
    transform_sources(source, first, pairs, sources, worker, threads);

    if (worker == 0) marks.begin(KernelRole::pointwise);
    const std::int64_t kernels = c.source_channels * c.result_channels;
    threads.for_each(plan_.blocks, [&](std::int64_t block, int) {
      multiply_spectra({.rows = c.result_channels,
                        .columns = pairs,
                        .terms = c.source_channels,
                        .a = scratch_.at(plan_.weights) + block * kernels * block_floats,
                        .a_row_step = c.source_channels * block_floats,
                        .a_term_step = block_floats,
                        .b = sources + block * c.source_channels * pairs * block_floats,
                        .b_column_step = block_floats,
                        .b_term_step = pairs * block_floats,
                        .result = results + block * c.result_channels * pairs * block_floats,
                        .result_row_step = pairs * block_floats,
                        .result_column_step = block_floats});
    });

    if (worker == 0) marks.begin(KernelRole::inverse_transform);
    const std::int64_t count = c.result_channels * pairs;
    threads.for_each(count, [&](std::int64_t i, int helper) {
      const std::int64_t tile = 2 * (first + i % pairs);
      store_results(results + i * block_floats, count * block_floats,
                    result_window(tile, result, i / pairs),
                    result_window(tile + 1, result, i / pairs), worker + helper);
    });
  }

  void store_results(const float* from, std::int64_t step, const Window& a, const Window& b,
                     int thread) {
    const Buffers work = buffers(thread);
    load_spectrum(from, step, plan_.frequencies, work.spectrum);
    fourier_->backward(work.spectrum, work.points);
    const auto store = [](const Window& w, std::int64_t y, const float* row) {
      if (w.plane == nullptr || y >= w.rows) return;
      std::copy_n(row, w.columns, w.plane + (w.y + y) * w.width + w.x);
    };
    for (std::int64_t y = 0; y < plan_.result_rows; ++y) {
      split_row(work.points + 2 * y * plan_.width, plan_.result_columns, 1, work.row,
                work.other_row);
      store(a, y, work.row);
      store(b, y, work.other_row);
    }
  }

  void weight_gradient(float* input, float* gradient, float* weights, std::int64_t group,
                       RoleMarks& marks) {
    const Correlation& c = plan_.correlation;
    float* const inputs = scratch_.at(plan_.sources);
    float* const gradients = scratch_.at(plan_.results);
    for (std::int64_t first = 0; first < plan_.pairs; first += plan_.pairs_at_once) {
      const std::int64_t pairs = std::min(plan_.pairs_at_once, plan_.pairs - first);
      marks.begin(KernelRole::transform);
      transform_sources(input, first, pairs, inputs, 0, *threads_);
      const std::int64_t count = c.result_channels * pairs;
      threads_->for_each(count, [&](std::int64_t i, int thread) {
        const std::int64_t tile = 2 * (first + i % pairs);
        transform_pair(result_window(tile, gradient, i / pairs),
                       result_window(tile + 1, gradient, i / pairs), gradients + i * block_floats,
                       count * block_floats, thread);
      });
      marks.begin(KernelRole::pointwise);
      const std::int64_t kernels = c.source_channels * c.result_channels;
      threads_->for_each(plan_.blocks, [&](std::int64_t block, int) {
        multiply_spectra({.rows = c.result_channels,
                          .columns = c.source_channels,
                          .terms = pairs,
                          .a = gradients + block * count * block_floats,
                          .a_row_step = pairs * block_floats,
                          .a_term_step = block_floats,
                          .b = inputs + block * c.source_channels * pairs * block_floats,
                          .b_column_step = pairs * block_floats,
                          .b_term_step = block_floats,
                          .result = scratch_.at(plan_.weights) + block * kernels * block_floats,
                          .result_row_step = c.source_channels * block_floats,
                          .result_column_step = block_floats,
                          .adds = first > 0});
      });
    }
    marks.begin(KernelRole::inverse_transform);
    finish_weights(weights, group);
  }

  void finish_weights(float* weights, std::int64_t group) {
    const Correlation& c = plan_.correlation;
    const std::int64_t kernels = c.source_channels * c.result_channels;
    const float scale = 1 / static_cast<float>(plan_.points());
    threads_->for_each(kernels, [&](std::int64_t i, int thread) {
      const Buffers work = buffers(thread);
      load_spectrum(scratch_.at(plan_.weights) + i * block_floats, kernels * block_floats,
                    plan_.frequencies, work.spectrum);
      fourier_->backward(work.spectrum, work.points);
      for (std::int64_t ky = 0; ky < c.kernel_height; ++ky) {
        const float* const row = work.points + 2 * ky * c.dilation_height * plan_.width;
        for (std::int64_t kx = 0; kx < c.kernel_width; ++kx) {
          weights[c.weight_index(group, i / c.source_channels, i % c.source_channels, ky, kx)] =
              scale * row[2 * kx * c.dilation_width];
        }
      }
    });
  }

  SharedThreads threads_;
  Threads one_thread_;
  ConvPass pass_;
  FftPlan plan_;
  std::unique_ptr<Fourier> fourier_;
  Scratch scratch_;
};

class Fft : public ConvStrategy {
 public:
  explicit Fft(SharedThreads threads) : threads_(std::move(threads)) {}

  std::string_view name() const override { return "fft"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    const ConvShape& s = problem.shape;
    if (s.stride_height != 1 || s.stride_width != 1) return "only stride 1";
    if (auto reason = vector_refusal()) return reason;
    return fourier_refusal();
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return fft_plan(problem, threads_->count()).scratch.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return fft_flop(problem, threads_->count());
  }
  /// Transforms spread the rounding of the largest number over a whole tile.
  double tolerance(const ConvProblem& problem) const override {
    return 4 * rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<FftConvolution>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> fft_strategy(const SharedThreads& threads) {
  return std::make_unique<Fft>(threads);
}

}  // namespace strata::cpu
