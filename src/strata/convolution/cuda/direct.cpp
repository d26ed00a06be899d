// SPDX-License-Identifier: Apache-2.0
// Direct convolution: one kernel, any stride, dilation, padding and groups.
#include "strata/convolution/cuda/direct.cuh"

#include "strata/convolution/cuda/context.cuh"
#include "strata/convolution/cuda/shared_kernels.cuh"

namespace strata::cuda {
namespace {

struct DirectPlan {
  int parts = 1;
  std::int64_t bytes = 0;  ///< flipped kernels, or the sums of the parts
};

DirectPlan direct_plan(const ConvProblem& problem) {
  DirectPlan plan;
  const std::int64_t weight_bytes = problem.shape.weight_elements() * 4;
  if (problem.pass == ConvPass::input_gradient) plan.bytes = weight_bytes;
  if (problem.pass == ConvPass::weight_gradient) {
    plan.parts = direct_parts(view_of(problem));
    if (plan.parts > 1) plan.bytes = plan.parts * weight_bytes;
  }
  return plan;
}

class PreparedDirect final : public PreparedConvolution {
 public:
  PreparedDirect(SharedContext context, const ConvProblem& problem)
      : context_(std::move(context)),
        problem_(problem),
        view_(view_of(problem)),
        plan_(direct_plan(problem)),
        scratch_(scratch_memory(*context_, plan_.bytes)) {}

  std::int64_t scratch_bytes() const override { return plan_.bytes; }

  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    const cudaStream_t stream = context_->stream.get();
    auto* input = static_cast<float*>(tensors.input);
    auto* weights = static_cast<float*>(tensors.weights);
    auto* output = static_cast<float*>(tensors.output);
    auto* scratch = static_cast<float*>(scratch_.get());
    switch (problem_.pass) {
      case ConvPass::forward:
        marks.begin(KernelRole::direct);
        direct_sum(view_, weights, input, output, stream);
        return;
      case ConvPass::input_gradient:
        marks.begin(KernelRole::transpose);
        flip_kernels(problem_.shape, weights, scratch, stream);
        marks.begin(KernelRole::direct);
        direct_sum(view_, scratch, output, input, stream);
        return;
      case ConvPass::weight_gradient: {
        const bool has_parts = plan_.parts > 1;
        marks.begin(KernelRole::direct);
        direct_weight_gradient(view_, input, output, plan_.parts, has_parts ? scratch : weights,
                               stream);
        if (!has_parts) return;
        marks.begin(KernelRole::other);
        add_parts(scratch, plan_.parts, problem_.shape.weight_elements(), weights, DType::fp32,
                  stream);
      }
    }
  }

 private:
  SharedContext context_;
  ConvProblem problem_;
  ConvView view_;
  DirectPlan plan_;
  std::shared_ptr<void> scratch_;
};

class DirectStrategy final : public ConvStrategy {
 public:
  explicit DirectStrategy(SharedContext context) : context_(std::move(context)) {}
  std::string_view name() const override { return "direct"; }
  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    return common_refusal(problem);
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return direct_plan(problem).bytes;
  }
  std::optional<std::int64_t> flop(const ConvProblem& problem) const override {
    return direct_flop(problem.shape);
  }
  double tolerance(const ConvProblem& problem) const override {
    return rounding_tolerance(problem, 4);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedDirect>(context_, problem);
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    const ConvView view = view_of(problem);
    if (problem.pass == ConvPass::weight_gradient) {
      return {
          facts_of(direct_weight_kernel(view), "direct_weights", KernelRole::direct,
                   static_cast<int>(std::min(direct_weight_patch_bytes(view), most_patch_bytes)))};
    }
    return {facts_of(direct_kernel(view), "direct_tile", KernelRole::direct,
                     static_cast<int>(std::min(direct_patch_bytes(view), most_patch_bytes)))};
  }

 private:
  SharedContext context_;
};

}  // namespace

void add_direct(StrategyList& list, const SharedContext& context) {
  list.push_back(std::make_unique<DirectStrategy>(context));
}

}  // namespace strata::cuda
