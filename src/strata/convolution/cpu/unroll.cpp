// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/blas.hpp"
#include "strata/convolution/cpu/im2col.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/sizes.hpp"
#include "strata/convolution/cpu/strategies.hpp"

#include <algorithm>
#include <limits>

namespace strata::cpu {
namespace {

/// How the matrix of im2col is cut: a thread has a block of rows × pixels of it at a time.
struct UnrollPlan {
  std::int64_t filters = 1, channels = 1, kernel_size = 1;  ///< of one group; of one channel
  std::int64_t matrix_rows = 1;                             ///< channels × kernel_size
  std::int64_t pixels = 1;                                  ///< of one image's output
  bool is_pointwise = false;                                ///< the image is its own matrix
  std::int64_t rows = 1, width = 1;                         ///< of a block
  std::int64_t blocks = 0;  ///< where they begin in the scratch memory
  ScratchPlan scratch;

  std::int64_t row_blocks() const { return divide_up(matrix_rows, rows); }
  std::int64_t pixel_blocks() const { return divide_up(pixels, width); }
};

UnrollPlan unroll_plan(const ConvProblem& problem, int threads) {
  const ConvShape& s = problem.shape;
  UnrollPlan p;
  p.filters = s.filters / s.groups;
  p.channels = s.channels / s.groups;
  p.kernel_size = checked_mul(s.kernel_height, s.kernel_width);
  p.matrix_rows = checked_mul(p.channels, p.kernel_size);
  p.pixels = s.output_height() * s.output_width();
  p.is_pointwise = p.kernel_size == 1 && s.stride_height == 1 && s.stride_width == 1 &&
                   s.pad_height == 0 && s.pad_width == 0;
  // Threads share images and groups; where there are few of them, also pixels of the output
  // (forward), channels of the input (its gradient) or rows of the matrix (the weights' gradient),
  // so that no two threads write the same place.
  const std::int64_t tasks = 2 * threads;
  const std::int64_t parts = divide_up(tasks, s.batch * s.groups);
  p.rows = p.matrix_rows;
  if (problem.pass == ConvPass::input_gradient) {
    p.rows = divide_up(p.channels, std::min(parts, p.channels)) * p.kernel_size;
  } else if (problem.pass == ConvPass::weight_gradient) {
    p.rows = divide_up(p.matrix_rows, std::min(divide_up(tasks, s.groups), p.matrix_rows));
  }
  // A block stays in the second cache, but products want some columns.
  constexpr std::int64_t most_floats = std::int64_t{512} << 10, least_width = 64;
  p.width = std::clamp(most_floats / p.rows, std::min(least_width, p.pixels), p.pixels);
  if (problem.pass == ConvPass::forward) {
    p.width = std::min(p.width, std::max(divide_up(p.pixels, parts), least_width));
  }
  p.blocks = p.scratch.add(p.is_pointwise ? 0 : checked_mul(threads, p.rows, p.width));
  return p;
}

class UnrolledConvolution : public PreparedConvolution {
 public:
  UnrolledConvolution(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        pass_(problem.pass),
        plan_(unroll_plan(problem, threads_->count())),
        scratch_(plan_.scratch.bytes()) {}

  std::int64_t scratch_bytes() const override { return scratch_.bytes(); }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Run run{static_cast<float*>(tensors.input), static_cast<float*>(tensors.weights),
                  static_cast<float*>(tensors.output), marks};
    const std::int64_t groups = shape_.groups;
    const std::int64_t parts =
        pass_ == ConvPass::forward ? plan_.pixel_blocks() : plan_.row_blocks();
    if (pass_ == ConvPass::weight_gradient) {
      threads_->for_each(groups * parts, [&](std::int64_t i, int thread) {
        weight_gradient(run, i / parts, i % parts, thread);
      });
      return;
    }
    threads_->for_each(shape_.batch * groups * parts, [&](std::int64_t i, int thread) {
      const std::int64_t image = i / parts / groups, group = i / parts % groups;
      if (pass_ == ConvPass::forward) {
        forward(run, image, group, i % parts, thread);
      } else {
        input_gradient(run, image, group, i % parts, thread);
      }
    });
  }

 private:
  struct Run {
    float* input;
    float* weights;
    float* output;
    RoleMarks& marks;
  };
  /// A block of the matrix, as im2col makes it or as the image has it.
  struct Matrix {
    float* data;
    std::int64_t step;
  };

  static void mark(const Run& run, int thread, KernelRole role) {
    if (thread == 0) run.marks.begin(role);
  }

  ColumnBlock block(std::int64_t row_block, std::int64_t pixel_block) const {
    const std::int64_t row = row_block * plan_.rows, pixel = pixel_block * plan_.width;
    return {row, std::min(plan_.rows, plan_.matrix_rows - row), pixel,
            std::min(plan_.width, plan_.pixels - pixel)};
  }
  float* input_of(const Run& run, std::int64_t image, std::int64_t group) const {
    return run.input +
           (image * shape_.groups + group) * plan_.channels * shape_.height * shape_.width;
  }
  float* output_of(const Run& run, std::int64_t image, std::int64_t group) const {
    return run.output + (image * shape_.groups + group) * plan_.filters * plan_.pixels;
  }
  float* weights_of(const Run& run, std::int64_t group, const ColumnBlock& which) const {
    return run.weights + group * plan_.filters * plan_.matrix_rows + which.first_row;
  }

  /// Where a block of the matrix stands. Of a 1×1 convolution that is the image itself.
  Matrix matrix(float* image, const ColumnBlock& which, int thread) {
    if (plan_.is_pointwise) {
      return {image + which.first_row * plan_.pixels + which.first_pixel, plan_.pixels};
    }
    return {scratch_.at(plan_.blocks) + thread * plan_.rows * plan_.width, which.pixels};
  }
  Matrix unrolled(const Run& run, float* image, const ColumnBlock& which, int thread) {
    const Matrix made = matrix(image, which, thread);
    if (plan_.is_pointwise) return made;
    mark(run, thread, KernelRole::im2col);
    im2col(shape_, image, which, made.data);
    return made;
  }

  void forward(const Run& run, std::int64_t image, std::int64_t group, std::int64_t part,
               int thread) {
    const ColumnBlock which = block(0, part);
    const Matrix columns = unrolled(run, input_of(run, image, group), which, thread);
    mark(run, thread, KernelRole::gemm);
    multiply(Gemm<float>{.m = plan_.filters,
                         .n = which.pixels,
                         .k = plan_.matrix_rows,
                         .a = weights_of(run, group, which),
                         .a_step = plan_.matrix_rows,
                         .b = columns.data,
                         .b_step = columns.step,
                         .result = output_of(run, image, group) + which.first_pixel,
                         .result_step = plan_.pixels});
  }

  /// Of whole channels, to which no other thread adds.
  void input_gradient(const Run& run, std::int64_t image, std::int64_t group, std::int64_t part,
                      int thread) {
    const std::int64_t plane = shape_.height * shape_.width;
    float* const input = input_of(run, image, group);
    if (!plan_.is_pointwise) {
      const ColumnBlock rows = block(part, 0);
      std::fill_n(input + rows.first_row / plan_.kernel_size * plane,
                  rows.rows / plan_.kernel_size * plane, 0.0F);
    }
    for (std::int64_t i = 0; i < plan_.pixel_blocks(); ++i) {
      const ColumnBlock which = block(part, i);
      const Matrix columns = matrix(input, which, thread);
      mark(run, thread, KernelRole::gemm);
      multiply(Gemm<float>{.m = which.rows,
                           .n = which.pixels,
                           .k = plan_.filters,
                           .a = weights_of(run, group, which),
                           .a_step = plan_.matrix_rows,
                           .a_is_transposed = true,
                           .b = output_of(run, image, group) + which.first_pixel,
                           .b_step = plan_.pixels,
                           .result = columns.data,
                           .result_step = columns.step});
      if (plan_.is_pointwise) continue;
      mark(run, thread, KernelRole::col2im);
      col2im(shape_, columns.data, which, input);
    }
  }

  void weight_gradient(const Run& run, std::int64_t group, std::int64_t part, int thread) {
    const std::int64_t per_image = plan_.pixel_blocks();
    for (std::int64_t i = 0; i < shape_.batch * per_image; ++i) {
      const std::int64_t image = i / per_image;
      const ColumnBlock which = block(part, i % per_image);
      const Matrix columns = unrolled(run, input_of(run, image, group), which, thread);
      mark(run, thread, KernelRole::gemm);
      multiply(Gemm<float>{.m = plan_.filters,
                           .n = which.rows,
                           .k = which.pixels,
                           .a = output_of(run, image, group) + which.first_pixel,
                           .a_step = plan_.pixels,
                           .b = columns.data,
                           .b_step = columns.step,
                           .b_is_transposed = true,
                           .result = weights_of(run, group, which),
                           .result_step = plan_.matrix_rows,
                           .adds = i > 0});
    }
  }

  SharedThreads threads_;
  ConvShape shape_;
  ConvPass pass_;
  UnrollPlan plan_;
  Scratch scratch_;
};

/// Explicit GEMM: im2col, a matrix product, and col2im for the gradient of the input.
class Unroll : public ConvStrategy {
 public:
  explicit Unroll(SharedThreads threads) : threads_(std::move(threads)) {}

  std::string_view name() const override { return "unroll"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = type_refusal(problem)) return reason;
    if (auto reason = blas_refusal()) return reason;
    // Sizes of a matrix are 32-bit numbers in BLAS.
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const ConvShape& s = problem.shape;
    if (s.weight_elements() > most || s.output_height() * s.output_width() > most ||
        s.height * s.width > most) {
      return "its matrices have more than 2147483647 columns";
    }
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return unroll_plan(problem, threads_->count()).scratch.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<UnrolledConvolution>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> unroll_strategy(const SharedThreads& threads) {
  return std::make_unique<Unroll>(threads);
}

}  // namespace strata::cpu
