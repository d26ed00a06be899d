// SPDX-License-Identifier: Apache-2.0
#include "strata/training/reuse.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <cstddef>

namespace strata {
namespace {

constexpr std::uint32_t never = ~std::uint32_t{0};

bool is_before_loss(const Step& step) { return step.pass == Pass::forward && !step.is_recomputed; }

bool is_weight(ValueKind kind) {
  return kind == ValueKind::weight || kind == ValueKind::weight_gradient;
}

ReuseScope scope_of(const Program& program, ValueKind kind, StepId first, StepId second) {
  const Step& from = program.steps[first];
  const Step& to = program.steps[second];
  const bool is_same_phase = is_before_loss(from) == is_before_loss(to);
  const bool has_time = from.time > 0 && to.time > 0 && from.time != to.time;
  if (is_weight(kind) && is_same_phase && has_time && from.node == to.node)
    return ReuseScope::recurrent;
  if (is_before_loss(from) && !is_before_loss(to)) return ReuseScope::forward_backward;
  return second == first + 1 ? ReuseScope::adjacent : ReuseScope::block;
}

class LayerSums {
 public:
  LayerSums(const Program& program, const std::vector<ReuseInterval>& intervals)
      : program_(program),
        layers_(program.bound->graph->nodes.size()),
        passing_(program.steps.size() + 1, 0),
        last_run_(program.values.size(), never) {
    for (NodeId node = 0; node < layers_.size(); ++node) layers_[node].node = node;
    add_what_passes(intervals);
    add_steps();
    add_what_stays(intervals);
  }

  std::vector<LayerReuse> take() && { return std::move(layers_); }

 private:
  std::int64_t bytes_of(ValueId value) const { return program_.values[value].bytes; }

  // Values kept for a block, strictly between their two steps: first as differences.
  void add_what_passes(const std::vector<ReuseInterval>& intervals) {
    for (const ReuseInterval& interval : intervals) {
      if (interval.scope != ReuseScope::block) continue;
      const std::int64_t bytes = bytes_of(program_.uses[interval.use].value);
      std::int64_t& begin = passing_[interval.step + std::size_t{1}];
      std::int64_t& end = passing_[interval.next_step];
      begin = checked_add(begin, bytes);
      end = checked_add(end, -bytes);
    }
    for (std::size_t i = 1; i < passing_.size(); ++i)
      passing_[i] = checked_add(passing_[i], passing_[i - 1]);
  }

  void add_steps() {
    std::int64_t run_bytes = 0;
    std::uint32_t run = never;
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      const Step& step = program_.steps[id];
      if (!continues_run(id)) {
        ++run;  // from never to 0 first
        run_bytes = 0;
      }
      std::int64_t bytes = 0;
      for (const Use& use : program_.uses_of(id)) {
        bytes = checked_add(bytes, bytes_of(use.value));
        if (last_run_[use.value] != run) run_bytes = checked_add(run_bytes, bytes_of(use.value));
        last_run_[use.value] = run;
      }
      if (step.node == no_node || step.pass == Pass::update) continue;
      LayerReuse& layer = layers_[step.node];
      add_step(is_before_loss(step) ? layer.forward : layer.backward, step, bytes, passing_[id]);
      if (is_cell(step)) layer.recurrent_bytes = std::max(layer.recurrent_bytes, run_bytes);
    }
  }

  static void add_step(PassReuse& pass, const Step& step, std::int64_t bytes,
                       std::int64_t passing) {
    pass.flop = checked_add(pass.flop, step.flop);
    pass.mac = checked_add(pass.mac, step.mac);
    pass.touched_bytes = checked_add(pass.touched_bytes, bytes);
    pass.adjacent_bytes = std::max(pass.adjacent_bytes, bytes);
    pass.block_bytes = std::max(pass.block_bytes, checked_add(bytes, passing));
  }

  bool is_cell(const Step& step) const {
    return step.time > 0 &&
           std::holds_alternative<Recurrent>(program_.bound->graph->nodes[step.node].op);
  }

  // Steps of one cell follow each other.
  bool continues_run(StepId id) const {
    if (id == 0) return false;
    const Step& step = program_.steps[id];
    const Step& before = program_.steps[id - 1];
    return step.node == before.node && step.time == before.time &&
           is_before_loss(step) == is_before_loss(before);
  }

  void add_what_stays(const std::vector<ReuseInterval>& intervals) {
    std::vector<StepId> first_step(program_.values.size(), never);
    for (StepId id = 0; id < program_.steps.size(); ++id) {
      for (const Use& use : program_.uses_of(id)) {
        if (first_step[use.value] == never) first_step[use.value] = id;
      }
    }
    for (const ReuseInterval& interval : intervals) {
      if (interval.scope != ReuseScope::forward_backward) continue;
      const ValueId value = program_.uses[interval.use].value;
      const NodeId node = program_.steps[first_step[value]].node;
      if (node == no_node) continue;
      std::int64_t& bytes = layers_[node].forward_backward_bytes;
      bytes = checked_add(bytes, bytes_of(value));
    }
  }

  const Program& program_;
  std::vector<LayerReuse> layers_;
  std::vector<std::int64_t> passing_;    // by step
  std::vector<std::uint32_t> last_run_;  // by value: the cell that used it last
};

}  // namespace

std::string_view name_of(ReuseScope scope) {
  switch (scope) {
    case ReuseScope::recurrent: return "recurrent";
    case ReuseScope::forward_backward: return "forward-backward";
    case ReuseScope::adjacent: return "adjacent";
    case ReuseScope::block: return "block";
  }
  fail(ErrorKind::internal, "reuse scope {} has no name", static_cast<int>(scope));
}

std::vector<ReuseInterval> reuse_intervals(const Program& program) {
  struct Last {
    std::uint32_t use = never;
    StepId step = 0;
  };
  std::vector<Last> last(program.values.size());
  std::vector<ReuseInterval> intervals;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    for (const Use& use : program.uses_of(step)) {
      const auto index = static_cast<std::uint32_t>(&use - program.uses.data());
      const Last before = last[use.value];
      last[use.value] = {index, step};
      if (before.use == never || !use.reads) continue;
      const ReuseScope scope = scope_of(program, program.values[use.value].kind, before.step, step);
      intervals.push_back({before.use, index, before.step, step, scope});
    }
  }
  return intervals;
}

std::array<std::int64_t, reuse_scopes> offered_bytes(const Program& program,
                                                     const std::vector<ReuseInterval>& intervals) {
  std::array<std::int64_t, reuse_scopes> bytes{};
  for (const ReuseInterval& interval : intervals) {
    std::int64_t& sum = bytes[static_cast<std::size_t>(interval.scope)];
    sum = checked_add(sum, program.values[program.uses[interval.use].value].bytes);
  }
  return bytes;
}

std::vector<LayerReuse> layer_reuse(const Program& program,
                                    const std::vector<ReuseInterval>& intervals) {
  if (program.bound == nullptr) return {};
  return LayerSums(program, intervals).take();
}

}  // namespace strata
