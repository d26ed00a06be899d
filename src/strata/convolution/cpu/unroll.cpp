// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cpu/matrix/product.hpp"
#include "strata/convolution/cpu/scratch.hpp"
#include "strata/convolution/cpu/strategies.hpp"
#include "strata/convolution/cpu/unroll_rows.hpp"

#include <algorithm>
#include <limits>

namespace strata::cpu {
namespace {

std::int64_t divide_rounding_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How the unrolled matrix is cut. A product is efficient from some thousand columns on, and blocks
/// should stay in the second cache: wide images are cut into panels, narrow ones put side by side.
struct UnrollPlan {
  static constexpr std::int64_t wide = 1024;             ///< columns of a panel
  static constexpr std::int64_t least_wide = 128;        ///< below, even a copy is worth it
  static constexpr std::int64_t block_floats = 1 << 19;  ///< of a block of the matrix

  std::int64_t pixels = 1;  ///< of one image's output
  std::int64_t matrix_rows = 1;
  std::int64_t taps = 1;
  std::int64_t filters = 1;  ///< of one group
  std::int64_t images_per_panel = 1;
  std::int64_t panels_per_image = 1;
  std::int64_t width = 1;                      ///< columns of the widest panel
  std::int64_t rows = 1;                       ///< of a block
  std::int64_t filter_parts = 1;               ///< in the gradient of the weights
  bool is_pointwise = false;                   ///< the matrix is the image itself
  std::int64_t block = 0, side_by_side = 0;    ///< where a thread's parts begin
  std::int64_t block_step = 0, side_step = 0;  ///< floats of one thread
  ScratchPlan scratch;

  bool has_blocks() const { return !is_pointwise; }
};

UnrollPlan unroll_plan(const ConvShape& s, ConvPass pass, int threads) {
  UnrollPlan p;
  p.pixels = checked_mul(s.output_height(), s.output_width());
  p.taps = s.kernel_height * s.kernel_width;
  p.matrix_rows = s.channels / s.groups * p.taps;
  p.filters = s.filters / s.groups;
  const bool is_own_matrix = p.taps == 1 && s.stride_height == 1 && s.stride_width == 1 &&
                             s.pad_height == 0 && s.pad_width == 0;
  if (p.pixels <= (is_own_matrix ? UnrollPlan::least_wide : UnrollPlan::wide / 2) && s.batch > 1) {
    const std::int64_t share = divide_rounding_up(s.batch, threads);
    p.images_per_panel = std::clamp<std::int64_t>(UnrollPlan::wide / p.pixels, 1, share);
  } else {
    const std::int64_t least =
        s.batch * s.groups < threads && p.pixels >= 64 * threads ? threads : 1;
    // An image that is its own matrix is cut by the product itself.
    p.panels_per_image =
        is_own_matrix ? least : std::max(least, divide_rounding_up(p.pixels, UnrollPlan::wide));
  }
  const std::int64_t part = divide_rounding_up(p.pixels, p.panels_per_image);
  p.width = std::min(divide_rounding_up(part, 16) * 16, p.pixels) * p.images_per_panel;
  p.is_pointwise = p.images_per_panel == 1 && is_own_matrix;
  p.rows = p.is_pointwise
               ? p.matrix_rows
               : std::clamp<std::int64_t>(UnrollPlan::block_floats / p.width, 1, p.matrix_rows);
  if (pass == ConvPass::input_gradient) {  // whole channels, so that no two threads meet in a pixel
    p.rows = std::max<std::int64_t>(1, p.rows / p.taps) * p.taps;
  }
  if (pass != ConvPass::forward) {  // blocks are what is shared out
    const std::int64_t unit = pass == ConvPass::input_gradient ? p.taps : 1;
    const std::int64_t panels =
        pass == ConvPass::input_gradient ? divide_rounding_up(s.batch, p.images_per_panel) : 1;
    std::int64_t wanted = divide_rounding_up(2 * threads, s.groups * panels);
    if (pass == ConvPass::weight_gradient && p.is_pointwise) {
      // Nothing is unrolled, so that either side may be cut: the longer one, and not too short.
      constexpr std::int64_t least_rows = 32;
      const bool cuts_filters = p.filters > p.matrix_rows;
      const std::int64_t longer = std::max(p.filters, p.matrix_rows);
      const std::int64_t parts =
          longer >= least_rows * wanted ? wanted : divide_rounding_up(wanted, 2);
      wanted = cuts_filters ? 1 : parts;
      if (cuts_filters) p.filter_parts = std::min(parts, p.filters);
    }
    const std::int64_t share = divide_rounding_up(p.matrix_rows / unit, wanted) * unit;
    p.rows = std::min(p.rows, std::max(share, unit));
  } else {
    p.rows = divide_rounding_up(p.matrix_rows, divide_rounding_up(p.matrix_rows, p.rows));
  }
  p.block_step = p.has_blocks() ? checked_mul(p.rows, p.width) : 0;
  p.side_step = p.images_per_panel > 1 ? checked_mul(p.filters, p.width) : 0;
  p.block = p.scratch.add(checked_mul(threads, p.block_step));
  p.side_by_side = p.scratch.add(checked_mul(threads, p.side_step));
  return p;
}

/// A part of one image's output pixels, or all those of several images.
struct Panel {
  std::int64_t image = 0;
  std::int64_t images = 1;
  std::int64_t first_pixel = 0;
  std::int64_t pixels = 0;  ///< of each image
  std::int64_t columns() const { return images * pixels; }
};

class Unrolled : public PreparedConvolution {
 public:
  Unrolled(const ConvProblem& problem, SharedThreads threads)
      : threads_(std::move(threads)),
        shape_(problem.shape),
        pass_(problem.pass),
        plan_(unroll_plan(problem.shape, problem.pass, threads_->count())),
        scratch_(plan_.scratch.bytes()) {}

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const Run run{static_cast<float*>(tensors.input), static_cast<float*>(tensors.weights),
                  static_cast<float*>(tensors.output), marks};
    const std::int64_t image_panels = divide_rounding_up(shape_.batch, plan_.images_per_panel);
    const std::int64_t blocks = divide_rounding_up(plan_.matrix_rows, plan_.rows);
    const std::int64_t groups = shape_.groups;
    switch (pass_) {
      case ConvPass::forward:
        return threads_->for_each(
            image_panels * plan_.panels_per_image * groups, [&](std::int64_t i, int thread) {
              forward(
                  run,
                  panel(i / groups / plan_.panels_per_image, i / groups % plan_.panels_per_image),
                  i % groups, thread);
            });
      case ConvPass::input_gradient:
        return threads_->for_each(image_panels * groups * blocks, [&](std::int64_t i, int thread) {
          input_gradient(run, i / blocks / groups, i / blocks % groups, i % blocks, thread);
        });
      case ConvPass::weight_gradient:
        return threads_->for_each(
            groups * blocks * plan_.filter_parts, [&](std::int64_t i, int thread) {
              const std::int64_t block = i / plan_.filter_parts;
              weight_gradient(run, block / blocks, block % blocks, i % plan_.filter_parts, thread);
            });
    }
  }

 private:
  struct Run {
    float* input;
    float* weights;
    float* output;
    RoleMarks& marks;
  };
  struct Part {
    std::int64_t group = 0, first_row = 0, rows = 0;
  };

  static void mark(const Run& run, int thread, KernelRole role) {
    if (thread == 0) run.marks.begin(role);
  }

  Panel panel(std::int64_t image_panel, std::int64_t part) const {
    const std::int64_t image = image_panel * plan_.images_per_panel;
    const std::int64_t width = plan_.width / plan_.images_per_panel;
    const std::int64_t first = part * width;
    return {.image = image,
            .images = std::min(plan_.images_per_panel, shape_.batch - image),
            .first_pixel = first,
            .pixels = std::clamp<std::int64_t>(plan_.pixels - first, 0, width)};
  }
  Part part(std::int64_t group, std::int64_t block) const {
    const std::int64_t first = block * plan_.rows;
    return {group, first, std::min(plan_.rows, plan_.matrix_rows - first)};
  }

  float* input_of(const Run& run, std::int64_t image, std::int64_t group) const {
    return run.input + (image * shape_.groups + group) * (shape_.channels / shape_.groups) *
                           shape_.height * shape_.width;
  }
  float* output_of(const Run& run, std::int64_t image, std::int64_t group) const {
    return run.output + (image * shape_.groups + group) * plan_.filters * plan_.pixels;
  }
  float* weights_of(const Run& run, const Part& part) const {
    return run.weights + part.group * plan_.filters * plan_.matrix_rows + part.first_row;
  }
  bool is_side_by_side() const { return plan_.images_per_panel > 1; }

  /// A block of the matrix: the image itself, or unrolled.
  struct Block {
    const float* data;
    std::int64_t step;
  };
  Block unrolled(const Run& run, const Panel& panel, const Part& part, int thread) {
    if (plan_.is_pointwise) {
      return {input_of(run, panel.image, part.group) + part.first_row * plan_.pixels +
                  panel.first_pixel,
              plan_.pixels};
    }
    mark(run, thread, KernelRole::unroll);
    float* const block = scratch_.at(plan_.block) + thread * plan_.block_step;
    for (std::int64_t i = 0; i < panel.images; ++i) {
      unroll(shape_, input_of(run, panel.image + i, part.group),
             {part.first_row, part.rows, panel.first_pixel, panel.pixels}, block + i * panel.pixels,
             panel.columns());
    }
    return {block, panel.columns()};
  }

  /// The output of one group for a panel; of several images: copied side by side.
  Block gathered_output(const Run& run, const Panel& panel, std::int64_t group, int thread) {
    if (!is_side_by_side()) {
      return {output_of(run, panel.image, group) + panel.first_pixel, plan_.pixels};
    }
    mark(run, thread, KernelRole::copy);
    float* const side = scratch_.at(plan_.side_by_side) + thread * plan_.side_step;
    for (std::int64_t i = 0; i < panel.images; ++i) {
      const float* const from = output_of(run, panel.image + i, group);
      for (std::int64_t f = 0; f < plan_.filters; ++f) {
        std::copy_n(from + f * plan_.pixels, plan_.pixels,
                    side + f * panel.columns() + i * plan_.pixels);
      }
    }
    return {side, panel.columns()};
  }

  void forward(const Run& run, const Panel& panel, std::int64_t group, int thread) {
    if (panel.pixels == 0) return;
    float* result = output_of(run, panel.image, group) + panel.first_pixel;
    std::int64_t step = plan_.pixels;
    if (is_side_by_side()) {
      result = scratch_.at(plan_.side_by_side) + thread * plan_.side_step;
      step = panel.columns();
    }
    const std::int64_t blocks = divide_rounding_up(plan_.matrix_rows, plan_.rows);
    for (std::int64_t i = 0; i < blocks; ++i) {
      const Part rows = part(group, i);
      const Block block = unrolled(run, panel, rows, thread);
      mark(run, thread, KernelRole::gemm);
      multiply(Product<float>{.m = plan_.filters,
                              .n = panel.columns(),
                              .k = rows.rows,
                              .a = weights_of(run, rows),
                              .a_step = plan_.matrix_rows,
                              .b = block.data,
                              .b_step = block.step,
                              .result = result,
                              .result_step = step,
                              .adds = i > 0});
    }
    if (!is_side_by_side()) return;
    mark(run, thread, KernelRole::copy);
    for (std::int64_t i = 0; i < panel.images; ++i) {
      float* const to = output_of(run, panel.image + i, group);
      for (std::int64_t f = 0; f < plan_.filters; ++f) {
        std::copy_n(result + f * step + i * plan_.pixels, plan_.pixels, to + f * plan_.pixels);
      }
    }
  }

  void input_gradient(const Run& run, std::int64_t image_panel, std::int64_t group,
                      std::int64_t block, int thread) {
    const Part rows = part(group, block);
    const Panel whole = panel(image_panel, 0);
    const std::int64_t plane = shape_.height * shape_.width;
    if (!plan_.is_pointwise) {
      for (std::int64_t i = 0; i < whole.images; ++i) {
        std::fill_n(input_of(run, whole.image + i, group) + rows.first_row / plan_.taps * plane,
                    rows.rows / plan_.taps * plane, 0.0F);
      }
    }
    for (std::int64_t j = 0; j < plan_.panels_per_image; ++j) {
      const Panel columns = panel(image_panel, j);
      if (columns.pixels == 0) continue;
      const Block gradient = gathered_output(run, columns, group, thread);
      float* const result =
          plan_.is_pointwise
              ? input_of(run, columns.image, group) + rows.first_row * plane + columns.first_pixel
              : scratch_.at(plan_.block) + thread * plan_.block_step;
      const std::int64_t step = plan_.is_pointwise ? plane : columns.columns();
      mark(run, thread, KernelRole::gemm);
      multiply(Product<float>{.m = rows.rows,
                              .n = columns.columns(),
                              .k = plan_.filters,
                              .a = weights_of(run, rows),
                              .a_step = plan_.matrix_rows,
                              .a_is_turned = true,
                              .b = gradient.data,
                              .b_step = gradient.step,
                              .result = result,
                              .result_step = step});
      if (plan_.is_pointwise) continue;
      mark(run, thread, KernelRole::roll_back);
      for (std::int64_t i = 0; i < columns.images; ++i) {
        roll_back(shape_, result + i * columns.pixels, step,
                  {rows.first_row, rows.rows, columns.first_pixel, columns.pixels},
                  input_of(run, columns.image + i, group));
      }
    }
  }

  void weight_gradient(const Run& run, std::int64_t group, std::int64_t block,
                       std::int64_t filter_part, int thread) {
    const Part rows = part(group, block);
    const std::int64_t first = plan_.filters * filter_part / plan_.filter_parts;
    const std::int64_t last = plan_.filters * (filter_part + 1) / plan_.filter_parts;
    const std::int64_t image_panels = divide_rounding_up(shape_.batch, plan_.images_per_panel);
    for (std::int64_t i = 0; i < image_panels * plan_.panels_per_image; ++i) {
      const Panel columns = panel(i / plan_.panels_per_image, i % plan_.panels_per_image);
      if (columns.pixels == 0) continue;
      const Block matrix = unrolled(run, columns, rows, thread);
      const Block gradient = gathered_output(run, columns, group, thread);
      mark(run, thread, KernelRole::gemm);
      multiply(Product<float>{.m = last - first,
                              .n = rows.rows,
                              .k = columns.columns(),
                              .a = gradient.data + first * gradient.step,
                              .a_step = gradient.step,
                              .b = matrix.data,
                              .b_step = matrix.step,
                              .b_is_turned = true,
                              .result = weights_of(run, rows) + first * plan_.matrix_rows,
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
    return unroll_plan(problem.shape, problem.pass, threads_->count()).scratch.bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<Unrolled>(problem, threads_);
  }

 private:
  SharedThreads threads_;
};

}  // namespace

std::unique_ptr<ConvStrategy> unroll_strategy(const SharedThreads& threads) {
  return std::make_unique<Unroll>(threads);
}

}  // namespace strata::cpu
