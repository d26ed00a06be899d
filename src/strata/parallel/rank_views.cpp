// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/rank_views.hpp"

#include "strata/base/error.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace strata {
namespace {

/// Words and positions of a rank: each kind of layer has its own.
class ViewMaker {
 public:
  ViewMaker(const SplitGraph& split, const Binding& binding, const Strategy& strategy)
      : split_(split), binding_(binding), strategy_(strategy) {
    if (strategy.context > 1)
      context_ = split_context(split.graph, binding, strategy.context, strategy.exchange);
    if (strategy.expert > 1) {
      views_.experts = find_experts(split.graph);
      check_experts(split.graph, views_.experts, strategy.expert);
    }
    if (strategy.sequence_parallel) length_ = length_for_sequence_parallelism();
    if (strategy.context > 1) length_ = context_.length;
  }

  RankViews make() && {
    run_of(1, strategy_.context);  // the first
    const std::size_t nodes = split_.graph.nodes.size();
    views_.nodes.resize(nodes);
    for (NodeId id = 0; id < nodes; ++id) views_.nodes[id] = view_of(id);
    views_.attention = std::move(context_.attention);
    return std::move(views_);
  }

 private:
  std::string length_for_sequence_parallelism() const {
    const auto length = sequence_length(split_.graph, binding_);
    const std::int64_t ranks = strategy_.tensor * strategy_.context;
    if (!length || binding_.at(*length) % ranks != 0)
      fail(ErrorKind::unsupported, "sp=yes: {} needs a sequence length that tp{}={} divides{}",
           split_.graph.name, strategy_.context > 1 ? " x cp" : "", ranks,
           length ? "" : ", and its length is fixed");
    return *length;
  }

  /// Norms, dropout and sums outside the split products have a share of the sequence.
  bool is_beside_products(NodeId id) const {
    return strategy_.sequence_parallel && !split_.is_split[id];
  }

  NodeView view_of(NodeId id) {
    if (strategy_.context > 1 && context_.has_pairs[id]) {
      const bool is_ring = std::holds_alternative<Attention>(split_.graph.nodes[id].op) &&
                           strategy_.exchange == ContextExchange::ring;
      return {.run = run_of(1, 1),
              .share = 1 / static_cast<double>(strategy_.context),
              .parts = is_ring ? strategy_.context : 1};
    }
    const std::int64_t parts = strategy_.context * (is_beside_products(id) ? strategy_.tensor : 1);
    if (strategy_.expert == 1) return {.run = run_of(1, parts)};
    const ExpertPlace& place = views_.experts.places[id];
    return {.run = run_of(place.is_expert() ? strategy_.expert : 1, parts),
            .is_absent = !stays(views_.experts, place, strategy_.expert)};
  }

  /// The network with so many times the samples and one of so many parts of the sequence.
  std::uint32_t run_of(std::int64_t times, std::int64_t parts) {
    const std::pair sizes(times, parts);
    const auto found = std::find(sizes_.begin(), sizes_.end(), sizes);
    if (found != sizes_.end()) return static_cast<std::uint32_t>(found - sizes_.begin());
    sizes_.push_back(sizes);
    Binding binding = binding_;
    if (times > 1) binding["batch"] *= times;
    if (parts > 1) binding[length_] /= parts;
    views_.runs.push_back(std::move(binding));
    return static_cast<std::uint32_t>(sizes_.size() - 1);
  }

  const SplitGraph& split_;
  const Binding& binding_;
  const Strategy& strategy_;
  ContextSplit context_;
  std::string length_;
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes_;  // of each run
  RankViews views_;
};

}  // namespace

RankViews rank_views(const SplitGraph& split, const Binding& binding, const Strategy& strategy) {
  return ViewMaker(split, binding, strategy).make();
}

}  // namespace strata
