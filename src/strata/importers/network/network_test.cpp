// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/network.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/importers/network/reader.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

Graph read_layers(std::string_view layers,
                  std::string_view inputs = R"("image": ["batch", 3, 32, 32])") {
  return read_network(
      fmt::format(R"({{"strata_network": 1, "inputs": {{{}}}, "layers": [{}]}})", inputs, layers),
      "folder/net.json");
}

std::string message_of(std::string_view layers) {
  try {
    read_layers(layers);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string shape_of(const Graph& graph, std::string_view tensor) {
  for (const Tensor& candidate : graph.tensors) {
    if (candidate.name == tensor) return text_of(candidate.type.shape, graph.symbols);
  }
  return "no such tensor";
}

TEST(ReadNetwork, layers_follow_each_other) {
  const Graph graph =
      read_layers(R"({"op": "convolution", "channels": 16, "kernel": 3, "pad": 1}, {"op": "relu"},
                                     {"op": "relu"}, {"name": "last", "op": "max_pool", "kernel": 2, "stride": 2})");
  ASSERT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.nodes[0].name, "convolution_1");
  EXPECT_EQ(graph.nodes[1].name, "relu_1");
  EXPECT_EQ(graph.nodes[2].name, "relu_2");
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(graph.nodes[i].inputs[0], graph.nodes[i - 1].outputs[0]);
  EXPECT_EQ(shape_of(graph, "last"), "batch×16×16×16");
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].name, "last");
}

TEST(ReadNetwork, the_file_names_what_does_not_name_itself) {
  const Graph graph = read_layers(R"({"op": "relu"})");
  EXPECT_EQ(graph.name, "net");
  EXPECT_EQ(graph.title, "net");
  EXPECT_EQ(graph.source, "net.json");
}

TEST(ReadNetwork, default_names_avoid_given_ones) {
  const Graph graph =
      read_layers(R"({"op": "relu"}, {"name": "relu_1", "op": "tanh"}, {"op": "relu"})");
  EXPECT_EQ(graph.nodes[0].name, "relu_2");
  EXPECT_EQ(graph.nodes[2].name, "relu_3");
}

TEST(ReadNetwork, outputs_have_numbers_or_names) {
  const Graph graph =
      read_layers(R"({"name": "s", "op": "split", "sizes": [1, 2]}, {"op": "relu", "inputs": "s:1"},
                                     {"op": "split", "inputs": ["s:1"], "parts": 2, "outputs": ["left", "right"]},
                                     {"name": "sum", "op": "add", "inputs": ["left", "right"]})");
  EXPECT_EQ(shape_of(graph, "relu_1"), "batch×2×32×32");
  EXPECT_EQ(shape_of(graph, "sum"), "batch×1×32×32");
}

TEST(ReadNetwork, weights_can_be_shared_and_stored) {
  const Graph graph = read_layers(R"({"name": "a", "op": "linear", "features": 32},
      {"name": "b", "op": "linear", "features": 32, "weights_of": "a"},
      {"name": "w", "op": "constant", "shape": [32, 32], "dtype": "int8"},
      {"name": "c", "op": "linear", "features": 32, "weights": ["w", "a.bias"]})");
  EXPECT_EQ(graph.nodes[1].inputs[1], graph.nodes[0].inputs[1]);
  EXPECT_EQ(graph.nodes[1].inputs[2], graph.nodes[0].inputs[2]);
  const Tensor& weight = graph.tensors[graph.nodes[2].inputs[1]];
  EXPECT_EQ(weight.kind, TensorKind::constant);
  EXPECT_EQ(weight.type.dtype, DType::int8);
  EXPECT_EQ(graph.nodes[2].inputs[2], graph.nodes[0].inputs[2]);
}

TEST(ReadNetwork, dims_and_types_of_inputs) {
  const Graph graph =
      read_network(R"({"strata_network": 1, "dims": {"width": 64, "seq": "required"},
      "inputs": {"x": {"shape": ["4*batch", "width"], "dtype": "bf16"}, "t": {"shape": ["seq"], "dtype": "int64"}},
      "layers": [{"op": "relu", "inputs": ["x"]}]})",
                   "");
  EXPECT_EQ(shape_of(graph, "x"), "4·batch×width");
  EXPECT_EQ(graph.tensors[0].type.dtype, DType::bf16);
  ASSERT_EQ(graph.symbols.parameters().size(), 3U);
  EXPECT_EQ(graph.symbols.parameters()[0].default_value, 64);
  EXPECT_FALSE(graph.symbols.parameters()[1].default_value);
  EXPECT_EQ(graph.symbols.parameters()[2].name, "batch");
}

TEST(ReadNetwork, header) {
  const Graph graph =
      read_network(R"({"strata_network": 1, "name": "n", "title": "A net", "source": "a paper",
      "recurrent_order": "time_major", "inputs": {"x": [2, 3]}, "outputs": "a",
      "layers": [{"name": "a", "op": "relu", "block": "b1"}, {"op": "relu"}]})",
                   "file.json");
  EXPECT_EQ(graph.name, "n");
  EXPECT_EQ(graph.title, "A net");
  EXPECT_EQ(graph.source, "a paper");
  EXPECT_EQ(graph.recurrent_order, RecurrentOrder::time_major);
  EXPECT_EQ(graph.nodes[0].block, "b1");
  EXPECT_EQ(graph.nodes[1].block, "");
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.outputs[0], graph.nodes[0].outputs[0]);
}

TEST(ReadNetwork, a_newer_version_is_unsupported) {
  try {
    read_network(R"({"strata_network": 2, "anything": []})", "new.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(),
                 "new.json: line 1: key 'strata_network': version 2 of the format; this Strata "
                 "reads version 1");
  }
}

TEST(ReadNetwork, too_many_axes_are_unsupported) {
  EXPECT_NE(
      message_of(R"({"op": "reshape", "shape": [1, 1, 1, 1, 1, 1, 1, 1, -1]})").find("at most 8"),
      std::string::npos);
}

TEST(ReadNetwork, foreign_names_are_answered) {
  EXPECT_NE(message_of(R"({"op": "Conv2d"})").find("Strata calls it convolution"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"op": "FC"})").find("Strata calls it linear"), std::string::npos);
  EXPECT_NE(message_of(R"({"op": "BatchNorm"})").find("Strata calls it batch_norm"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"op": "ReLU"})").find("Strata calls it relu"), std::string::npos);
}

TEST(ReadNetwork, the_number_of_tensors_is_bounded) {
  const network::Value root =
      network::parse(R"({"strata_network": 1, "inputs": {"x": ["batch", 5, 8]}, "layers": [
      {"op": "relu"}, {"op": "lstm", "hidden": 1, "layers": 500, "bidirectional": true}]})");
  EXPECT_NO_THROW(network::NetworkReader("", "", 10'000).read(root));
  try {
    network::NetworkReader("", "", 1000).read(root);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "layer 'lstm_1': the network has more than 1000 tensors up to here");
  }
}

TEST(WriteNetwork, one_line_per_layer) {
  const Graph graph =
      read_layers(R"({"op": "convolution", "channels": 4, "kernel": [3, 1], "block": "b"},
                                     {"name": "r", "op": "relu"}, {"op": "add", "inputs": ["r", "r"]})");
  EXPECT_EQ(write_network(graph), R"({
  "strata_network": 1,
  "name": "net",
  "source": "net.json",
  "inputs": {"image": ["batch", 3, 32, 32]},
  "layers": [
    {"name": "convolution_1", "op": "convolution", "channels": 4, "kernel": [3, 1], "block": "b"},
    {"name": "r", "op": "relu"},
    {"name": "add_1", "op": "add", "inputs": ["r", "r"]}
  ],
  "outputs": ["add_1"]
}
)");
}

TEST(WriteNetwork, what_the_builder_would_not_do_by_itself_is_written) {
  GraphBuilder builder("b");
  const Dim batch = builder.symbols().parameter("batch", 8);
  const TensorId x = builder.input("x", {batch, 4});
  const TensorId weight = builder.stored("w8", {4, 4}, TensorKind::constant, DType::int8);
  const std::vector<TensorId> inputs = {x};
  const std::vector<TensorId> own = {weight};
  const NodeId first = builder.add_node("a", Linear{.features = 4, .bias = false}, inputs, own);
  const TensorId late = builder.input("late", {batch, 4}, DType::fp16);
  const TensorId sum = builder.add("sum", Elementwise{}, {builder.output_of(first), late});
  builder.graph().tensors[sum].name = "total";
  builder.stored("unused", {3}, TensorKind::buffer);
  const std::string text = write_network(std::move(builder).finish());
  EXPECT_EQ(text, R"({
  "strata_network": 1,
  "name": "b",
  "title": "",
  "source": "",
  "dims": {"batch": 8},
  "inputs": {"x": ["batch", 4]},
  "layers": [
    {"name": "w8", "op": "constant", "shape": [4, 4], "dtype": "int8"},
    {"name": "a", "op": "linear", "inputs": ["x"], "features": 4, "bias": false, "weights": ["w8"]},
    {"name": "late", "op": "input", "shape": ["batch", 4], "dtype": "fp16"},
    {"name": "sum", "op": "add", "inputs": ["a", "late"], "outputs": ["total"]},
    {"name": "unused", "op": "buffer", "shape": [3]}
  ],
  "outputs": ["total"]
}
)");
  EXPECT_EQ(write_network(read_network(text, "")), text);
}

TEST(WriteNetwork, what_no_file_can_say_is_unsupported) {
  const auto kind_of = [](const Graph& graph) {
    try {
      write_network(graph);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::usage;
  };
  GraphBuilder twins("twins");
  twins.add("x", Unary{}, {twins.input("x", {2})});
  EXPECT_EQ(kind_of(std::move(twins).finish()), ErrorKind::unsupported);
  GraphBuilder words("words");
  words.add("y", Unary{}, {words.input("x", {words.symbols().parameter("two words")})});
  EXPECT_EQ(kind_of(std::move(words).finish()), ErrorKind::unsupported);
  for (const std::string& name :
       {std::string("\xFF"), std::string("\x7F"), std::string(5000, 'n')}) {
    GraphBuilder names("names that the reader refuses");
    names.add(name, Unary{}, {names.input("x", {2})});
    EXPECT_EQ(kind_of(std::move(names).finish()), ErrorKind::input) << name.substr(0, 10);
  }
}

TEST(ReadNetworkFile, a_file_that_is_not_there) {
  EXPECT_THROW(read_network_file("no/such/file.json"), Error);
  EXPECT_THROW(read_network_file("."), Error);
}

TEST(WriteNetwork, what_could_not_be_read_again_is_not_written) {
  GraphBuilder builder("inputs only");
  builder.input("x", {4}, DType::fp32);
  try {
    write_network(std::move(builder).finish());
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
  }
}

}  // namespace
}  // namespace strata
