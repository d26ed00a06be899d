// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/training/losses.hpp"
#include "strata/training/node_steps.hpp"
#include "strata/training/recompute.hpp"
#include "strata/training/recorded_program.hpp"
#include "strata/training/recurrent_run.hpp"
#include "strata/training/step_limit.hpp"
#include "strata/training/updates.hpp"

#include <memory>

namespace strata {
namespace {

std::int64_t batch_of(const BoundGraph& bound) {
  if (const auto batch = bound.binding.find("batch"); batch != bound.binding.end())
    return batch->second;
  for (const TensorId input : bound.graph->inputs) {
    if (bound.tensors[input].axes() > 0) return bound.tensors[input][0];
  }
  return 1;
}

class Iteration {
 public:
  Iteration(const BoundGraph& bound, const TrainingOptions& options)
      : builder_(bound, options), nodes_(builder_), recurrent_(builder_), losses_(builder_) {
    if (!options.inference) segments_ = segments_of(builder_, nodes_);
  }

  Program program() && {
    const std::int64_t rounds = builder_.options.inference ? 1 : builder_.options.micro_batches;
    for (std::int64_t round = 0; round < rounds; ++round) {
      if (round > 0) builder_.values.forget_features();
      run_forward();
      if (!builder_.options.inference) run_backward();
      // The counts of one round tell those of all.
      if (round == 0)
        require_few_steps(static_cast<std::int64_t>(builder_.writer.step_count()), rounds);
    }
    std::vector<ValueId> gradients(builder_.graph.tensors.size(), no_value);
    if (!builder_.options.inference) gradients = write_updates(builder_);
    Program program = builder_.writer.finish((Count(batch_of(builder_.bound)) * rounds).value());
    program.roots = builder_.unrolling.root;
    program.gradients = std::move(gradients);
    return program;
  }

 private:
  void run_forward() {
    for (const Instance& instance : builder_.unrolling.instances) run_forward(instance, false);
    losses_.forward();
  }

  void run_forward(const Instance& instance, bool is_recomputed) {
    if (recurrent_.takes(instance.node)) {
      recurrent_.forward(instance, is_recomputed);
    } else {
      nodes_.forward(instance, is_recomputed);
    }
  }

  void run_backward(const Instance& instance) {
    if (recurrent_.takes(instance.node)) {
      recurrent_.backward(instance);
    } else {
      nodes_.backward(instance);
    }
  }

  void run_backward() {
    losses_.backward();
    for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
      for (const TensorId tensor : segment->dropped) builder_.values.forget(tensor);
      for (const Instance& instance : segment->again) run_forward(instance, true);
      for (std::size_t i = segment->end; i-- > segment->first;)
        run_backward(builder_.unrolling.instances[i]);
    }
  }

  ProgramBuilder builder_;
  NodeSteps nodes_;
  RecurrentRuns recurrent_;
  Losses losses_;
  std::vector<Segment> segments_;
};

}  // namespace

Program make_program(const BoundGraph& bound, const TrainingOptions& options) {
  if (bound.graph->recording != nullptr) return recorded_program(bound);
  if (options.micro_batches < 1)
    fail(ErrorKind::usage, "{} micro-batches: at least 1 is needed", options.micro_batches);
  require_few_steps(least_steps(bound, options));
  return Iteration(bound, options).program();
}

}  // namespace strata
