// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

namespace strata::onnx::test {
namespace {

// Convolutions with a residual sum around each; weights named by `prefix`.
WrittenModel residual_network(int blocks, const std::string& prefix,
                              const std::string& scopes = {}) {
  WrittenModel model;
  model.input("x0", {1, 8, 16, 16});
  for (int i = 0; i < blocks; ++i) {
    const std::string number = std::to_string(i);
    const std::string x = "x" + number;
    model.store(weight(prefix + number, {8, 8, 3, 3}))
        .store(weight(prefix + "bias" + number, {8}))
        .node({"Conv",
               {x, prefix + number, prefix + "bias" + number},
               {"c" + number},
               {{"pads", Integers{1, 1, 1, 1}}},
               "conv" + number,
               {},
               scopes})
        .node({"Relu", {"c" + number}, {"r" + number}})
        .node({"Add", {"r" + number, x}, {"x" + std::to_string(i + 1)}});
  }
  model.output("x" + std::to_string(blocks));
  return model;
}

TEST(OnnxInferenceExport, a_deep_residual_network_without_normalisation_is_suspect) {
  const Graph graph = residual_network(8, "w").read();
  EXPECT_EQ(warnings_of(graph),
            "batch-norm-folded: no batch normalisation follows its 8 convolutions: an export for "
            "inference folds them into the weights, and training results lack their time; export "
            "with torch.onnx.export(model, args, file, training=torch.onnx.TrainingMode.PRESERVE, "
            "do_constant_folding=False, dynamo=False), or put one after each convolution with "
            "--assume-bn\n");
  EXPECT_FALSE(warns(residual_network(2, "w").read(), WarningCode::batch_norm_folded));
}

TEST(OnnxInferenceExport, the_exporters_traces_are_proof) {
  EXPECT_TRUE(warns(residual_network(1, "onnx::Conv_").read(), WarningCode::batch_norm_folded));
  EXPECT_TRUE(warns(residual_network(1, "w", "['', 'bn1', '_native_batch_norm_legit']").read(),
                    WarningCode::batch_norm_folded));
}

TEST(OnnxInferenceExport, normalisations_can_be_put_back) {
  const WrittenModel model = residual_network(8, "w");
  const Graph graph = model.read({.assume_batch_norm = true});
  EXPECT_EQ(count_of(graph, "batch_norm"), 8);
  // Scale and shift take the place of the bias that they were folded into.
  EXPECT_EQ(parameters_of(graph), 8 * (8 * 8 * 9 + 8 + 8));
  EXPECT_EQ(warnings_of(graph),
            "value-assumed: a batch normalisation is assumed after 8 of 8 convolutions\n");
  EXPECT_EQ(output_shape(graph), output_shape(model.read()));
}

TEST(OnnxInferenceExport, a_convolution_that_has_one_gets_no_second) {
  WrittenModel model;
  model.input("x", {1, 3, 16, 16}).store(weight("w", {8, 3, 3, 3}));
  for (const char* name : {"s", "b", "m", "v"}) model.store(weight(name, {8}));
  model.node({"Conv", {"x", "w"}, {"a"}})
      .node({"BatchNormalization", {"a", "s", "b", "m", "v"}, {"y"}})
      .output("y");
  EXPECT_EQ(operators_of(model.read({.assume_batch_norm = true})), "convolution batch_norm");
}

TEST(OnnxInferenceExport, weights_of_whole_numbers_have_no_gradient) {
  const auto warnings = [](std::int32_t type) {
    WrittenModel model;
    model.input("x", {1, 3, 8, 8}, type)
        .store(weight("w", {4, 3, 3, 3}, type))
        .node({"Conv", {"x", "w"}, {"y"}})
        .output("y");
    return warnings_of(model.read());
  };
  EXPECT_EQ(warnings(int8),
            "value-assumed: all its weights are whole numbers, which have no gradient: it is taken "
            "for a network for inference, without a backward pass; export it before "
            "quantisation\n");
  EXPECT_EQ(warnings(fp16), "");
}

TEST(OnnxInferenceExport, classifiers_of_old_want_dropout) {
  WrittenModel model;
  model.input("x", {1, 3, 16, 16})
      .store(weight("w", {8, 3, 16, 16}))
      .store(weight("a", {8, 8}))
      .store(weight("b", {8, 8}))
      .node({"Conv", {"x", "w"}, {"c"}})
      .node({"Flatten", {"c"}, {"f"}})
      .node({"MatMul", {"f", "a"}, {"d"}})
      .node({"Relu", {"d"}, {"e"}})
      .node({"MatMul", {"e", "b"}, {"y"}})
      .output("y");
  EXPECT_TRUE(warns(model.read(), WarningCode::dropout_missing));
}

}  // namespace
}  // namespace strata::onnx::test
