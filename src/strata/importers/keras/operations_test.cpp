// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"

namespace strata::keras {
namespace {

const std::string operand = "[null, 4, 5, 6]";

/// One TFOpLambda that reads the input "i".
Built tf(std::string_view function, std::string_view keywords, std::string_view shape = operand) {
  return Built(functional({input_entry("i", shape),
                           entry("TFOpLambda", "f", fmt::format(R"("function": "{}")", function),
                                 fmt::format(R"(["i", 0, 0, {{{}}}])", keywords))},
                          R"(["i", 0, 0])", R"(["f", 0, 0])"));
}

TEST(KerasOperation, arithmetic_with_constants) {
  const Built scaled = tf("math.multiply", R"("y": 0.1, "name": null)");
  EXPECT_EQ(scaled.op<Elementwise>("f").kind, ElementwiseKind::multiply);
  EXPECT_EQ(scaled.output_shape(), (Extent{2, 6, 4, 5}));
  EXPECT_EQ(scaled.parameters() + scaled.buffers(), 0);
  const Built shifted = tf("math.subtract", R"("y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])");
  EXPECT_EQ(shifted.shape(shifted.find("f")->inputs[1]), (Extent{1, 6, 1, 1}));
  const Built reversed(functional(
      {input_entry("i", operand), entry("TFOpLambda", "f", R"("function": "math.subtract")",
                                        R"(["_CONSTANT_VALUE", -1, 1.0, {"y": ["i", 0, 0]}])")},
      R"(["i", 0, 0])", R"(["f", 0, 0])"));
  EXPECT_EQ(reversed.output_shape(), (Extent{2, 6, 4, 5}));
}

TEST(KerasOperation, arithmetic_between_tensors_broadcasts_as_numpy) {
  const Built net(functional({input_entry("i", operand), input_entry("j", "[null, 1, 1, 6]"),
                              entry("TFOpLambda", "f", R"("function": "__operators__.add")",
                                    R"(["i", 0, 0, {"y": ["j", 0, 0]}])")},
                             R"(["i", 0, 0], ["j", 0, 0])", R"(["f", 0, 0])"));
  EXPECT_EQ(net.output_shape(), (Extent{2, 6, 4, 5}));
  EXPECT_EQ(net.count<Transpose>(), 0U);
}

TEST(KerasOperation, functions_and_reductions) {
  EXPECT_EQ(tf("nn.relu", "").op<Unary>("f").kind, UnaryKind::relu);
  EXPECT_EQ(tf("math.reduce_mean", R"("axis": [1, 2])").output_shape(), (Extent{2, 6}));
  EXPECT_EQ(tf("math.reduce_mean", R"("axis": [1, 2], "keepdims": true)").output_shape(),
            (Extent{2, 6, 1, 1}));
  EXPECT_EQ(tf("math.reduce_max", R"("axis": -1)").output_shape(), (Extent{2, 4, 5}));
  EXPECT_EQ(tf("nn.softmax", R"("axis": -1)").op<Softmax>("f").axis, 1);
}

TEST(KerasOperation, shapes) {
  EXPECT_EQ(tf("reshape", R"("shape": [-1, 20, 6])").output_shape(), (Extent{2, 6, 20}));
  EXPECT_EQ(tf("transpose", R"("perm": [0, 3, 1, 2])").count<Transpose>(), 0U);
  EXPECT_EQ(tf("expand_dims", R"("axis": 1)", "[null, 7]").output_shape(), (Extent{2, 1, 7}));
  EXPECT_EQ(tf("squeeze", R"("axis": [1])", "[null, 1, 7]").output_shape(), (Extent{2, 7}));
}

TEST(KerasOperation, graph_operations_keep_their_constants) {
  const Built net(
      functional({input_entry("i", operand),
                  entry("TensorFlowOpLayer", "f",
                        R"("node_def": {"name": "mul", "op": "Mul"}, "constants": {"1": 0.5})",
                        R"([["i", 0, 0, {}]])")},
                 R"(["i", 0, 0])", R"(["f", 0, 0])"));
  EXPECT_EQ(net.op<Elementwise>("f").kind, ElementwiseKind::multiply);
}

TEST(KerasOperation, what_is_not_understood_needs_a_shape) {
  EXPECT_EQ(complaint(functional({input_entry("i", operand),
                                  entry("TFOpLambda", "f", R"("function": "image.extract_patches")",
                                        R"(["i", 0, 0, {"sizes": [1, 2, 2, 1]}])")},
                                 R"(["i", 0, 0])", R"(["f", 0, 0])")),
            "unsupported: net.json: layer 'f': class 'TFOpLambda' is unknown to Strata, and the "
            "file does not tell the shape of its output");
}

// ---- layers that Strata does not know -----------------------------------------------------------

TEST(KerasOpaque, a_lambda_may_state_its_shape) {
  const Built net(sequential("[null, 7]", {layer("Lambda", R"("function": ["x"],
      "function_type": "lambda", "output_shape": [3], "output_shape_type": "raw")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 3}));
  ASSERT_EQ(net.graph.warnings.size(), 1U);
  EXPECT_EQ(net.graph.warnings[0].message,
            "layer 'x': 'Lambda' is unknown to Strata: neither its arithmetic nor its weights are "
            "counted");
}

TEST(KerasOpaque, a_reader_may_tell_the_shape) {
  const Built net(
      functional({input_entry("i", operand), entry("MyLayer", "m", "", R"([["i", 0, 0, {}]])"),
                  entry("Dense", "d", R"("units": 3, "batch_input_shape": [null, 9])",
                        R"([["m", 0, 0, {}]])")},
                 R"(["i", 0, 0])", R"(["d", 0, 0])"));
  EXPECT_EQ(net.shape_of("m"), (Extent{2, 9}));
  EXPECT_EQ(net.parameters(), 30);
}

TEST(KerasCustom, layers_of_the_applications) {
  const Built scale(sequential(operand, {layer("LayerScale", R"("projection_dim": 6)")}));
  EXPECT_EQ(scale.parameters(), 6);
  EXPECT_EQ(scale.output_shape(), (Extent{2, 6, 4, 5}));
  const Built custom(functional(
      {input_entry("a", operand), input_entry("b", operand),
       entry("CustomScaleLayer", "c", R"("scale": 0.17)", R"([["a", 0, 0, {}], ["b", 0, 0, {}]])")},
      R"(["a", 0, 0], ["b", 0, 0])", R"(["c", 0, 0])"));
  EXPECT_EQ(custom.parameters(), 0);
  EXPECT_EQ(custom.count<Elementwise>(), 2U);
}

TEST(KerasCustom, layers_of_detectors) {
  const auto upsampled = [](std::string_view from, std::string_view like, const Binding& binding) {
    return Built(
        functional({input_entry("a", from), input_entry("b", like),
                    entry("UpsampleLike", "u", "", R"([["a", 0, 0, {}], ["b", 0, 0, {}]])")},
                   R"(["a", 0, 0], ["b", 0, 0])", R"(["u", 0, 0])"),
        binding);
  };
  const Binding two = {{"batch", 2}};
  EXPECT_EQ(upsampled(operand, "[null, 8, 10, 3]", two).op<Resize>("u").scale, (Extents{2, 2}));
  EXPECT_EQ(upsampled(operand, "[null, 7, 10, 3]", two).op<Resize>("u").output, (Extents{7, 10}));
  const Built open =
      upsampled(operand, "[null, null, null, 3]", {{"batch", 2}, {"height", 9}, {"width", 11}});
  EXPECT_EQ(open.output_shape(), (Extent{2, 6, 9, 11}));
  const Built anchors(
      sequential(operand, {layer("Anchors", R"("ratios": [1, 2], "scales": [1, 2, 3])")}));
  EXPECT_EQ(anchors.output_shape(), (Extent{2, 4 * 5 * 6, 4}));
  EXPECT_EQ(anchors.graph.warnings[0].message,
            "layer 'x': the arithmetic of 'Anchors' is not counted");
}

// ---- merging ------------------------------------------------------------------------------------

TEST(KerasMerge, products_over_an_axis) {
  const auto dot = [](std::string_view a, std::string_view b, std::string_view axes) {
    return Built(
        functional({input_entry("a", a), input_entry("b", b),
                    entry("Dot", "d", fmt::format(R"("axes": {}, "normalize": false)", axes),
                          R"([["a", 0, 0, {}], ["b", 0, 0, {}]])")},
                   R"(["a", 0, 0], ["b", 0, 0])", R"(["d", 0, 0])"));
  };
  EXPECT_EQ(dot("[null, 5]", "[null, 5]", "1").output_shape(), (Extent{2, 1}));
  EXPECT_EQ(dot("[null, 3, 5]", "[null, 4, 5]", "2").output_shape(), (Extent{2, 3, 4}));
  EXPECT_EQ(dot("[null, 5, 3]", "[null, 5, 4]", "1").output_shape(), (Extent{2, 3, 4}));
  EXPECT_EQ(dot("[null, 3, 5]", "[null, 5, 4]", "[2, 1]").output_shape(), (Extent{2, 3, 4}));
  EXPECT_EQ(dot("[null, 5]", "[null, 4, 5]", "[1, 2]").output_shape(), (Extent{2, 4}));
}

TEST(KerasMerge, branches_of_a_sequential_model_of_keras_1) {
  const auto branch = [](int number) {
    return fmt::format(
        R"({{"class_name": "Sequential", "config": [{{"class_name": "Dense", "config": {{
            "name": "dense_{0}", "output_dim": 3, "batch_input_shape": [null, {0}]}}}}]}})",
        number);
  };
  const Built net(fmt::format(
      R"({{"class_name": "Sequential", "config": [{{"class_name": "Merge", "config": {{
          "name": "merge", "mode": "concat", "concat_axis": 1, "layers": [{}, {}]}}}},
          {{"class_name": "Dense", "config": {{"name": "last", "output_dim": 1}}}}]}})",
      branch(4), branch(5)));
  EXPECT_EQ(net.graph.inputs.size(), 2U);
  EXPECT_EQ(net.parameters(), (4 * 3 + 3) + (5 * 3 + 3) + 7);
}

}  // namespace
}  // namespace strata::keras
