// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/bounds/flow.hpp"

#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"

#include <algorithm>
#include <utility>

namespace strata {

void FlowNetwork::add_arc(FlowNode from, FlowNode to, std::int64_t most, std::int64_t cost,
                          std::int64_t least) {
  STRATA_CHECK(from < nodes_ && to < nodes_ && 0 <= least && least <= most, "a flow arc is wrong");
  arcs_.push_back({from, to, most, least, cost});
}

/// The residual network and the search in it (primal-dual: potentials keep all lengths
/// non-negative; what is tight is filled by blocking flows on levels, as Dinic does).
class FlowSearch {
 public:
  struct Link {
    FlowNode to = 0;
    std::uint32_t twin = 0;  ///< the link back
    std::int64_t left = 0;
    std::int64_t cost = 0;
  };

  FlowSearch(FlowNode nodes, std::span<const FlowNetwork::Arc> arcs, FlowNode source, FlowNode sink)
      : source_(source),
        sink_(sink),
        first_(nodes + 1),
        links_(2 * arcs.size()),
        potential_(nodes),
        level_(nodes),
        next_(nodes) {
    for (const FlowNetwork::Arc& arc : arcs) {
      ++first_[arc.from + 1];
      ++first_[arc.to + 1];
    }
    for (FlowNode node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
    std::vector<std::uint32_t> place(first_.begin(), first_.end() - 1);
    for (const FlowNetwork::Arc& arc : arcs) {
      const std::uint32_t forth = place[arc.from]++;
      const std::uint32_t back = place[arc.to]++;
      links_[forth] = {arc.to, back, arc.most - arc.least, arc.cost};
      links_[back] = {arc.from, forth, 0, -arc.cost};
    }
  }

  /// Lengths from the source where every arc leads to a higher node: makes all arcs non-negative.
  void start_from_lengths() {
    std::fill(potential_.begin(), potential_.end(), no_limit);
    potential_[source_] = 0;
    for (FlowNode node = 0; node + 1 < first_.size(); ++node) {
      if (potential_[node] == no_limit) continue;
      for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
        const Link& link = links_[i];
        if (link.left > 0)
          potential_[link.to] = std::min(potential_[link.to], potential_[node] + link.cost);
      }
    }
    for (std::int64_t& potential : potential_)
      if (potential == no_limit) potential = potential_[sink_];
  }

  /// Raises the potentials until the sink is at length 0. False: no way is left.
  bool reach_sink() {
    if (spread_levels()) return true;
    return raise_potentials() && spread_levels();
  }

  std::int64_t length() const { return potential_[sink_] - potential_[source_]; }

  /// Fills the levels found by reach_sink with up to `limit` units.
  std::int64_t fill(std::int64_t limit) {
    std::copy(first_.begin(), first_.end() - 1, next_.begin());
    std::int64_t sent = 0;
    while (sent < limit) {
      const std::int64_t more = send_one_path(limit - sent);
      if (more == 0) break;
      sent += more;
    }
    return sent;
  }

 private:
  std::int64_t reduced(FlowNode from, const Link& link) const {
    return link.cost + potential_[from] - potential_[link.to];
  }

  /// Breadth first from the sink over tight links: level = links to go.
  bool spread_levels() {
    std::fill(level_.begin(), level_.end(), 0);
    queue_.clear();
    level_[sink_] = 1;
    queue_.push_back(sink_);
    for (std::size_t at = 0; at < queue_.size(); ++at) {
      const FlowNode node = queue_[at];
      for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
        const Link& back = links_[i];
        if (level_[back.to] != 0) continue;
        const Link& link = links_[back.twin];
        if (link.left == 0 || reduced(back.to, link) != 0) continue;
        level_[back.to] = level_[node] + 1;
        if (back.to == source_) return true;
        queue_.push_back(back.to);
      }
    }
    return false;
  }

  /// Dial's shortest lengths to the sink, starting from what spread_levels reached (length 0).
  bool raise_potentials() {
    distance_.assign(first_.size() - 1, no_limit);
    buckets_.clear();
    put(0, {});
    buckets_[0].assign(queue_.begin(), queue_.end());
    for (const FlowNode node : queue_) distance_[node] = 0;
    bool is_found = false;
    for (std::size_t length = 0; length < buckets_.size() && !is_found; ++length) {
      for (std::size_t at = 0; at < buckets_[length].size(); ++at) {
        const FlowNode node = buckets_[length][at];
        if (distance_[node] != static_cast<std::int64_t>(length)) continue;
        if (node == source_) is_found = true;
        relax_into(node);
      }
    }
    if (!is_found) return false;
    const std::int64_t to_source = distance_[source_];
    for (FlowNode node = 0; node + 1 < first_.size(); ++node)
      potential_[node] -= std::min(distance_[node], to_source);
    return true;
  }

  void relax_into(FlowNode node) {
    for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
      const Link& back = links_[i];
      const Link& link = links_[back.twin];
      if (link.left == 0) continue;
      const std::int64_t length = distance_[node] + reduced(back.to, link);
      if (length >= distance_[back.to]) continue;
      distance_[back.to] = length;
      put(length, back.to);
    }
  }

  void put(std::int64_t length, FlowNode node) {
    const auto index = static_cast<std::size_t>(length);
    if (buckets_.size() <= index) buckets_.resize(index + 1);
    buckets_[index].push_back(node);
  }

  /// Follows tight links down the levels; dead ends are left behind for good.
  std::int64_t send_one_path(std::int64_t limit) {
    path_.clear();
    FlowNode node = source_;
    while (node != sink_) {
      std::uint32_t& i = next_[node];
      while (i < first_[node + 1] && !leads_down(node, links_[i])) ++i;
      if (i < first_[node + 1]) {
        path_.push_back(i);
        node = links_[i].to;
        continue;
      }
      if (path_.empty()) return 0;
      node = links_[links_[path_.back()].twin].to;
      path_.pop_back();
      ++next_[node];
    }
    std::int64_t amount = limit;
    for (const std::uint32_t i : path_) amount = std::min(amount, links_[i].left);
    for (const std::uint32_t i : path_) {
      links_[i].left -= amount;
      links_[links_[i].twin].left += amount;
    }
    return amount;
  }

  bool leads_down(FlowNode node, const Link& link) const {
    return link.left > 0 && level_[link.to] + 1 == level_[node] && level_[link.to] != 0 &&
           reduced(node, link) == 0;
  }

  FlowNode source_;
  FlowNode sink_;
  std::vector<std::uint32_t> first_;
  std::vector<Link> links_;
  std::vector<std::int64_t> potential_;
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> next_;
  std::vector<std::int64_t> distance_;
  std::vector<FlowNode> queue_;
  std::vector<std::vector<FlowNode>> buckets_;
  std::vector<std::uint32_t> path_;
};

std::vector<FlowPiece> FlowNetwork::cheapest_first(std::int64_t limit,
                                                   std::int64_t stop_cost) const {
  FlowSearch search(nodes_, arcs_, 0, nodes_ - 1);
  search.start_from_lengths();
  std::vector<FlowPiece> pieces;
  while (limit > 0 && search.reach_sink() && search.length() < stop_cost) {
    const std::int64_t sent = search.fill(limit);
    limit -= sent;
    if (!pieces.empty() && pieces.back().cost == search.length())
      pieces.back().amount = checked_add(pieces.back().amount, sent);
    else
      pieces.push_back({sent, search.length()});
  }
  return pieces;
}

std::int64_t FlowNetwork::least_cost(std::int64_t amount) const {
  // Take the least of every arc and all of every arc that pays; what then is too much or too little
  // at a node finds its way at costs that are not negative.
  std::vector<Arc> arcs = arcs_;
  std::vector<Count> excess(nodes_);
  excess.front() += amount;
  excess.back() += -amount;
  Count cost = 0;
  for (Arc& arc : arcs) {
    const std::int64_t sent = arc.cost < 0 ? arc.most : arc.least;
    cost += Count(sent) * arc.cost;
    excess[arc.from] += -sent;
    excess[arc.to] += sent;
    arc.most -= arc.least;
    arc.least = 0;
    if (arc.cost < 0) arc = {arc.to, arc.from, arc.most, 0, -arc.cost};
  }
  const FlowNode source = nodes_;
  const FlowNode sink = nodes_ + 1;
  std::int64_t missing = 0;
  for (FlowNode node = 0; node < nodes_; ++node) {
    const std::int64_t here = excess[node].value();
    if (here > 0) arcs.push_back({source, node, here, 0, 0});
    if (here < 0) arcs.push_back({node, sink, -here, 0, 0});
    missing = checked_add(missing, std::max<std::int64_t>(here, 0));
  }
  FlowSearch search(nodes_ + 2, arcs, source, sink);
  while (missing > 0) {
    STRATA_CHECK(search.reach_sink(), "the arcs of a bound do not let the capacity through");
    const std::int64_t sent = search.fill(missing);
    missing -= sent;
    cost += Count(sent) * search.length();
  }
  return cost.value();
}

}  // namespace strata
