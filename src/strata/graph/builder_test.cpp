// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/builder.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace strata {
namespace {

Graph small_network() {
  GraphBuilder builder("small");
  TensorId x = builder.input("image", {builder.symbols().parameter("batch", 32), 3, 8, 8});
  {
    const GraphBuilder::Scope block(builder, "block");
    x = builder.add("conv", Convolution{.channels = 4, .kernel = {3, 3}}, {x});
    x = builder.add("relu", Unary{}, {x});
  }
  x = builder.add("flatten", Flatten{}, {x});
  builder.add("fc", Linear{.features = 10}, {x});
  return std::move(builder).finish();
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Builder, names_blocks_and_weights) {
  const Graph graph = small_network();
  ASSERT_EQ(graph.nodes.size(), 4u);
  EXPECT_EQ(graph.nodes[0].name, "block.conv");
  EXPECT_EQ(graph.nodes[0].block, "block");
  EXPECT_EQ(graph.nodes[3].block, "");
  EXPECT_EQ(graph.tensors[graph.nodes[0].inputs[1]].name, "block.conv.weight");
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].name, "fc");
}

TEST(Builder, repeated_names_are_told_apart) {
  GraphBuilder builder("names");
  TensorId x = builder.input("x", {4});
  for (const char* name : {"relu", "relu", "relu_2", "relu"}) x = builder.add(name, Unary{}, {x});
  const Graph graph = std::move(builder).finish();
  std::set<std::string> names;
  for (const Node& node : graph.nodes) names.insert(node.name);
  EXPECT_EQ(names.size(), 4u);
}

TEST(Builder, an_error_names_the_node) {
  GraphBuilder builder("bad");
  const TensorId x = builder.input("x", {2, 3, 4, 4});
  EXPECT_EQ(message_of([&] {
              builder.add("conv1", Convolution{.channels = 4, .kernel = {9, 9}}, {x});
            }),
            "node 'conv1': kernel 9 (dilation 1) is larger than its padded input, 4 + 0");
}

TEST(Builder, shared_weights_must_fit) {
  GraphBuilder builder("tied");
  const TensorId x = builder.input("x", {2, 8});
  const TensorId y = builder.add("first", Linear{.features = 8, .bias = false}, {x});
  const TensorId weight = builder.own_of(y);
  const NodeId second = builder.add_node("second", Linear{.features = 8, .bias = false},
                                         std::array{y}, std::array{weight});
  EXPECT_NE(message_of([&] {
              builder.add_node("third", Linear{.features = 9, .bias = false}, std::array{y},
                               std::array{weight});
            }).find("expected 9×8"),
            std::string::npos);
  const Graph& graph = builder.graph();
  EXPECT_EQ(graph.nodes[second].inputs[1], weight);
}

TEST(Bind, gives_every_batch_size_from_one_graph) {
  const Graph graph = small_network();
  for (const std::int64_t batch : {1, 32, 256}) {
    const BoundGraph bound = bind_graph(graph, {{"batch", batch}});
    EXPECT_EQ(bound.tensors[graph.nodes[0].outputs[0]].elements, batch * 4 * 6 * 6);
  }
  EXPECT_EQ(bind_graph(graph, {}).binding.at("batch"), 32);
}

TEST(Bind, replaces_floating_types_only) {
  GraphBuilder builder("types");
  const TensorId ids = builder.input("ids", {2, 3}, DType::int64);
  builder.add("embedding", Embedding{10, 4}, {ids});
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {}, DType::bf16);
  EXPECT_EQ(bound.tensors[ids].bytes, 2 * 3 * 8);
  EXPECT_EQ(bound.tensors[graph.outputs[0]].bytes, 2 * 3 * 4 * 2);
}

TEST(Bind, absurd_sizes_are_errors_with_a_place) {
  const Graph graph = small_network();
  EXPECT_NE(message_of([&] {
              bind_graph(graph, {{"batch", std::int64_t{1} << 60}});
            }).find("tensor 'image'"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              bind_graph(graph, {{"batch", 0}});
            }).find("at least 1"),
            std::string::npos);
}

TEST(Bind, checks_what_inference_assumed) {
  GraphBuilder builder("assumed");
  const Dim left = builder.symbols().parameter("left");
  const Dim right = builder.symbols().parameter("right");
  const TensorId a = builder.input("a", {left});
  const TensorId b = builder.input("b", {right});
  builder.add("sum", Elementwise{}, {a, b});
  const Graph graph = std::move(builder).finish();
  EXPECT_NO_THROW(bind_graph(graph, {{"left", 4}, {"right", 4}}));
  EXPECT_EQ(message_of([&] {
              bind_graph(graph, {{"left", 4}, {"right", 5}});
            }),
            "node 'sum': extents must agree, but left is 4 and right is 5");
}

TEST(Gradient, flows_from_results_to_parameters_only) {
  GraphBuilder builder("lstm");
  const TensorId x = builder.input("x", {2, 5, 3});
  const NodeId lstm = builder.add_node("lstm", Recurrent{.hidden = 4}, std::array{x});
  builder.add("scaled", Unary{UnaryKind::tanh}, {builder.output_of(lstm)});
  const Graph graph = std::move(builder).finish();
  const std::vector<bool> wanted = tensors_with_gradient(graph);
  EXPECT_FALSE(wanted[x]) << "the network's input is data";
  EXPECT_TRUE(wanted[graph.nodes[lstm].outputs[0]]);
  EXPECT_FALSE(wanted[graph.nodes[lstm].outputs[1]]) << "nothing reads the last state";
  EXPECT_TRUE(wanted[graph.nodes[lstm].inputs[1]]);
}

/// Every rule can be broken, and verify then names that rule.
TEST(Verify, catches_each_broken_rule) {
  const std::vector<std::function<void(Graph&)>> breakages = {
      [](Graph& graph) { graph.nodes[1].inputs[0] = 10'000; },
      [](Graph& graph) { graph.nodes[0].inputs[0] = graph.nodes[2].outputs[0]; },
      [](Graph& graph) { graph.nodes[1].outputs.push_back(graph.nodes[1].outputs[0]); },
      [](Graph& graph) { graph.nodes[1].first_own = 0; },
      [](Graph& graph) { graph.nodes[1].name.clear(); },
      [](Graph& graph) {
        graph.tensors.push_back({"loose", {}, TensorKind::activation, no_node});
      },
      [](Graph& graph) { graph.tensors[0].type.shape[1] = 0; },
  };
  ASSERT_EQ(breakages.size(), graph_rules().size());
  for (std::size_t i = 0; i < breakages.size(); ++i) {
    Graph graph = small_network();
    breakages[i](graph);
    EXPECT_NE(message_of([&] { verify(graph); }).find(graph_rules()[i].name), std::string::npos)
        << i;
  }
}

TEST(Verify, a_convolution_takes_a_weight_that_nodes_make) {
  GraphBuilder builder("standardised");
  const TensorId x = builder.input("x", {2, 3, 8, 8});
  const TensorId stored = builder.stored("weight", {4, 3, 3, 3}, TensorKind::parameter);
  const TensorId made = builder.add("tanh", Unary{UnaryKind::tanh}, {stored});
  const Convolution convolution{.channels = 4, .kernel = {3, 3}, .bias = false};
  const NodeId node = builder.add_node("convolution", convolution, std::array{x}, std::array{made});
  const Graph graph = std::move(builder).finish();
  EXPECT_EQ(graph.nodes[node].inputs[1], made);
  EXPECT_TRUE(bind_graph(graph, {}).tensors[stored].wants_gradient);
}

TEST(Verify, a_table_is_stored) {
  GraphBuilder builder("table");
  const TensorId ids = builder.input("ids", {2}, DType::int64);
  const TensorId stored = builder.stored("weight", {10, 4}, TensorKind::parameter);
  const TensorId made = builder.add("tanh", Unary{UnaryKind::tanh}, {stored});
  builder.add_node("table", Embedding{10, 4}, std::array{ids}, std::array{made});
  EXPECT_THROW(std::move(builder).finish(), Error);
}

}  // namespace
}  // namespace strata
