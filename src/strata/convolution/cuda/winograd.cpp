// SPDX-License-Identifier: Apache-2.0
// Winograd: transforms of tiles, a matrix product for each of their numbers, and the way back.
#include "strata/convolution/cuda/winograd.cuh"

#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/shared_kernels.cuh"

#include <fmt/format.h>

#include <algorithm>

namespace strata::cuda {
namespace {

struct WinogradPlan {
  WinogradTiles tiles;
  std::int64_t flipped_at = 0, images_at = 0, kernels_at = 0, results_at = 0, bytes = 0;
};

// A product over all tiles has few results and a long sum: cut it until every SM has work.
void cut_into_parts(const ConvView& view, WinogradTiles& tiles) {
  constexpr int wanted_products = 512, least_tiles = 256;
  const int all = view.batch * tiles.tiles_y * tiles.tiles_x;
  const auto blocks = [&](int channels) { return (channels / view.groups + 63) / 64; };
  const int products =
      tiles.points() * view.groups * blocks(view.in_channels) * blocks(view.out_channels);
  tiles.parts = std::max(1, std::min(wanted_products / std::max(products, 1), all / least_tiles));
  tiles.per_part = (all + tiles.parts - 1) / tiles.parts;
  tiles.per_part = (tiles.per_part + 3) / 4 * 4;  // rows that begin at 16 bytes
}

WinogradPlan winograd_plan(const ConvProblem& problem, int m) {
  const ConvView view = view_of(problem);
  WinogradPlan plan;
  plan.tiles.m = m;
  plan.tiles.tiles_y = (view.out_height + m - 1) / m;
  plan.tiles.tiles_x = (view.out_width + m - 1) / m;
  const bool is_weights = problem.pass == ConvPass::weight_gradient;
  plan.tiles.per_part = (view.batch * plan.tiles.tiles_y * plan.tiles.tiles_x + 3) / 4 * 4;
  if (is_weights) cut_into_parts(view, plan.tiles);
  const std::int64_t points = plan.tiles.points();
  const std::int64_t tiles = std::int64_t{plan.tiles.parts} * plan.tiles.per_part;
  Scratch scratch;
  if (problem.pass == ConvPass::input_gradient)
    plan.flipped_at = scratch.add(problem.shape.weight_elements() * 4);
  plan.images_at = scratch.add(4 * points * view.in_channels * tiles);
  plan.kernels_at = scratch.add(4 * points * (is_weights ? plan.tiles.parts : 1) *
                                view.out_channels * view.in_channels / view.groups);
  plan.results_at = scratch.add(4 * points * view.out_channels * tiles);
  plan.bytes = scratch.bytes();
  return plan;
}

class PreparedWinograd final : public PreparedConvolution {
 public:
  PreparedWinograd(SharedContext context, const ConvProblem& problem, int m)
      : context_(std::move(context)),
        problem_(problem),
        view_(view_of(problem)),
        plan_(winograd_plan(problem, m)),
        scratch_(scratch_memory(*context_, plan_.bytes)) {}

  std::int64_t scratch_bytes() const override { return plan_.bytes; }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    if (problem_.pass == ConvPass::weight_gradient) {
      weight_gradient(tensors, marks);
    } else {
      correlate(tensors, marks);
    }
  }

 private:
  float* at(std::int64_t offset) const {
    return reinterpret_cast<float*>(static_cast<char*>(scratch_.get()) + offset);
  }
  void correlate(const ConvTensors& tensors, RoleMarks& marks) const;
  void weight_gradient(const ConvTensors& tensors, RoleMarks& marks) const;

  SharedContext context_;
  ConvProblem problem_;
  ConvView view_;
  WinogradPlan plan_;
  std::shared_ptr<void> scratch_;
};

void PreparedWinograd::correlate(const ConvTensors& tensors, RoleMarks& marks) const {
  const cudaStream_t stream = context_->stream.get();
  const bool is_forward = problem_.pass == ConvPass::forward;
  const auto* images = static_cast<const float*>(is_forward ? tensors.input : tensors.output);
  const auto* kernels = static_cast<const float*>(tensors.weights);
  marks.begin(KernelRole::transform);
  if (!is_forward) {
    flip_kernels(problem_.shape, kernels, at(plan_.flipped_at), stream);
    kernels = at(plan_.flipped_at);
  }
  winograd_kernels(plan_.tiles, static_cast<int>(problem_.shape.weight_elements() / 9), kernels,
                   at(plan_.kernels_at), stream);
  winograd_images(view_, plan_.tiles, images, at(plan_.images_at), stream);
  marks.begin(KernelRole::gemm);
  BatchedProduct product;
  product.m = view_.out_channels / view_.groups;
  product.k = view_.in_channels / view_.groups;
  product.n = plan_.tiles.per_part;
  product.batch = std::int64_t{plan_.tiles.points()} * view_.groups;
  product.a = {at(plan_.kernels_at), product.k, product.m * product.k, false};
  product.b = {at(plan_.images_at), product.n, product.k * product.n, false};
  product.c = at(plan_.results_at);
  product.c_stride = product.n, product.c_batch_stride = product.m * product.n;
  context_->cublas->multiply(product);
  marks.begin(KernelRole::inverse_transform);
  winograd_results(view_, plan_.tiles, at(plan_.results_at),
                   static_cast<float*>(is_forward ? tensors.output : tensors.input), stream);
}

void PreparedWinograd::weight_gradient(const ConvTensors& tensors, RoleMarks& marks) const {
  const cudaStream_t stream = context_->stream.get();
  marks.begin(KernelRole::transform);
  winograd_images(view_, plan_.tiles, static_cast<const float*>(tensors.input), at(plan_.images_at),
                  stream);
  winograd_result_gradients(view_, plan_.tiles, static_cast<const float*>(tensors.output),
                            at(plan_.results_at), stream);
  marks.begin(KernelRole::gemm);
  BatchedProduct product;
  product.m = view_.out_channels / view_.groups;
  product.n = view_.in_channels / view_.groups;
  product.k = plan_.tiles.per_part;
  product.batch = std::int64_t{plan_.tiles.parts} * plan_.tiles.points() * view_.groups;
  product.a = {at(plan_.results_at), product.k, product.m * product.k, false};
  product.b = {at(plan_.images_at), product.k, product.n * product.k, true};
  product.c = at(plan_.kernels_at);
  product.c_stride = product.n, product.c_batch_stride = product.m * product.n;
  context_->cublas->multiply(product);
  marks.begin(KernelRole::inverse_transform);
  winograd_kernel_gradients(plan_.tiles, static_cast<int>(problem_.shape.weight_elements() / 9),
                            at(plan_.kernels_at), static_cast<float*>(tensors.weights), stream);
}

class WinogradStrategy final : public ConvStrategy {
 public:
  WinogradStrategy(SharedContext context, std::string_view name, int m)
      : context_(std::move(context)), name_(name), m_(m) {}
  std::string_view name() const override { return name_; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = common_refusal(problem)) return reason;
    if (!context_->cublas) return "no cuBLAS: " + context_->no_cublas;
    const ConvShape& shape = problem.shape;
    if (shape.kernel_height != 3 || shape.kernel_width != 3) return "3×3 windows only";
    if (shape.stride_height != 1 || shape.stride_width != 1) return "stride 1 only";
    if (shape.dilation_height != 1 || shape.dilation_width != 1) return "dilation 1 only";
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return winograd_plan(problem, m_).bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    const ConvView view = view_of(problem);
    const WinogradPlan plan = winograd_plan(problem, m_);
    const WinogradFlop one = winograd_flop(m_);
    const std::int64_t tiles = std::int64_t{view.batch} * plan.tiles.tiles_y * plan.tiles.tiles_x;
    const std::int64_t kernels = problem.shape.weight_elements() / 9;
    return tiles * (one.images * view.in_channels + one.results * view.out_channels) +
           kernels * (one.kernels + 2 * plan.tiles.points() * tiles);
  }
  double tolerance(const ConvProblem& problem) const override {
    return (m_ == 2 ? 1 : 8) * (1e-6 + rounding_tolerance(problem, 4));
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedWinograd>(context_, problem, m_);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    std::vector<KernelFacts> facts = {
        facts_of(winograd_images_kernel(m_), "images_to_points", KernelRole::transform)};
    if (problem.pass != ConvPass::weight_gradient) {
      facts.push_back(facts_of(winograd_results_kernel(m_), "points_to_results",
                               KernelRole::inverse_transform));
    }
    return facts;
  }

 private:
  SharedContext context_;
  std::string_view name_;
  int m_;
};

}  // namespace

void add_winograd(StrategyList& list, const SharedContext& context) {
  list.push_back(std::make_unique<WinogradStrategy>(context, "winograd2", 2));
  list.push_back(std::make_unique<WinogradStrategy>(context, "winograd4", 4));
}

}  // namespace strata::cuda
