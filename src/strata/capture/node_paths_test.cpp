// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/node_paths.hpp"

#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// Convolutions of these names, one behind the other.
Graph chain(const std::vector<std::string>& names, const std::string& weight_prefix = "") {
  GraphBuilder builder("chain");
  TensorId x = builder.input("x", Shape{1, 4, 8, 8});
  for (const std::string& name : names) {
    Convolution op{.channels = 4, .kernel = {1, 1}};
    op.bias = false;
    x = builder.add(name, op, {x});
  }
  Graph graph = std::move(builder).finish();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    // Node names become tensor names; give weights names of their own.
    graph.tensors[graph.nodes[i].inputs[1]].name =
        weight_prefix.empty() ? "w" + std::to_string(i)
                              : weight_prefix + std::to_string(i) + ".weight";
  }
  return graph;
}

TEST(NodePaths, DotsReplaceSlashes) {
  EXPECT_EQ(dotted_path("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1.Conv");
  EXPECT_EQ(dotted_path("/features/features.1/conv/conv.0/conv.0.0/Conv"),
            "features.1.conv.0.0.Conv");
  EXPECT_EQ(dotted_path("layer1.0.conv1"), "layer1.0.conv1");
  EXPECT_EQ(dotted_path("/layer1/layer10/Op"), "layer1.layer10.Op");
  EXPECT_EQ(dotted_path(""), "");
}

TEST(NodePaths, WeightsComeFirstThenNamesThenModulesAround) {
  const Graph graph = chain({"/block/relu_2/Op"}, "net.a");
  const std::vector<NodePath> paths = paths_of_node(graph, 0);
  std::vector<std::string> texts;
  for (const NodePath& path : paths) texts.push_back(path.path);
  EXPECT_EQ(texts, (std::vector<std::string>{"net.a0", "block.relu_2.Op", "block.relu_2",
                                             "block.relu", "block"}));
  EXPECT_EQ(paths.front().by, FoundBy::parameter);
  EXPECT_EQ(paths[2].by, FoundBy::name);
  EXPECT_EQ(paths.back().by, FoundBy::ancestor);
}

TEST(NodePaths, NodesFindTheirModules) {
  const Graph graph = chain({"a.conv1", "a.conv2", "b.conv1"});
  const auto found = modules_of_nodes(graph, {"a.conv1", "a.conv2", "b", "step"});
  ASSERT_TRUE(found[0] && found[1] && found[2]);
  EXPECT_EQ(found[0]->path, "a.conv1");
  EXPECT_EQ(found[1]->path, "a.conv2");
  EXPECT_EQ(found[2]->path, "b");  // the block around it
  EXPECT_EQ(found[2]->by, FoundBy::ancestor);
}

TEST(NodePaths, ARootThatOneSideHasIsLeftOut) {
  const Graph graph = chain({"layer1.conv1", "layer2.conv1"});
  const auto with_root = modules_of_nodes(graph, {"model.layer1.conv1", "model.layer2.conv1"});
  ASSERT_TRUE(with_root[1]);
  EXPECT_EQ(with_root[1]->path, "model.layer2.conv1");
  const Graph wrapped = chain({"n.layer1.conv1", "n.layer2.conv1"});
  const auto without = modules_of_nodes(wrapped, {"layer1.conv1", "layer2.conv1"});
  ASSERT_TRUE(without[0]);
  EXPECT_EQ(without[0]->path, "layer1.conv1");
}

TEST(NodePaths, PartsThatDifferAreNoRoot) {
  // Leaving out "4." and "5." would make both the node "relu".
  const Graph graph = chain({"relu", "layer1.conv"});
  const auto found = modules_of_nodes(graph, {"4.relu", "5.relu", "4.main"});
  EXPECT_FALSE(found[0]);
  EXPECT_FALSE(found[1]);
}

}  // namespace
}  // namespace strata
