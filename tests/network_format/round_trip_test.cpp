// SPDX-License-Identifier: Apache-2.0
// Every network that Strata has, through its own format and back.
#include "same_graph.hpp"
#include "strata/graph/bind.hpp"
#include "strata/importers/importers.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/zoo/zoo.hpp"
#include "test_files.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

TEST(NetworkRoundTrip, every_built_in_network_comes_back_the_same) {
  ASSERT_FALSE(networks().empty());
  for (const Network& network : networks()) {
    const Graph graph = build_network(network.name);
    const std::string text = write_network(graph);
    const Graph again = read_network(text, "round_trip.json");
    EXPECT_EQ(difference(graph, again), "") << network.name;
    EXPECT_EQ(write_network(again), text) << network.name;
  }
}

std::vector<std::vector<std::int64_t>> shapes_of(const BoundGraph& bound) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const BoundTensor& tensor : bound.tensors)
    shapes.emplace_back(tensor.shape.begin(), tensor.shape.end());
  return shapes;
}

TEST(NetworkRoundTrip, a_weight_that_a_layer_makes_is_named) {
  const Graph graph =
      read_network(R"({"strata_network": 1, "inputs": {"x": [2, 3, 8, 8]}, "layers": [
    {"name": "w", "op": "parameter", "shape": [4, 3, 3, 3]},
    {"name": "standardised", "op": "tanh", "inputs": "w"},
    {"name": "conv", "op": "convolution", "inputs": "x", "channels": 4, "kernel": 3, "bias": false,
     "weights": ["standardised"]}]})",
                   "made.json");
  EXPECT_EQ(difference(graph, read_network(write_network(graph), "again.json")), "");
  const Node& node = graph.nodes.back();
  EXPECT_EQ(graph.tensors[node.inputs[1]].name, "standardised");
}

// Formulas that read the same might still mean something else.
TEST(NetworkRoundTrip, sizes_are_the_same_numbers) {
  for (const Network& network : networks()) {
    const Graph graph = build_network(network.name);
    const Graph again = read_network(write_network(graph), "round_trip.json");
    EXPECT_EQ(shapes_of(bind_graph(graph, {})), shapes_of(bind_graph(again, {}))) << network.name;
    EXPECT_EQ(shapes_of(bind_graph(graph, {{"batch", 3}})),
              shapes_of(bind_graph(again, {{"batch", 3}})))
        << network.name;
  }
}

TEST(NetworkExamples, json_and_toml_say_the_same) {
  const std::filesystem::path folder = source_dir() / "examples/networks";
  const auto examples = files_in(folder, {".json"});
  ASSERT_GE(examples.size(), 3U);
  EXPECT_EQ(examples.size(), files_in(folder, {".toml"}).size());
  for (std::filesystem::path path : examples) {
    const Graph json = read_network(text_of_file(path), "example");
    path.replace_extension(".toml");
    const Graph toml = read_network(text_of_file(path), "example");
    EXPECT_EQ(difference(json, toml), "") << path;
    EXPECT_EQ(difference(json, read_network(write_network(json), "example")), "") << path;
  }
}

TEST(NetworkExamples, can_be_imported_and_bound) {
  for (const std::filesystem::path& path :
       files_in(source_dir() / "examples/networks", {".json", ".toml"})) {
    const Graph graph = import_model(path);
    EXPECT_EQ(bind_graph(graph, {{"batch", 2}}).tensors.size(), graph.tensors.size()) << path;
  }
}

TEST(NetworkExamples, the_shortest_has_ten_lines_and_the_right_shapes) {
  const std::filesystem::path path = source_dir() / "examples/networks/tiny.json";
  const std::string text = text_of_file(path);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 11);
  const Graph graph = import_model(path);
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  // Worked out by hand: 3 → 16 channels at 32 × 32, pooled to 16 × 16, flattened to 4096, 10
  // classes.
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].kind == TensorKind::parameter) parameters += bound.tensors[i].elements;
  }
  EXPECT_EQ(parameters, 16 * 3 * 3 * 3 + 16 + 10 * 4096 + 10);
  const BoundTensor& result = bound.tensors[graph.outputs.front()];
  EXPECT_EQ(result.elements, 2 * 10);
}

}  // namespace
}  // namespace strata
