// SPDX-License-Identifier: Apache-2.0
// Unrolling: every window becomes a column of a matrix (im2col), and the convolution a matrix
// product per image and group. Images are taken a few at a time, so that the columns stay bounded.
#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/im2col.cuh"
#include "strata/convolution/cuda/shared_kernels.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::cuda {
namespace {

/// How the batch is cut, and what lies in the scratch memory.
struct UnrollPlan {
  std::int64_t rows = 0;  ///< channels of a group × window
  std::int64_t pixels = 0;
  bool has_columns = true;  ///< a 1×1 window without stride or padding is its own columns
  int images = 1;           ///< at a time
  std::int64_t columns_at = 0, parts_at = 0, bytes = 0;
};

constexpr std::int64_t most_column_bytes = std::int64_t{256} << 20;
constexpr std::int64_t most_part_bytes = std::int64_t{64} << 20;

UnrollPlan unroll_plan(const ConvProblem& problem) {
  const ConvShape& shape = problem.shape;
  UnrollPlan plan;
  plan.rows = shape.channels / shape.groups * shape.kernel_height * shape.kernel_width;
  plan.pixels = shape.output_height() * shape.output_width();
  plan.has_columns = shape.kernel_height * shape.kernel_width > 1 ||
                     shape.stride_height * shape.stride_width > 1 || shape.pad_height > 0 ||
                     shape.pad_width > 0;
  const std::int64_t image_bytes =
      shape.groups * plan.rows * plan.pixels * bytes_per_element(problem.dtype);
  std::int64_t images =
      plan.has_columns ? std::max<std::int64_t>(1, most_column_bytes / image_bytes) : shape.batch;
  images = std::min(images, std::min<std::int64_t>(shape.batch, 65535));
  const std::int64_t part_bytes = shape.weight_elements() * 4;
  if (problem.pass == ConvPass::weight_gradient)
    images = std::min(images, std::max<std::int64_t>(1, most_part_bytes / part_bytes));
  const std::int64_t rounds = (shape.batch + images - 1) / images;
  plan.images = static_cast<int>((shape.batch + rounds - 1) / rounds);
  Scratch scratch;
  if (plan.has_columns) plan.columns_at = scratch.add(plan.images * image_bytes);
  if (problem.pass == ConvPass::weight_gradient)
    plan.parts_at = scratch.add(plan.images * part_bytes);
  plan.bytes = scratch.bytes();
  return plan;
}

class PreparedUnroll final : public PreparedConvolution {
 public:
  PreparedUnroll(SharedContext context, const ConvProblem& problem)
      : context_(std::move(context)),
        problem_(problem),
        view_(forward_view(problem.shape)),
        plan_(unroll_plan(problem)),
        scratch_(scratch_memory(*context_, plan_.bytes)) {}

  std::int64_t scratch_bytes() const override { return plan_.bytes; }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const int batch = view_.batch;
    for (int first = 0; first < batch; first += plan_.images) {
      const int count = std::min(plan_.images, batch - first);
      switch (problem_.pass) {
        case ConvPass::forward: forward(tensors, first, count, marks); break;
        case ConvPass::input_gradient: input_gradient(tensors, first, count, marks); break;
        case ConvPass::weight_gradient: weight_gradient(tensors, first, count, marks); break;
      }
    }
    if (problem_.pass == ConvPass::weight_gradient) {
      marks.begin(KernelRole::other);
      add_parts(static_cast<float*>(at(plan_.parts_at)), plan_.images,
                problem_.shape.weight_elements(), tensors.weights, problem_.dtype,
                context_->stream.get());
    }
  }

 private:
  void* at(std::int64_t offset) const { return static_cast<char*>(scratch_.get()) + offset; }
  void* columns() const { return at(plan_.columns_at); }
  const void* image(const void* tensor, std::int64_t elements, int first) const {
    return static_cast<const char*>(tensor) +
           elements / view_.batch * first * bytes_per_element(problem_.dtype);
  }
  /// Where the columns of these images are once they are unrolled.
  void* unrolled(const ConvTensors& tensors, int first, int count, RoleMarks& marks) const {
    if (!plan_.has_columns)
      return const_cast<void*>(image(tensors.input, problem_.shape.input_elements(), first));
    marks.begin(KernelRole::im2col);
    im2col(view_, problem_.dtype, tensors.input, first, count, columns(), context_->stream.get());
    return columns();
  }
  std::int64_t group_filters() const { return problem_.shape.filters / problem_.shape.groups; }

  /// A product per image, or per image and group where all strides allow: `group` moves the rest.
  BatchedProduct product(std::int64_t batch) const {
    BatchedProduct product;
    product.batch = batch;
    product.in = product.out = problem_.dtype;
    return product;
  }
  template <class Fill>
  void for_groups(int count, const Fill& fill) const {
    const ConvShape& shape = problem_.shape;
    // One call where there is one group; else one per image, each over all groups: their strides
    // are even, those of both together are not.
    if (shape.groups == 1) {
      BatchedProduct one = product(count);
      fill(one, 0, false);
      context_->cublas->multiply(one);
      return;
    }
    for (int i = 0; i < count; ++i) {
      BatchedProduct groups = product(shape.groups);
      fill(groups, i, true);
      context_->cublas->multiply(groups);
    }
  }
  const void* offset(const void* data, std::int64_t elements, DType type) const {
    return static_cast<const char*>(data) + elements * bytes_per_element(type);
  }

  void forward(const ConvTensors& tensors, int first, int count, RoleMarks& marks) const;
  void input_gradient(const ConvTensors& tensors, int first, int count, RoleMarks& marks) const;
  void weight_gradient(const ConvTensors& tensors, int first, int count, RoleMarks& marks) const;

  SharedContext context_;
  ConvProblem problem_;
  ConvView view_;
  UnrollPlan plan_;
  std::shared_ptr<void> scratch_;
};

void PreparedUnroll::forward(const ConvTensors& tensors, int first, int count,
                             RoleMarks& marks) const {
  const void* columns = unrolled(tensors, first, count, marks);
  marks.begin(KernelRole::gemm);
  const std::int64_t f = group_filters(), k = plan_.rows, n = plan_.pixels;
  const std::int64_t groups = problem_.shape.groups;
  for_groups(count, [&](BatchedProduct& p, int i, bool by_group) {
    p.m = f, p.n = n, p.k = k;
    p.a = {tensors.weights, k, by_group ? f * k : 0, false};
    p.b = {offset(columns, i * groups * k * n, problem_.dtype), n, k * n, false};
    p.c = const_cast<void*>(offset(tensors.output, (first + i) * groups * f * n, problem_.dtype));
    p.c_stride = n, p.c_batch_stride = f * n;
  });
}

void PreparedUnroll::input_gradient(const ConvTensors& tensors, int first, int count,
                                    RoleMarks& marks) const {
  void* columns =
      plan_.has_columns
          ? this->columns()
          : const_cast<void*>(image(tensors.input, problem_.shape.input_elements(), first));
  marks.begin(KernelRole::gemm);
  const std::int64_t f = group_filters(), k = plan_.rows, n = plan_.pixels;
  const std::int64_t groups = problem_.shape.groups;
  for_groups(count, [&](BatchedProduct& p, int i, bool by_group) {
    p.m = k, p.n = n, p.k = f;
    p.a = {tensors.weights, k, by_group ? f * k : 0, true};
    p.b = {offset(tensors.output, (first + i) * groups * f * n, problem_.dtype), n, f * n, false};
    p.c = const_cast<void*>(offset(columns, i * groups * k * n, problem_.dtype));
    p.c_stride = n, p.c_batch_stride = k * n;
  });
  if (!plan_.has_columns) return;
  marks.begin(KernelRole::col2im);
  col2im(view_, problem_.dtype, columns, first, count, tensors.input, context_->stream.get());
}

// A sum of its own for each image of a round; the rounds add to them, and add_parts at the end.
void PreparedUnroll::weight_gradient(const ConvTensors& tensors, int first, int count,
                                     RoleMarks& marks) const {
  const void* columns = unrolled(tensors, first, count, marks);
  marks.begin(KernelRole::gemm);
  const std::int64_t f = group_filters(), k = plan_.rows, n = plan_.pixels;
  const std::int64_t groups = problem_.shape.groups;
  for_groups(count, [&](BatchedProduct& p, int i, bool) {
    p.m = f, p.n = k, p.k = n;
    p.a = {offset(tensors.output, (first + i) * groups * f * n, problem_.dtype), n, f * n, false};
    p.b = {offset(columns, i * groups * k * n, problem_.dtype), n, k * n, true};
    p.c = const_cast<void*>(offset(at(plan_.parts_at), i * groups * f * k, DType::fp32));
    p.c_stride = k, p.c_batch_stride = f * k;
    p.out = DType::fp32;
    p.beta = first == 0 ? 0 : 1;
  });
}

class UnrollStrategy final : public ConvStrategy {
 public:
  explicit UnrollStrategy(SharedContext context) : context_(std::move(context)) {}
  std::string_view name() const override { return "unroll"; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (!context_->cublas) return "no cuBLAS: " + context_->no_cublas;
    if (problem.dtype == DType::fp16 || problem.dtype == DType::bf16)
      return common_refusal({problem.shape, problem.pass, DType::fp32});
    return common_refusal(problem);
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return unroll_plan(problem).bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    if (problem.dtype == DType::fp32) return rounding_tolerance(problem, 4);
    // The result is stored in the type, and so is each column of the gradient of the input.
    return problem.dtype == DType::fp16 ? 2e-3 : 1.6e-2;
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedUnroll>(context_, problem);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    if (!unroll_plan(problem).has_columns) return {};
    if (problem.pass == ConvPass::input_gradient)
      return {facts_of(col2im_kernel(), "col2im_pixel", KernelRole::col2im)};
    return {facts_of(im2col_kernel(), "im2col_strip", KernelRole::im2col)};
  }

 private:
  SharedContext context_;
};

}  // namespace

void add_unroll(StrategyList& list, const SharedContext& context) {
  list.push_back(std::make_unique<UnrollStrategy>(context));
}

}  // namespace strata::cuda
