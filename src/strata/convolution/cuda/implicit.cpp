// SPDX-License-Identifier: Apache-2.0
// Unrolling without the unrolled matrix: no scratch memory but a table of the window and the
// kernels in another order.
#include "strata/convolution/cuda/implicit.cuh"

#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/pack.cuh"

#include <fmt/format.h>

namespace strata::cuda {
namespace {

struct ImplicitPlan {
  int parts = 1;
  std::int64_t table_at = 0, packed_at = 0, sums_at = 0, bytes = 0;
};

ImplicitPlan implicit_plan(const ConvProblem& problem) {
  const ConvView view = view_of(problem);
  ImplicitPlan plan;
  Scratch scratch;
  plan.table_at =
      scratch.add(window_entries(view) * static_cast<std::int64_t>(sizeof(WindowEntry)));
  if (problem.pass == ConvPass::weight_gradient) {
    plan.parts = implicit_parts(view);
    plan.sums_at = scratch.add(plan.parts * problem.shape.weight_elements() * 4);
  } else {
    plan.packed_at = scratch.add(packed_elements(view) * 4);
    plan.sums_at = scratch.add(part_elements(view) * 4);
  }
  plan.bytes = scratch.bytes();
  return plan;
}

class PreparedImplicit final : public PreparedConvolution {
 public:
  PreparedImplicit(SharedContext context, const ConvProblem& problem)
      : context_(std::move(context)),
        problem_(problem),
        view_(view_of(problem)),
        plan_(implicit_plan(problem)),
        scratch_(device_memory(plan_.bytes)) {
    const Lookup how =
        problem.pass == ConvPass::weight_gradient ? Lookup::checked : lookup_of(view_);
    fill_window_table(view_, how, at<WindowEntry>(plan_.table_at), context_->stream.get());
  }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const cudaStream_t stream = context_->stream.get();
    const auto* table = at<WindowEntry>(plan_.table_at);
    auto* input = static_cast<float*>(tensors.input);
    auto* weights = static_cast<float*>(tensors.weights);
    auto* output = static_cast<float*>(tensors.output);
    if (problem_.pass == ConvPass::weight_gradient) {
      marks.begin(KernelRole::gemm);
      implicit_weight_gradient(view_, table, input, output, plan_.parts, at<float>(plan_.sums_at),
                               stream);
      marks.begin(KernelRole::other);
      add_parts(at<float>(plan_.sums_at), plan_.parts, problem_.shape.weight_elements(), weights,
                DType::fp32, stream);
      return;
    }
    const bool is_forward = problem_.pass == ConvPass::forward;
    marks.begin(KernelRole::transpose);
    pack_kernels(view_, !is_forward, weights, at<float>(plan_.packed_at), stream);
    marks.begin(KernelRole::gemm);
    implicit_product(view_, table, at<float>(plan_.packed_at), is_forward ? input : output,
                     is_forward ? output : input, at<float>(plan_.sums_at), stream);
  }

 private:
  template <class Item>
  Item* at(std::int64_t offset) const {
    return reinterpret_cast<Item*>(static_cast<char*>(scratch_.get()) + offset);
  }
  SharedContext context_;
  ConvProblem problem_;
  ConvView view_;
  ImplicitPlan plan_;
  std::shared_ptr<void> scratch_;
};

class ImplicitStrategy final : public ConvStrategy {
 public:
  explicit ImplicitStrategy(SharedContext context) : context_(std::move(context)) {}
  std::string_view name() const override { return "implicit"; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    if (auto reason = common_refusal(problem)) return reason;
    const ConvView view = view_of(problem);
    // Places in a window are 16-bit, and one of them says "nowhere".
    constexpr int most = 30000;
    for (const int size :
         {view.extent_height(), view.extent_width(), view.in_height * view.gap_height,
          view.in_width * view.gap_width, view.out_height * view.stride_height,
          view.out_width * view.stride_width})
      if (size > most)
        return fmt::format("images and windows of at most {} rows and columns", most);
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return implicit_plan(problem).bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem, 4);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedImplicit>(context_, problem);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    if (problem.pass == ConvPass::weight_gradient)
      return {facts_of(implicit_weight_kernel(), "weight_product", KernelRole::gemm)};
    return {facts_of(implicit_kernel(view_of(problem)), "product", KernelRole::gemm)};
  }

 private:
  SharedContext context_;
};

}  // namespace

void add_implicit(StrategyList& list, const SharedContext& context) {
  list.push_back(std::make_unique<ImplicitStrategy>(context));
}

}  // namespace strata::cuda
