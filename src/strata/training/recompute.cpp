// SPDX-License-Identifier: Apache-2.0
#include "strata/training/recompute.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace strata {
namespace {

constexpr std::size_t no_maker = ~std::size_t{0};

class Segmentation {
 public:
  Segmentation(const ProgramBuilder& builder, NodeSteps& nodes)
      : builder_(builder),
        nodes_(nodes),
        instances_(builder.unrolling.instances),
        segment_of_(instances_.size()),
        made_at_(builder.bound.tensors.size(), no_maker),
        is_kept_(builder.bound.tensors.size(), false) {}

  std::vector<Segment> segments() && {
    cut();
    if (builder_.options.recompute == Recompute::none) return std::move(segments_);
    find_what_leaves();
    for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
      if (segments_[i].end - segments_[i].first > 1) choose(segments_[i]);
    }
    return std::move(segments_);
  }

 private:
  const Node& node_at(std::size_t place) const {
    return builder_.graph.nodes[instances_[place].node];
  }
  TensorId root(TensorId tensor) const { return builder_.unrolling.root[tensor]; }

  bool joins(std::size_t place, std::size_t first) const {
    switch (builder_.options.recompute) {
      case Recompute::none: return true;
      case Recompute::all: {
        const double size = std::sqrt(static_cast<double>(instances_.size()));
        return static_cast<double>(place - first) < size;
      }
      case Recompute::blocks: {
        const std::string& block = node_at(place).block;
        return !block.empty() && block == node_at(first).block;
      }
    }
    return false;
  }

  void cut() {
    for (std::size_t place = 0; place < instances_.size(); ++place) {
      if (segments_.empty() || !joins(place, segments_.back().first))
        segments_.push_back({place, place, {}, {}});
      segments_.back().end = place + 1;
      segment_of_[place] = segments_.size() - 1;
    }
  }

  void find_what_leaves() {
    for (std::size_t place = 0; place < instances_.size(); ++place) {
      for (const TensorId output : node_at(place).outputs) made_at_[output] = place;
    }
    for (const TensorId output : builder_.graph.outputs) is_kept_[root(output)] = true;
    for (std::size_t place = 0; place < instances_.size(); ++place) {
      for (const TensorId input : node_at(place).inputs) {
        const std::size_t maker = made_at_[root(input)];
        if (maker != no_maker && segment_of_[maker] != segment_of_[place])
          is_kept_[root(input)] = true;
      }
    }
  }

  // Where the tensor is made again for this segment, if it is.
  std::size_t maker_in(const Segment& segment, TensorId tensor) const {
    const std::size_t maker = made_at_[root(tensor)];
    const bool is_inside = maker != no_maker && maker >= segment.first && maker < segment.end;
    return is_inside && !is_kept_[root(tensor)] ? maker : no_maker;
  }

  bool keeps_all_outputs(std::size_t place) const {
    const std::vector<TensorId>& outputs = node_at(place).outputs;
    return std::all_of(outputs.begin(), outputs.end(),
                       [&](TensorId output) { return is_kept_[root(output)]; });
  }

  void choose(Segment& segment) {
    std::vector<bool> is_needed(segment.end - segment.first, false);
    const auto need = [&](std::size_t maker) {
      if (maker != no_maker) is_needed[maker - segment.first] = true;
    };
    for (std::size_t place = segment.first; place < segment.end; ++place) {
      const NodeCost cost = nodes_.cost(instances_[place].node);
      for (const PassCost* pass : {&cost.backward_input, &cost.backward_weight}) {
        for (const Access& access : pass->accesses) {
          if (access.mode != AccessMode::read) continue;
          if (access.operand == Operand::input)
            need(maker_in(segment, node_at(place).inputs[access.index]));
          if (access.operand == Operand::output)
            need(maker_in(segment, node_at(place).outputs[access.index]));
          // A mask or statistics of a node whose outputs all stay stays with them.
          if (access.operand == Operand::saved && !keeps_all_outputs(place)) need(place);
        }
      }
    }
    for (std::size_t place = segment.end; place-- > segment.first;) {
      if (!is_needed[place - segment.first]) continue;
      for (const TensorId input : node_at(place).inputs) need(maker_in(segment, input));
    }
    for (std::size_t place = segment.first; place < segment.end; ++place) {
      if (!is_needed[place - segment.first]) continue;
      segment.again.push_back(instances_[place]);
      for (const TensorId output : node_at(place).outputs) {
        if (!is_kept_[root(output)]) segment.dropped.push_back(output);
      }
    }
  }

  const ProgramBuilder& builder_;
  NodeSteps& nodes_;
  const std::vector<Instance>& instances_;
  std::vector<std::size_t> segment_of_;  // of every instance
  std::vector<std::size_t> made_at_;     // the instance that makes each root
  std::vector<bool> is_kept_;            // roots
  std::vector<Segment> segments_;
};

}  // namespace

std::vector<Segment> segments_of(const ProgramBuilder& builder, NodeSteps& nodes) {
  const std::vector<Instance>& instances = builder.unrolling.instances;
  const bool runs_by_time = std::any_of(instances.begin(), instances.end(),
                                        [](const Instance& one) { return one.time > 0; });
  if (builder.options.recompute != Recompute::none && runs_by_time) {
    fail(ErrorKind::unsupported,
         "recomputation does not go with recurrent layers in time-major order, where no layer ends "
         "before the others; use the layer-major order");
  }
  return Segmentation(builder, nodes).segments();
}

}  // namespace strata
