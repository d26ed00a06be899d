// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/onnx.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/importers/onnx/graph_questions_test.hpp"
#include "strata/importers/onnx/written_model_test.hpp"

#include <gtest/gtest.h>

namespace strata::onnx::test {
namespace {

// conv → relu → global pooling → flatten → gemm, as small as a network can be.
WrittenModel small_network(std::vector<Extent> image) {
  WrittenModel model;
  model.input("image", std::move(image))
      .store(weight("conv1.weight", {8, 3, 3, 3}))
      .store(weight("conv1.bias", {8}))
      .store(weight("fc.weight", {10, 8}))
      .store(weight("fc.bias", {10}))
      .node({"Conv",
             {"image", "conv1.weight", "conv1.bias"},
             {"a"},
             {{"pads", Integers{1, 1, 1, 1}}},
             "conv1"})
      .node({"Relu", {"a"}, {"b"}, {}, "relu1"})
      .node({"GlobalAveragePool", {"b"}, {"c"}, {}, "pool"})
      .node({"Flatten", {"c"}, {"d"}, {}, "flatten"})
      .node({"Gemm", {"d", "fc.weight", "fc.bias"}, {"y"}, {{"transB", std::int64_t{1}}}, "fc"})
      .output("y");
  return model;
}

TEST(Onnx, reads_a_network) {
  const Graph graph = small_network({"N", 3, 32, 32}).read();
  EXPECT_EQ(graph.name, "model");
  EXPECT_EQ(graph.source, "ONNX file model.onnx");
  EXPECT_EQ(operators_of(graph), "convolution relu adaptive_average_pool reshape linear");
  EXPECT_EQ(node_named(graph, "conv1").op, Operator(Convolution{.channels = 8,
                                                                .kernel = {3, 3},
                                                                .stride = {1, 1},
                                                                .dilation = {1, 1},
                                                                .pad_begin = {1, 1},
                                                                .pad_end = {1, 1}}));
  EXPECT_EQ(parameters_of(graph), 8 * 3 * 9 + 8 + 10 * 8 + 10);
  EXPECT_EQ(shape_text(graph, graph.outputs.front()), "batch×10");
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Onnx, weights_keep_their_names) {
  const Graph graph = small_network({"N", 3, 32, 32}).read();
  const Node& conv = node_named(graph, "conv1");
  EXPECT_EQ(graph.tensors[conv.inputs[1]].name, "conv1.weight");
  EXPECT_EQ(graph.tensors[conv.inputs[2]].name, "conv1.bias");
}

TEST(Onnx, an_open_first_axis_is_the_batch) {
  const Graph graph = small_network({"N", 3, 32, 32}).read();
  ASSERT_EQ(graph.symbols.parameters().size(), 1U);
  EXPECT_EQ(graph.symbols.parameters()[0].name, "batch");
  EXPECT_EQ(graph.symbols.parameters()[0].default_value, 32);
}

TEST(Onnx, a_fixed_first_axis_is_the_batch_with_its_number) {
  const Graph graph = small_network({4, 3, 32, 32}).read();
  ASSERT_EQ(graph.symbols.parameters().size(), 1U);
  EXPECT_EQ(graph.symbols.parameters()[0].name, "batch");
  EXPECT_EQ(graph.symbols.parameters()[0].default_value, 4);
  EXPECT_EQ(bind_graph(graph, {{"batch", 7}}).tensors[graph.outputs[0]][0], 7);
}

TEST(Onnx, other_open_axes_are_dimensions_of_their_name) {
  const Graph graph = small_network({"N", 3, "img height", 32}).read();
  ASSERT_EQ(graph.symbols.parameters().size(), 2U);
  EXPECT_EQ(graph.symbols.parameters()[1].name, "img_height");
  EXPECT_EQ(graph.symbols.parameters()[1].default_value, 224);
  EXPECT_EQ(warnings_of(graph),
            "value-assumed: the file leaves dimension 'img_height' open; 224 is assumed, --dim "
            "img_height=N sets it\n");
}

TEST(Onnx, dimensions_may_be_formulas_of_others) {
  WrittenModel model;
  model.input("x", {"batch", "seq", 8})
      .input("labels", {"batch*seq"}, int64)
      .store(integers("rows", {-1, 8}))
      .node({"Reshape", {"x", "rows"}, {"r"}})
      .node({"SoftmaxCrossEntropyLoss", {"r", "labels"}, {"loss"}})
      .output("loss");
  const Graph graph = model.read();
  EXPECT_EQ(graph.symbols.parameters().size(), 2U);
  EXPECT_NO_THROW(bind_graph(graph, {{"batch", 3}, {"seq", 5}}));
}

TEST(Onnx, a_given_shape_replaces_the_files) {
  const Graph graph =
      small_network({"N", 3, "h", "w"}).read({.input_shapes = {{"image", {2, 3, 64, 48}}}});
  EXPECT_EQ(bind_graph(graph, {}).tensors[graph.inputs[0]].elements, 2 * 3 * 64 * 48);
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Onnx, a_shape_for_an_unknown_input_is_an_error) {
  EXPECT_EQ(problem_with(small_network({"N", 3, 8, 8}), {.input_shapes = {{"imag", {1, 3, 8, 8}}}}),
            "usage: model.onnx: no input is called 'imag'; did you mean image?");
  EXPECT_EQ(problem_with(small_network({"N", 3, 8, 8}), {.input_shapes = {{"foo", {1, 3, 8, 8}}}}),
            "usage: model.onnx: no input is called 'foo'; its input is: image");
}

TEST(Onnx, initializers_among_the_inputs_are_not_inputs) {
  WrittenModel model(8);
  model.input("x", {2, 4})
      .input("w", {4, 4})
      .store(weight("w", {4, 4}))
      .node({"MatMul", {"x", "w"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(operators_of(graph), "linear");
}

TEST(Onnx, nodes_may_come_in_any_order) {
  WrittenModel model;
  model.input("x", {2, 4})
      .node({"Tanh", {"b"}, {"y"}})
      .node({"Relu", {"a"}, {"b"}})
      .node({"Sigmoid", {"x"}, {"a"}})
      .output("y");
  EXPECT_EQ(operators_of(model.read()), "sigmoid relu tanh");
}

TEST(Onnx, what_no_output_needs_is_left_out) {
  WrittenModel model;
  model.input("x", {2, 4})
      .node({"NoSuchOperator", {"x"}, {"unused"}})
      .node({"Relu", {"x"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "relu");
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Onnx, nodes_without_a_name_are_called_by_their_output) {
  WrittenModel model;
  model.input("x", {2, 4}).node({"Relu", {"x"}, {"hidden"}}).output("hidden");
  EXPECT_EQ(model.read().nodes[0].name, "hidden");
}

TEST(Onnx, torch_paths_make_blocks) {
  WrittenModel model;
  model.input("x", {2, 4})
      .node({"Relu", {"x"}, {"a"}, {}, "/layer1/layer1.0/act/Relu"})
      .node({"Relu",
             {"a"},
             {"b"},
             {},
             "node_1",
             {},
             "['', 'layer2', 'layer2.0', 'layer2.0.act', 'relu']"})
      .output("b");
  const Graph graph = model.read();
  EXPECT_EQ(graph.nodes[0].name, "/layer1/layer1.0/act/Relu");
  EXPECT_EQ(graph.nodes[0].block, "layer1.0");
  EXPECT_EQ(graph.nodes[1].name, "layer2.0.act");
  EXPECT_EQ(graph.nodes[1].block, "layer2.0");
}

TEST(Onnx, a_weight_given_as_an_input_is_learnt) {
  WrittenModel model;
  model.input("x", {1, 3, 8, 8})
      .input("W", {4, 3, 3, 3})
      .node({"Conv", {"x", "W"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(parameters_of(graph), 4 * 3 * 9);
  EXPECT_EQ(warnings_of(graph), "value-assumed: input 'W' is used as a weight; taken for learnt\n");
}

TEST(Onnx, several_weights_given_as_inputs_make_one_warning) {
  WrittenModel model;
  model.input("x", {1, 3, 8, 8})
      .input("W", {4, 3, 3, 3})
      .input("B", {4})
      .node({"Conv", {"x", "W", "B"}, {"y"}})
      .output("y");
  EXPECT_EQ(warnings_of(model.read()),
            "value-assumed: 2 inputs are used as weights; taken for learnt (the first is 'W')\n");
}

TEST(Onnx, a_matrix_used_twice_is_one_parameter) {
  WrittenModel model;
  model.input("tokens", {"N", 16}, int64)
      .store(weight("table", {100, 8}))
      .node({"Gather", {"table", "tokens"}, {"embedded"}})
      .node({"Transpose", {"table"}, {"table_t"}, {{"perm", Integers{1, 0}}}})
      .node({"MatMul", {"embedded", "table_t"}, {"scores"}})
      .output("scores");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "embedding linear");
  EXPECT_EQ(parameters_of(graph), 100 * 8);
}

// Exporters store the zeros of all fresh biases once.
TEST(Onnx, a_vector_used_twice_is_two_parameters) {
  WrittenModel model;
  model.input("x", {2, 4})
      .store(weight("w1", {4, 4}))
      .store(weight("w2", {4, 4}))
      .store(weight("zeros", {4}))
      .node({"Gemm", {"x", "w1", "zeros"}, {"a"}})
      .node({"Gemm", {"a", "w2", "zeros"}, {"y"}})
      .output("y");
  EXPECT_EQ(parameters_of(model.read()), 2 * (16 + 4));
}

TEST(Onnx, a_layer_applied_twice_is_one_layer_of_parameters) {
  WrittenModel model;
  model.input("x", {2, 4})
      .store(weight("w", {4, 4}))
      .store(weight("b", {4}))
      .node({"Gemm", {"x", "w", "b"}, {"a"}})
      .node({"Gemm", {"a", "w", "b"}, {"y"}})
      .output("y");
  EXPECT_EQ(parameters_of(model.read()), 16 + 4);
}

TEST(Onnx, an_unknown_operator_keeps_its_declared_shape) {
  WrittenModel model;
  model.input("x", {"N", 8})
      .node({"Fancy", {"x"}, {"a"}, {}, "f", "my.domain"})
      .value("a", {"N", 5})
      .node({"Relu", {"a"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "opaque relu");
  EXPECT_EQ(shape_text(graph, graph.outputs[0]), "batch×5");
  EXPECT_EQ(warnings_of(graph),
            "operator-not-counted: Strata does not know the operator my.domain.Fancy (1 node, the "
            "first is node 'f' (Fancy)): its tensors are counted, its arithmetic is not\n");
  EXPECT_EQ(problem_with(model, {.strict = true}),
            "unsupported: model.onnx: node 'f' (Fancy): Strata does not know the operator "
            "my.domain.Fancy");
}

TEST(Onnx, a_newer_opset_is_read_with_a_warning) {
  WrittenModel model(26);
  model.input("x", {2, 4}).node({"Relu", {"x"}, {"y"}}).output("y");
  EXPECT_EQ(warnings_of(model.read()),
            "value-assumed: the file uses opset 26; its operators are read as those of opset 23\n");
}

}  // namespace
}  // namespace strata::onnx::test
