// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

// What PyTorch writes of a network in training mode: nothing is folded, and what is computed of
// parameters in every iteration stands in the file as nodes.
namespace strata::onnx::test {
namespace {

NodeText constant_node(const TensorText& tensor) {
  return {"Constant", {}, {tensor.name}, {{"value", tensor}}};
}

// ---- padding as in TensorFlow -------------------------------------------------------------------

// max(0, (⌈in/stride⌉ − 1)·stride + cover − in) of the last axis, as nodes; in front of a
// convolution without padding of its own.
WrittenModel padded_as_in_tensorflow(std::int64_t extent, const NodeText& clip) {
  WrittenModel model(clip.attributes.empty() ? 13 : 9);
  model.producer("pytorch")
      .input("x", {"N", 3, 9, extent})
      .store(weight("conv.weight", {4, 3, 1, 3}))
      .node(constant_node({"last", int64, {}, {3}}))
      .node(constant_node(scalar("stride", 2)))
      .node(constant_node(scalar("one", 1)))
      .node(constant_node(scalar("cover", 3)))
      .node(constant_node(scalar("zero", 0)))
      .node(constant_node(integers("none", {0, 0, 0, 0, 0, 0, 0})))
      .node(constant_node(integers("list", {1})))
      .node({"Shape", {"x"}, {"shape"}})
      .node({"Gather", {"shape", "last"}, {"extent"}})
      .node({"Cast", {"extent"}, {"in"}, {{"to", std::int64_t{fp32}}}})
      .node({"Div", {"in", "stride"}, {"a"}})
      .node({"Ceil", {"a"}, {"b"}})
      .node({"Sub", {"b", "one"}, {"c"}})
      .node({"Mul", {"c", "stride"}, {"d"}})
      .node({"Add", {"d", "cover"}, {"e"}})
      .node({"Sub", {"e", "in"}, {"f"}})
      .node(clip)
      .node({"Cast", {"clipped"}, {"whole"}, {{"to", std::int64_t{int64}}}})
      .node({"Reshape", {"whole", "list"}, {"end"}})
      .node({"Concat", {"none", "end"}, {"pads"}, {{"axis", std::int64_t{0}}}})
      .node({"Pad", {"x", "pads"}, {"padded"}})
      .node({"Conv", {"padded", "conv.weight"}, {"y"}, {{"strides", Integers{1, 2}}}, "conv"})
      .output("y");
  return model;
}

TEST(OnnxTrainingExport, the_padding_of_tensorflow_is_known) {
  const NodeText clip{"Clip", {"f", "zero", ""}, {"clipped"}};
  EXPECT_EQ(output_shape(padded_as_in_tensorflow(16, clip).read()), "batch×4×9×8");
  EXPECT_EQ(output_shape(padded_as_in_tensorflow(15, clip).read()), "batch×4×9×8");
  EXPECT_EQ(operators_of(padded_as_in_tensorflow(16, clip).read()), "pad convolution");
  const NodeText at_most{"Clip", {"f", "", "zero"}, {"clipped"}};
  EXPECT_EQ(operators_of(padded_as_in_tensorflow(16, at_most).read()), "convolution");
}

TEST(OnnxTrainingExport, bounds_of_a_clip_were_attributes_once) {
  const NodeText clip{"Clip", {"f"}, {"clipped"}, {{"min", 0.0F}, {"max", 6.0F}}};
  EXPECT_EQ(output_shape(padded_as_in_tensorflow(16, clip).read()), "batch×4×9×8");
}

// ---- what is learnt and what is not -------------------------------------------------------------

// StarReLU of MetaFormer: s · relu(x)² + b with two numbers that are learnt.
TEST(OnnxTrainingExport, a_single_number_with_the_path_of_a_parameter_is_learnt) {
  const auto parameters_with = [](const std::string& name) {
    WrittenModel model;
    model.producer("pytorch")
        .input("x", {"N", 6})
        .store(table(name, {1}, {1.0F}))
        .node({"Mul", {"x", name}, {"y"}})
        .output("y");
    return parameters_of(model.read());
  };
  EXPECT_EQ(parameters_with("act.scale"), 1);
  EXPECT_EQ(parameters_with("onnx::Mul_12"), 0);
}

TEST(OnnxTrainingExport, what_is_computed_of_a_parameter_is_not_folded) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {"N", 4, 6})
      .store(table("attn.temperature", {4, 1}, Reals(4, 2.3F)))
      .node(constant_node(scalar("most", 4.6F)))
      .node({"Clip", {"attn.temperature", "", "most"}, {"clipped"}})
      .node({"Exp", {"clipped"}, {"scale"}})
      .node({"Mul", {"x", "scale"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "clip exponential multiply");
  EXPECT_EQ(parameters_of(graph), 4);
}

}  // namespace
}  // namespace strata::onnx::test
