// SPDX-License-Identifier: Apache-2.0
#include "strata/training/order.hpp"

#include "strata/graph/builder.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

std::vector<std::string> names_in_order(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId node : execution_order(graph)) names.push_back(graph.nodes[node].name);
  return names;
}

TEST(Order, finishes_a_branch_before_the_next) {
  GraphBuilder b("branches");
  const TensorId x = b.input("x", {2, 4});
  const TensorId a1 = b.add("a1", Unary{}, {x});
  const TensorId b1 = b.add("b1", Unary{}, {x});
  const TensorId a2 = b.add("a2", Unary{}, {a1});
  const TensorId b2 = b.add("b2", Unary{}, {b1});
  const TensorId join = b.add("join", Elementwise{}, {a2, b2});
  b.add("end", Unary{}, {join});
  const std::vector<std::string> expected = {"a1", "a2", "b1", "b2", "join", "end"};
  EXPECT_EQ(names_in_order(std::move(b).finish()), expected);
}

TEST(Order, takes_one_input_after_the_other) {
  GraphBuilder b("inputs");
  const TensorId x = b.input("x", {2, 4});
  const TensorId y = b.input("y", {2, 4});
  const TensorId y1 = b.add("y1", Unary{}, {y});
  const TensorId x1 = b.add("x1", Unary{}, {x});
  b.add("join", Elementwise{}, {y1, x1});
  const std::vector<std::string> expected = {"x1", "y1", "join"};
  EXPECT_EQ(names_in_order(std::move(b).finish()), expected);
}

TEST(Order, makes_what_comes_from_weights_alone_when_it_is_needed) {
  GraphBuilder b("weights");
  const TensorId x = b.input("x", {2, 4});
  const TensorId weight = b.stored("w", {2, 4});
  const TensorId scaled = b.add("scaled", Unary{UnaryKind::tanh}, {weight});
  const TensorId scaled_more = b.add("scaled_more", Unary{}, {scaled});
  const TensorId x1 = b.add("x1", Unary{}, {x});
  const TensorId x2 = b.add("x2", Unary{}, {x1});
  b.add("join", Elementwise{}, {x2, scaled_more});
  const std::vector<std::string> expected = {"x1", "x2", "scaled", "scaled_more", "join"};
  EXPECT_EQ(names_in_order(std::move(b).finish()), expected);
}

TEST(Order, runs_every_node_of_every_network_after_its_inputs) {
  for (const Network& network : networks()) {
    SCOPED_TRACE(network.name);
    const Graph graph = build_network(network.name);
    std::vector<bool> is_there(graph.tensors.size());
    for (TensorId id = 0; id < graph.tensors.size(); ++id)
      is_there[id] = graph.tensors[id].producer == no_node;
    const std::vector<NodeId> order = execution_order(graph);
    EXPECT_EQ(order.size(), graph.nodes.size());
    for (const NodeId id : order) {
      for (const TensorId input : graph.nodes[id].inputs) ASSERT_TRUE(is_there[input]);
      for (const TensorId output : graph.nodes[id].outputs) {
        ASSERT_FALSE(is_there[output]);
        is_there[output] = true;
      }
    }
  }
}

}  // namespace
}  // namespace strata
