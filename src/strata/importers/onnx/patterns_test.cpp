// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

// Computations that exporters write out in parts, and that have a name.
namespace strata::onnx::test {
namespace {

constexpr std::int64_t feature_width = 8;

WrittenModel sequence_model() {
  WrittenModel model;
  model.input("x", {"N", 5, feature_width})
      .store(scalar("half", 0.5F))
      .store(scalar("one", 1.0F))
      .store(scalar("two", 2.0F))
      .store(scalar("three", 3.0F))
      .store(scalar("six", 6.0F))
      .store(scalar("root2", 1.41421356F))
      .store(scalar("epsilon", 1e-5F))
      .store(scalar("cubic", 0.044715F))
      .store(scalar("root_2_pi", 0.7978846F))
      .store(weight("gamma", {feature_width}))
      .store(weight("beta", {feature_width}));
  return model;
}

const Attribute last_axis = {"axes", Integers{-1}};

std::string read_both_ways(const WrittenModel& model) {
  // Apart, nothing is lost: the same parameters, more nodes.
  const Graph fused = model.read();
  const Graph apart = model.read({.fuse = false});
  EXPECT_EQ(parameters_of(fused), parameters_of(apart));
  EXPECT_LT(fused.nodes.size(), apart.nodes.size());
  EXPECT_EQ(output_shape(fused), output_shape(apart));
  return operators_of(fused);
}

TEST(OnnxPatterns, layer_norm) {
  WrittenModel model = sequence_model();
  model.node({"ReduceMean", {"x"}, {"mean"}, {last_axis}})
      .node({"Sub", {"x", "mean"}, {"d"}})
      .node({"Pow", {"d", "two"}, {"d2"}})
      .node({"ReduceMean", {"d2"}, {"var"}, {last_axis}})
      .node({"Add", {"var", "epsilon"}, {"v"}})
      .node({"Sqrt", {"v"}, {"s"}})
      .node({"Div", {"d", "s"}, {"n"}})
      .node({"Mul", {"n", "gamma"}, {"g"}})
      .node({"Add", {"g", "beta"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "layer_norm");
}

TEST(OnnxPatterns, layer_norm_with_the_difference_made_twice) {
  WrittenModel model = sequence_model();
  model.node({"ReduceMean", {"x"}, {"mean"}, {last_axis}})
      .node({"Sub", {"x", "mean"}, {"d"}})
      .node({"Sub", {"x", "mean"}, {"e"}})
      .node({"Mul", {"e", "e"}, {"d2"}})
      .node({"ReduceMean", {"d2"}, {"var"}, {last_axis}})
      .node({"Add", {"var", "epsilon"}, {"v"}})
      .node({"Sqrt", {"v"}, {"s"}})
      .node({"Div", {"d", "s"}, {"n"}})
      .node({"Mul", {"gamma", "n"}, {"g"}})
      .node({"Add", {"beta", "g"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "layer_norm");
}

TEST(OnnxPatterns, layer_norm_as_tensorflow_writes_it) {
  WrittenModel model = sequence_model();
  model.node({"ReduceMean", {"x"}, {"mean"}, {last_axis}})
      .node({"Sub", {"x", "mean"}, {"d"}})
      .node({"Mul", {"d", "d"}, {"d2"}})
      .node({"ReduceMean", {"d2"}, {"var"}, {last_axis}})
      .node({"Add", {"var", "epsilon"}, {"v"}})
      .node({"Sqrt", {"v"}, {"s"}})
      .node({"Reciprocal", {"s"}, {"r"}})
      .node({"Mul", {"r", "gamma"}, {"g"}})
      .node({"Mul", {"x", "g"}, {"xg"}})
      .node({"Mul", {"mean", "g"}, {"mg"}})
      .node({"Sub", {"beta", "mg"}, {"rest"}})
      .node({"Add", {"xg", "rest"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "layer_norm");
}

TEST(OnnxPatterns, rms_norm) {
  WrittenModel model = sequence_model();
  model.node({"Mul", {"x", "x"}, {"x2"}})
      .node({"ReduceMean", {"x2"}, {"var"}, {last_axis}})
      .node({"Add", {"var", "epsilon"}, {"v"}})
      .node({"Sqrt", {"v"}, {"s"}})
      .node({"Reciprocal", {"s"}, {"r"}})
      .node({"Mul", {"x", "r"}, {"n"}})
      .node({"Mul", {"n", "gamma"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "rms_norm");
}

TEST(OnnxPatterns, gelu_by_the_error_function) {
  WrittenModel model = sequence_model();
  model.node({"Div", {"x", "root2"}, {"a"}})
      .node({"Erf", {"a"}, {"b"}})
      .node({"Add", {"b", "one"}, {"c"}})
      .node({"Mul", {"x", "c"}, {"d"}})
      .node({"Mul", {"d", "half"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "gelu");
}

TEST(OnnxPatterns, gelu_with_the_half_first) {
  WrittenModel model = sequence_model();
  model.node({"Mul", {"x", "half"}, {"h"}})
      .node({"Div", {"x", "root2"}, {"a"}})
      .node({"Erf", {"a"}, {"b"}})
      .node({"Add", {"one", "b"}, {"c"}})
      .node({"Mul", {"h", "c"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "gelu");
}

TEST(OnnxPatterns, gelu_by_tanh) {
  WrittenModel model = sequence_model();
  model.node({"Pow", {"x", "three"}, {"x3"}})
      .node({"Mul", {"x3", "cubic"}, {"a"}})
      .node({"Add", {"x", "a"}, {"b"}})
      .node({"Mul", {"b", "root_2_pi"}, {"c"}})
      .node({"Tanh", {"c"}, {"d"}})
      .node({"Add", {"d", "one"}, {"e"}})
      .node({"Mul", {"x", "half"}, {"h"}})
      .node({"Mul", {"h", "e"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(model), "gelu_tanh");
}

TEST(OnnxPatterns, silu_and_hard_swish_and_mish) {
  WrittenModel silu = sequence_model();
  silu.node({"Sigmoid", {"x"}, {"g"}}).node({"Mul", {"x", "g"}, {"y"}}).output("y");
  EXPECT_EQ(read_both_ways(silu), "silu");

  WrittenModel swish = sequence_model();
  swish.store(scalar("zero", 0))
      .node({"Add", {"x", "three"}, {"a"}})
      .node({"Clip", {"a", "zero", "six"}, {"b"}})
      .node({"Div", {"b", "six"}, {"c"}})
      .node({"Mul", {"x", "c"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(swish), "hard_swish");

  WrittenModel mish = sequence_model();
  mish.node({"Softplus", {"x"}, {"a"}})
      .node({"Tanh", {"a"}, {"b"}})
      .node({"Mul", {"x", "b"}, {"y"}})
      .output("y");
  EXPECT_EQ(read_both_ways(mish), "mish");
}

TEST(OnnxPatterns, a_gate_of_something_else_is_no_silu) {
  WrittenModel model = sequence_model();
  model.node({"Tanh", {"x"}, {"z"}})
      .node({"Sigmoid", {"z"}, {"g"}})
      .node({"Mul", {"x", "g"}, {"y"}})
      .output("y");
  EXPECT_EQ(operators_of(model.read()), "tanh sigmoid multiply");
}

TEST(OnnxPatterns, a_bias_belongs_to_its_layer_either_way) {
  WrittenModel model;
  model.input("x", {"N", 3, 9, 9})
      .store(weight("w", {4, 3, 3, 3}))
      .store(weight("b", {4, 1, 1}))
      .node({"Conv", {"x", "w"}, {"a"}})
      .node({"Add", {"a", "b"}, {"y"}})
      .output("y");
  EXPECT_EQ(operators_of(model.read({.fuse = false})), "convolution");
  EXPECT_EQ(parameters_of(model.read()), 4 * 3 * 9 + 4);
}

TEST(OnnxPatterns, channel_shuffle) {
  WrittenModel model;
  model.input("x", {1, 12, 7, 7})
      .store(integers("split", {1, 3, 4, 7, 7}))
      .store(integers("join", {1, 12, 7, 7}))
      .node({"Reshape", {"x", "split"}, {"a"}})
      .node({"Transpose", {"a"}, {"b"}, {{"perm", Integers{0, 2, 1, 3, 4}}}})
      .node({"Reshape", {"b", "join"}, {"c"}})
      .node({"Relu", {"c"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "channel_shuffle relu");
  EXPECT_EQ(graph.nodes[0].op, Operator(ChannelShuffle{3}));
}

// A layout that layers ask for is a convention; a transpose that is handed out is work.
TEST(OnnxPatterns, inputs_take_the_layout_that_layers_read) {
  const auto transposed = [](std::vector<std::string> outputs) {
    WrittenModel model;
    model.input("x", {"N", 9, 9, 6})
        .store(weight("w", {4, 6, 3, 3}))
        .node({"Transpose", {"x"}, {"a"}, {{"perm", Integers{0, 3, 1, 2}}}})
        .node({"Conv", {"a", "w"}, {"y"}});
    for (const std::string& output : outputs) model.output(output);
    return operators_of(model.read());
  };
  EXPECT_EQ(transposed({"y"}), "convolution");
  EXPECT_EQ(transposed({"y", "a"}), "transpose convolution");
  EXPECT_EQ(transposed({"a"}), "transpose");
}

TEST(OnnxPatterns, an_output_that_turns_out_to_be_an_input_is_left_out) {
  WrittenModel model;
  model.input("x", {"N", 5, 6})
      .node({"Transpose", {"x"}, {"a"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"Transpose", {"a"}, {"b"}, {{"perm", Integers{1, 0, 2}}}})
      .output("b");
  EXPECT_EQ(problem_with(model),
            "unsupported: model.onnx: none of its 1 outputs depends on a layer");
  model.node({"Relu", {"b"}, {"y"}}).output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "relu");
  EXPECT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(warnings_of(graph), "part-ignored: output 'b' depends on no layer\n");
}

// Caffe's pair as onnx-caffe2 writes it.
TEST(OnnxPatterns, batch_norm_with_a_scale_layer) {
  WrittenModel model(9);
  model.input("x", {1, 6, 7, 7});
  for (const char* name : {"s", "b", "m", "v", "gamma", "beta"}) model.store(weight(name, {6}));
  model.node({"BatchNormalization", {"x", "s", "b", "m", "v"}, {"a"}})
      .node({"Unsqueeze", {"gamma"}, {"g"}, {{"axes", Integers{1, 2}}}})
      .node({"Mul", {"a", "g"}, {"c"}})
      .node({"Unsqueeze", {"beta"}, {"h"}, {{"axes", Integers{1, 2}}}})
      .node({"Add", {"c", "h"}, {"y"}})
      .output("y");
  EXPECT_EQ(operators_of(model.read()), "batch_norm");
  EXPECT_EQ(parameters_of(model.read()), 12);
  EXPECT_EQ(operators_of(model.read({.fuse = false})), "batch_norm multiply add");
}

}  // namespace
}  // namespace strata::onnx::test
