// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/allocated_memory.hpp"

#include "strata/base/checked.hpp"
#include "strata/framework/kernel_dims.hpp"
#include "strata/framework/tensor_types.hpp"
#include "strata/predict/expected/recorded_memory.hpp"

#include <algorithm>
#include <vector>

namespace strata {
namespace {

constexpr StepId never_used = ~StepId{0};

/// Allocators hand out whole blocks.
std::int64_t block_bytes(std::int64_t bytes) { return (bytes + 511) / 512 * 512; }

/// When each value is first and last used.
struct Lifetimes {
  std::vector<StepId> first, last;

  explicit Lifetimes(const Program& program)
      : first(program.values.size(), never_used), last(program.values.size(), 0) {
    for (StepId step = 0; step < program.steps.size(); ++step) {
      for (const Use& use : program.uses_of(step)) {
        if (first[use.value] == never_used) first[use.value] = step;
        last[use.value] = step;
      }
    }
  }

  /// What a value that is never stored is made of is read where that value would be.
  void keep_for(const Program& program, const std::vector<bool>& never_stored) {
    for (StepId step = static_cast<StepId>(program.steps.size()); step-- > 0;) {
      StepId until = 0;
      for (const Use& use : program.uses_of(step)) {
        if (use.writes && never_stored[use.value]) until = std::max(until, last[use.value]);
      }
      for (const Use& use : program.uses_of(step)) {
        if (use.reads) last[use.value] = std::max(last[use.value], until);
      }
    }
  }
};

/// Adds up what is allocated over the steps of a program.
class AllocatedMemory {
 public:
  AllocatedMemory(const Program& program, const Framework& framework,
                  const FrameworkOptions& options, const std::vector<bool>& never_stored)
      : program_(program),
        bound_(*program.bound),
        framework_(framework),
        options_(options),
        never_stored_(never_stored),
        types_(tensor_types(bound_, framework, options.autocast)),
        change_(program.steps.size() + 1, 0) {}

  std::vector<std::int64_t> bytes() {
    add_values();
    add_saved();
    std::vector<std::int64_t> bytes = at_steps();
    for (std::int64_t& at_step : bytes) at_step += held_;
    return bytes;
  }

  ActivationMemory activations() {
    counts_gradients_ = false;
    result_.saved_by_node.assign(bound_.graph->nodes.size(), 0);
    result_.scores_by_node.assign(bound_.graph->nodes.size(), 0);
    add_values();
    add_saved();
    result_.at_steps = at_steps();
    return std::move(result_);
  }

 private:
  /// Beyond what is held all the time.
  std::vector<std::int64_t> at_steps() const {
    std::vector<std::int64_t> bytes;
    std::int64_t now = 0;
    for (std::size_t step = 0; step + 1 < change_.size(); ++step) {
      now += change_[step];
      bytes.push_back(now);
    }
    return bytes;
  }

  bool is_forward(StepId id) const {
    return program_.steps[id].pass == Pass::forward && !program_.steps[id].is_recomputed;
  }

  /// Bytes that live from one step to another: those that pass from forward to backward are saved.
  void note_saved(StepId first, StepId last, std::int64_t bytes) {
    if (counts_gradients_ || !is_forward(first) || is_forward(last)) return;
    const NodeId node = program_.steps[first].node;
    (node == no_node ? result_.saved_by_loss : result_.saved_by_node[node]) += bytes;
  }

  void add_values() {
    Lifetimes lifetimes(program_);
    if (!never_stored_.empty()) lifetimes.keep_for(program_, never_stored_);
    // A framework has weights and their gradients whole, where the program has gates of them apart
    // or the rows of a table that a micro-batch reads; and the inputs of one micro-batch at a time.
    std::vector<bool> is_held(bound_.tensors.size(), false);
    std::vector<bool> has_gradient(bound_.tensors.size(), false);
    for (ValueId id = 0; id < program_.values.size(); ++id) {
      const Value& value = program_.values[id];
      if (value.is_given) {
        const bool is_weight = value.kind == ValueKind::weight;
        const bool is_once = is_weight || value.kind == ValueKind::input;
        if (is_once && is_held[value.tensor]) continue;
        if (is_once) is_held[value.tensor] = true;
        hold(value, is_weight ? bound_.tensors[value.tensor].bytes : stored_bytes(value));
        continue;
      }
      if (lifetimes.first[id] == never_used) continue;
      if (!never_stored_.empty() && never_stored_[id]) continue;
      if (value.kind == ValueKind::weight_gradient) {
        if (!counts_gradients_ || has_gradient[value.tensor]) continue;
        has_gradient[value.tensor] = true;  // until the next iteration drops it
        change_[lifetimes.first[id]] += block_bytes(bound_.tensors[value.tensor].bytes);
        continue;
      }
      const std::int64_t bytes = block_bytes(stored_bytes(value));
      note_saved(lifetimes.first[id], lifetimes.last[id], bytes);
      change_[lifetimes.first[id]] += bytes;
      change_[lifetimes.last[id] + 1] -= bytes;
    }
  }

  void hold(const Value& value, std::int64_t bytes) {
    held_ += block_bytes(bytes);
    // Autocast keeps a copy of each weight in 16 bits until backward is done.
    if (options_.autocast && value.kind == ValueKind::weight) held_ += block_bytes(bytes) / 2;
  }

  std::int64_t stored_bytes(const Value& value) const {
    const DType stored = bound_.tensors[value.tensor].dtype;
    const bool is_data = value.kind == ValueKind::feature || value.kind == ValueKind::gradient;
    if (!is_data || !is_floating(stored)) return value.bytes;
    return value.bytes / bytes_per_element(stored) * bytes_per_element(types_[value.tensor]);
  }

  /// What the framework's operators keep beyond what an operator needs, from its forward to its
  /// backward step.
  void add_saved() {
    add_loss();
    std::vector<StepId> forward(bound_.graph->nodes.size(), never_used);
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& step = program_.steps[id];
      if (step.node == no_node || step.pass == Pass::update) continue;
      if (step.pass == Pass::forward) {
        forward[step.node] = id;
        continue;
      }
      if (forward[step.node] == never_used) continue;
      const std::int64_t bytes = saved_bytes(step.node);
      note_saved(forward[step.node], id, bytes);
      if (!counts_gradients_ && is_forward(forward[step.node]))
        result_.scores_by_node[step.node] += saved_scores_bytes(step.node);
      change_[forward[step.node]] += bytes;
      change_[id + 1] -= bytes;
      forward[step.node] = never_used;
    }
  }

  /// The loss that training adds to a network without one keeps tensors as large as its input.
  void add_loss() {
    const OperatorRule* rule = framework_.find("softmax_cross_entropy");
    if (rule == nullptr || bound_.graph->outputs.empty()) return;
    StepId forward = never_used;
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& step = program_.steps[id];
      if (step.node != no_node || step.is_gradient_sum || step.pass == Pass::update) continue;
      if (step.pass == Pass::forward) {
        forward = id;
      } else if (forward != never_used) {
        const auto numbers =
            static_cast<double>(bound_.tensors[bound_.graph->outputs.front()].elements);
        double bytes = 0;  // in fp32, under autocast, too
        for (const SavedTensor& saved : rule->saves)
          bytes += (saved.numbers * 4 + saved.bytes) * numbers;
        note_saved(forward, id, static_cast<std::int64_t>(bytes));
        change_[forward] += static_cast<std::int64_t>(bytes);
        change_[id + 1] -= static_cast<std::int64_t>(bytes);
        return;
      }
    }
  }

  std::int64_t saved_bytes(NodeId id) const {
    return saved_bytes(id, [](RuleTensor) { return true; });
  }
  std::int64_t saved_scores_bytes(NodeId id) const {
    return saved_bytes(id, [](RuleTensor of) { return of == RuleTensor::scores; });
  }

  template <class IsMeant>
  std::int64_t saved_bytes(NodeId id, IsMeant is_meant) const {
    const BoundNode node{bound_, id};
    const OperatorRule* rule = rule_of(framework_, options_, *bound_.graph, node.node());
    if (rule == nullptr || node.node().outputs.empty()) return 0;
    const auto type_bytes =
        static_cast<double>(bytes_per_element(types_[node.node().outputs.front()]));
    double bytes = 0;
    for (const SavedTensor& saved : rule->saves) {
      if (is_meant(saved.of))
        bytes += (saved.numbers * type_bytes + saved.bytes) * elements_of(saved.of, node);
    }
    return static_cast<std::int64_t>(bytes);
  }

  const Program& program_;
  const BoundGraph& bound_;
  const Framework& framework_;
  const FrameworkOptions& options_;
  const std::vector<bool>& never_stored_;
  std::vector<DType> types_;
  std::vector<std::int64_t> change_;  // from one step to the next
  std::int64_t held_ = 0;             // all the time
  bool counts_gradients_ = true;      // of weights
  ActivationMemory result_;
};

}  // namespace

std::vector<std::int64_t> allocated_bytes(const Program& program, const Framework& framework,
                                          const FrameworkOptions& options,
                                          const std::vector<bool>& never_stored) {
  if (program.bound->graph->recording == nullptr)
    return AllocatedMemory(program, framework, options, never_stored).bytes();
  const std::vector<std::int64_t> held = recorded_memory_bytes(*program.bound->graph->recording);
  std::vector<std::int64_t> bytes(program.steps.size(), 0);
  for (std::size_t id = 0; id < held.size(); ++id) {
    std::int64_t& at_step = bytes[program.operation_steps[id]];
    at_step = std::max(at_step, held[id]);
  }
  return bytes;
}

void add_scratch(std::vector<std::int64_t>& bytes_at_steps, const FrameworkOperations& operations,
                 std::span<const KernelTime> kernels) {
  std::vector<double> most(bytes_at_steps.size(), 0);  // its kernels run one after the other
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    double& at_step = most[operations.operations[i].step];
    at_step = std::max(at_step, kernels[i].scratch_bytes);
  }
  constexpr double most_bytes = 1e18;  // of a network that no machine runs
  for (std::size_t step = 0; step < most.size(); ++step) {
    if (most[step] > 0)
      bytes_at_steps[step] = (Count(bytes_at_steps[step]) +
                              static_cast<std::int64_t>(std::min(most[step], most_bytes)))
                                 .value();
  }
}

std::int64_t allocated_memory_bytes(const Program& program, const Framework& framework,
                                    const FrameworkOptions& options,
                                    const FrameworkOperations& operations,
                                    std::span<const KernelTime> kernels) {
  std::vector<std::int64_t> bytes =
      allocated_bytes(program, framework, options, operations.never_stored);
  add_scratch(bytes, operations, kernels);
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

ActivationMemory activation_memory(const Program& program, const Framework& framework,
                                   const FrameworkOptions& options,
                                   const std::vector<bool>& never_stored) {
  return AllocatedMemory(program, framework, options, never_stored).activations();
}

}  // namespace strata
