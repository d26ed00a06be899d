// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/match_between_calls.hpp"

#include "strata/capture/order_match.hpp"

#include <algorithm>
#include <set>

namespace strata {
namespace {

/// A step of the program that no call stands for.
struct FreeStep {
  std::size_t position = 0;  ///< in the program
  LayerGroup group;
};

class GapMatcher {
 public:
  GapMatcher(const MatchInput& input, bool is_backward)
      : input_(input),
        is_backward_(is_backward),
        calls_(is_backward ? input.work.backward : input.work.forward),
        nodes_(is_backward ? input.backward : input.forward) {
    std::set<NodeId> called;
    for (const std::vector<NodeId>& nodes : nodes_) called.insert(nodes.begin(), nodes.end());
    const Program& program = input.model.program;
    first_.assign(input.model.graph().nodes.size(), no_index);
    last_.assign(input.model.graph().nodes.size(), no_index);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (step.pass == Pass::update || (step.pass != Pass::forward) != is_backward) continue;
      if (step.node != no_node && !step.is_gradient_sum) {
        if (first_[step.node] == no_index) first_[step.node] = i;
        last_[step.node] = i;
      }
      add_free(i, step, called);
    }
  }

  void find(std::vector<MatchedKernel>& found) const {
    std::size_t begin = 0;
    while (begin < calls_.size()) {
      if (!is_open(begin)) {
        ++begin;
        continue;
      }
      std::size_t end = begin;
      while (end < calls_.size() && is_open(end)) ++end;
      find_in(begin, end, found);
      begin = end;
    }
  }

 private:
  bool is_open(std::size_t entry) const {
    return calls_[entry].is_loose() && nodes_[entry].empty();
  }

  void add_free(std::size_t position, const Step& step, const std::set<NodeId>& called) {
    LayerGroup group{.is_backward = is_backward_};
    if (step.is_gradient_sum) {
      if (step.node == no_node) return;
      group.kind = GroupKind::gradient_sum;
      group.nodes = {step.node};
    } else if (step.node == no_node) {
      group.kind = GroupKind::loss;
    } else if (!called.contains(step.node) && input_.model.works[step.node]) {
      group.nodes = {step.node};
    } else {
      return;
    }
    // Several steps of one thing are one: sums of three gradients, an unrolled layer.
    const bool is_known = std::any_of(free_.begin(), free_.end(), [&](const FreeStep& other) {
      return other.group.kind == group.kind && other.group.nodes == group.nodes;
    });
    if (!is_known) free_.push_back({position, std::move(group)});
  }

  /// Where the program is after, or before, the call; nothing where the call has no layer.
  std::optional<std::size_t> position(std::size_t entry, bool is_end) const {
    std::optional<std::size_t> at;
    for (const NodeId node : nodes_[entry]) {
      const std::size_t one = is_end ? last_[node] : first_[node];
      if (one == no_index) continue;
      at = !at ? one : is_end ? std::max(*at, one) : std::min(*at, one);
    }
    return at;
  }

  void find_in(std::size_t begin, std::size_t end, std::vector<MatchedKernel>& found) const {
    const std::optional<std::size_t> after =
        begin == 0 ? std::optional<std::size_t>(0) : position(begin - 1, true);
    const std::optional<std::size_t> before =
        end == calls_.size() ? std::optional(no_index) : position(end, false);
    if (!after || !before) return;
    std::vector<const FreeStep*> candidates;
    for (const FreeStep& step : free_) {
      const bool is_behind = begin == 0 || step.position > *after;
      if (is_behind && step.position < *before) candidates.push_back(&step);
    }
    std::vector<std::size_t> kernels;
    for (std::size_t i = begin; i < end; ++i) {
      for (const std::size_t kernel : calls_[i].kernels)
        if (!is_too_late(kernel)) kernels.push_back(kernel);
    }
    if (candidates.size() == 1) {
      for (const std::size_t kernel : kernels) {
        if (may_be(kernel, *candidates.front()))
          found.push_back({kernel, candidates.front()->group});
      }
      return;
    }
    if (candidates.size() != kernels.size()) return;
    for (std::size_t i = 0; i < kernels.size(); ++i)
      if (!may_be(kernels[i], *candidates[i])) return;
    for (std::size_t i = 0; i < kernels.size(); ++i)
      found.push_back({kernels[i], candidates[i]->group});
  }

  /// What the host launches while or after gradients are computed is no part of the forward pass.
  bool is_too_late(std::size_t kernel) const {
    if (is_backward_ || input_.work.backward.empty()) return false;
    const std::size_t first = input_.work.backward.front().kernels.front();
    return input_.recording.kernels[kernel].time.start_ns >
           input_.recording.kernels[first].time.start_ns;
  }

  bool may_be(std::size_t kernel, const FreeStep& step) const {
    const std::string& name = input_.classes[input_.recording.kernels[kernel].name].name;
    switch (step.group.kind) {
      case GroupKind::gradient_sum: return name == "element_wise";
      case GroupKind::loss:
        return name == "loss" || name == "softmax" || name == "reduction" || name == "element_wise";
      case GroupKind::nodes:
        return is_backward_ ||
               can_be(input_.model.graph().nodes[step.group.nodes.front()].op, {name});
      case GroupKind::optimizer: break;
    }
    return false;
  }

  const MatchInput& input_;
  bool is_backward_;
  const std::vector<WorkCall>& calls_;
  const std::vector<std::vector<NodeId>>& nodes_;
  std::vector<FreeStep> free_;
  std::vector<std::size_t> first_;
  std::vector<std::size_t> last_;
};

}  // namespace

std::vector<MatchedKernel> kernels_between_calls(const MatchInput& input) {
  std::vector<MatchedKernel> found;
  GapMatcher(input, false).find(found);
  GapMatcher(input, true).find(found);
  return found;
}

}  // namespace strata
