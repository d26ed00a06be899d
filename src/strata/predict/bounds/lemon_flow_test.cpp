// SPDX-License-Identifier: Apache-2.0
// LEMON's network simplex finds the same flows by another method, and knows nothing of ours.
#include "strata/predict/bounds/flow.hpp"

#include <gtest/gtest.h>
#include <lemon/list_graph.h>
#include <lemon/network_simplex.h>

#include <random>
#include <vector>

namespace strata {
namespace {

struct TestArc {
  FlowNode from = 0;
  FlowNode to = 0;
  std::int64_t most = 0;
  std::int64_t cost = 0;
  std::int64_t least = 0;
};

/// A path that always lets everything through, and arcs along it that pay.
std::vector<TestArc> random_arcs(std::mt19937& random, FlowNode nodes, bool has_least) {
  const auto below = [&](std::uint32_t limit) { return static_cast<FlowNode>(random() % limit); };
  std::vector<TestArc> arcs;
  for (FlowNode node = 0; node + 1 < nodes; ++node)
    arcs.push_back({node, node + 1, 1'000'000, 0, has_least ? below(30) : 0});
  for (FlowNode i = 0; i < 4 * nodes; ++i) {
    const FlowNode from = below(nodes - 1);
    const FlowNode to = from + 1 + below(nodes - 1 - from);
    arcs.push_back({from, to, 1 + below(40), -static_cast<std::int64_t>(below(3)), 0});
  }
  return arcs;
}

FlowNetwork network_of(FlowNode nodes, const std::vector<TestArc>& arcs) {
  FlowNetwork network(nodes);
  for (const TestArc& arc : arcs) network.add_arc(arc.from, arc.to, arc.most, arc.cost, arc.least);
  return network;
}

std::int64_t cost_by_lemon(FlowNode nodes, const std::vector<TestArc>& arcs, std::int64_t amount) {
  lemon::ListDigraph graph;
  std::vector<lemon::ListDigraph::Node> places;
  for (FlowNode node = 0; node < nodes; ++node) places.push_back(graph.addNode());
  lemon::ListDigraph::ArcMap<std::int64_t> most(graph);
  lemon::ListDigraph::ArcMap<std::int64_t> least(graph);
  lemon::ListDigraph::ArcMap<std::int64_t> cost(graph);
  for (const TestArc& arc : arcs) {
    const auto added = graph.addArc(places[arc.from], places[arc.to]);
    most[added] = arc.most;
    least[added] = arc.least;
    cost[added] = arc.cost;
  }
  lemon::NetworkSimplex<lemon::ListDigraph, std::int64_t> simplex(graph);
  simplex.lowerMap(least).upperMap(most).costMap(cost).stSupply(places.front(), places.back(),
                                                                amount);
  EXPECT_EQ(simplex.run(), simplex.OPTIMAL);
  return simplex.totalCost();
}

TEST(Flow, of_one_amount_costs_what_network_simplex_finds) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto nodes = static_cast<FlowNode>(2 + random() % 30);
    const std::vector<TestArc> arcs = random_arcs(random, nodes, round % 2 == 0);
    const std::int64_t amount = 30 + static_cast<std::int64_t>(random() % 200);
    EXPECT_EQ(network_of(nodes, arcs).least_cost(amount), cost_by_lemon(nodes, arcs, amount))
        << round;
  }
}

TEST(Flow, cheapest_first_costs_what_network_simplex_finds_at_every_amount) {
  std::mt19937 random(2);
  for (int round = 0; round < 40; ++round) {
    const auto nodes = static_cast<FlowNode>(2 + random() % 20);
    const std::vector<TestArc> arcs = random_arcs(random, nodes, false);
    std::int64_t amount = 0;
    std::int64_t cost = 0;
    for (const FlowPiece& piece : network_of(nodes, arcs).cheapest_first(no_limit, 0)) {
      EXPECT_EQ(cost + piece.cost, cost_by_lemon(nodes, arcs, amount + 1)) << round;
      amount += piece.amount;
      cost += piece.amount * piece.cost;
      EXPECT_EQ(cost, cost_by_lemon(nodes, arcs, amount)) << round;
    }
    EXPECT_EQ(cost, cost_by_lemon(nodes, arcs, amount + 1'000)) << "more brings nothing";
  }
}

}  // namespace
}  // namespace strata
