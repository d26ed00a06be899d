// SPDX-License-Identifier: Apache-2.0
#include "strata/convolution/cuda/cudnn/graph_strategies.cuh"

#include "strata/base/error.hpp"
#include "strata/convolution/cuda/cudnn_graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

namespace strata::cuda {
namespace {

using SharedGraph = std::shared_ptr<const CudnnGraph>;

/// The plan that a strategy takes for a problem, or why there is none.
struct ChosenPlan {
  ConvProblem problem;
  std::shared_ptr<CudnnConvPlan> plan;
  std::string why_none;
};
using SharedChoice = std::shared_ptr<const ChosenPlan>;

bool is_same(const ConvProblem& a, const ConvProblem& b) {
  return a.shape == b.shape && a.pass == b.pass && a.dtype == b.dtype;
}

SharedChoice first_plan(const CudnnGraph& graph, const ConvContext&, const ConvProblem& problem) {
  CudnnPlanLimits limits;
  limits.most_plans = 1;
  CudnnPlans found = graph.plans({problem}, CudnnEngines::heuristic_a, limits);
  if (found.plans.empty())
    return std::make_shared<ChosenPlan>(ChosenPlan{problem, nullptr, found.why_none()});
  return std::make_shared<ChosenPlan>(ChosenPlan{problem, std::move(found.plans.front()), ""});
}

/// Seconds of one run, or more than any plan takes when cuDNN refuses at the last moment.
double trial_s(CudnnConvPlan& plan, const ConvTensors& tensors, cudaStream_t stream,
               double best_so_far) {
  const auto workspace = device_memory(plan.workspace_bytes());
  double best = std::numeric_limits<double>::infinity();
  constexpr int trials = 4;  // the first warms up, or compiles
  try {
    for (int i = 0; i < trials; ++i) {
      const Event start, end;
      start.record(stream);
      plan.run(tensors, workspace.get());
      end.record(stream);
      const double seconds = end.seconds_since(start);
      if (i > 0) best = std::min(best, seconds);
      if (i > 0 && seconds > 2 * best_so_far) break;
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::numeric_limits<double>::infinity();
  }
  return best;
}

/// The fastest of what both heuristics, the fallback and every engine by itself offer, timed on
/// tensors of the same size.
SharedChoice fastest_plan(const CudnnGraph& graph, const ConvContext& context,
                          const ConvProblem& problem) {
  const std::int64_t width = bytes_per_element(problem.dtype);
  const std::array<std::int64_t, 3> bytes = {problem.shape.input_elements() * width,
                                             problem.shape.weight_elements() * width,
                                             problem.shape.output_elements() * width};
  std::array<std::shared_ptr<void>, 3> memory;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = device_memory(bytes[i]);
    // Numbers of ordinary size: the power, and so the clock, depends on them.
    STRATA_CUDA_CALL(cudaMemsetAsync(memory[i].get(), 0x3c, static_cast<std::size_t>(bytes[i]),
                                     context.stream.get()));
  }
  const ConvTensors tensors = {memory[0].get(), memory[1].get(), memory[2].get()};
  std::size_t free = 0, total = 0;
  STRATA_CUDA_CALL(cudaMemGetInfo(&free, &total));
  CudnnPlanLimits limits;
  limits.most_workspace_bytes = static_cast<std::int64_t>(free);
  auto chosen = std::make_shared<ChosenPlan>(ChosenPlan{problem, nullptr, ""});
  double best = std::numeric_limits<double>::infinity();
  for (const CudnnEngines engines : {CudnnEngines::heuristic_a, CudnnEngines::heuristic_b,
                                     CudnnEngines::fallback, CudnnEngines::every}) {
    CudnnPlans found = graph.plans({problem}, engines, limits);
    if (found.plans.empty() && chosen->why_none.empty()) chosen->why_none = found.why_none();
    for (std::unique_ptr<CudnnConvPlan>& plan : found.plans) {
      const double seconds = trial_s(*plan, tensors, context.stream.get(), best);
      if (seconds < best) best = seconds, chosen->plan = std::move(plan);
    }
  }
  return chosen;
}

class PreparedGraph final : public PreparedConvolution {
 public:
  explicit PreparedGraph(SharedChoice chosen)
      : chosen_(std::move(chosen)), workspace_(device_memory(chosen_->plan->workspace_bytes())) {}
  std::int64_t scratch_bytes() const override { return chosen_->plan->workspace_bytes(); }
  void run(const ConvTensors& tensors, RoleMarks& marks) override {
    marks.begin(KernelRole::other);
    chosen_->plan->run(tensors, workspace_.get());
  }

 private:
  SharedChoice chosen_;
  std::shared_ptr<void> workspace_;
};

using Choose = SharedChoice (*)(const CudnnGraph&, const ConvContext&, const ConvProblem&);

class GraphStrategy final : public ConvStrategy {
 public:
  GraphStrategy(std::string_view name, Choose choose, SharedGraph graph, SharedContext context)
      : name_(name), choose_(choose), graph_(std::move(graph)), context_(std::move(context)) {}
  std::string_view name() const override { return name_; }
  bool is_vendor() const override { return true; }

  std::optional<std::string> refusal(const ConvProblem& problem) const override {
    const SharedChoice chosen = chosen_for(problem);
    if (!chosen->plan) return chosen->why_none;
    return std::nullopt;
  }
  std::int64_t scratch_bytes(const ConvProblem& problem) const override {
    return chosen_for(problem)->plan->workspace_bytes();
  }
  std::optional<std::int64_t> flop(const ConvProblem&) const override { return std::nullopt; }
  double tolerance(const ConvProblem& problem) const override {
    if (problem.dtype == DType::fp64) return 1e-12;
    if (problem.dtype != DType::fp32) return 2e-2;
    // The library's Winograd loses digits with 5×5 windows.
    return chosen_for(problem)->plan->engine().has("winograd")
               ? 1e-2
               : 2e-5 + rounding_tolerance(problem, 8);
  }
  std::unique_ptr<PreparedConvolution> prepare(const ConvProblem& problem) const override {
    return std::make_unique<PreparedGraph>(chosen_for(problem));
  }
  std::vector<KernelFacts> kernels(const ConvProblem& problem) const override {
    return {{chosen_for(problem)->plan->engine().text(), KernelRole::other}};
  }

 private:
  /// The last one is kept: the functions above ask in turn about the same problem.
  SharedChoice chosen_for(const ConvProblem& problem) const {
    const std::lock_guard lock(mutex_);
    if (!last_ || !is_same(last_->problem, problem)) {
      last_.reset();
      last_ = choose_(*graph_, *context_, problem);
    }
    return last_;
  }

  std::string name_;
  Choose choose_;
  SharedGraph graph_;
  SharedContext context_;
  mutable std::mutex mutex_;
  mutable SharedChoice last_;
};

}  // namespace

void add_cudnn_graph(StrategyList& list, const SharedContext& context) {
  std::string problem;
  const SharedGraph graph = CudnnGraph::load(context->stream.get(), problem);
  if (!graph) return;  // the algorithms by name have said why
  list.push_back(std::make_unique<GraphStrategy>("cudnn:graph", first_plan, graph, context));
  list.push_back(std::make_unique<GraphStrategy>("cudnn:graph-best", fastest_plan, graph, context));
}

}  // namespace strata::cuda
