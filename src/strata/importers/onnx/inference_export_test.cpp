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
            "inference folds them into the weights, and training results lack their time; call "
            "model.train() and export with torch.onnx.export(model, args, file, "
            "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False), with "
            "dynamo=False as well from PyTorch 2.5 on, or put them back with --assume-bn\n");
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

// Two convolutions: the first has its normalisation, that of the second is folded.
WrittenModel half_folded(const std::string& second) {
  WrittenModel model;
  model.input("x", {1, 3, 16, 16})
      .store(weight("w", {8, 3, 3, 3}))
      .store(weight(second, {8, 8, 3, 3}))
      .store(weight("c", {8}))
      .store(weight("third", {8, 8, 3, 3}));
  for (const char* name : {"s", "b", "m", "v"}) model.store(weight(name, {8}));
  model.node({"Conv", {"x", "w"}, {"a"}})
      .node({"BatchNormalization", {"a", "s", "b", "m", "v"}, {"n"}})
      .node({"Conv", {"n", second, "c"}, {"r"}})
      .node({"Relu", {"r"}, {"q"}})
      .node({"Conv", {"q", "third"}, {"y"}})
      .output("y");
  return model;
}

TEST(OnnxInferenceExport, a_partly_folded_export_is_noticed) {
  const Graph graph = half_folded("onnx::Conv_17").read();
  EXPECT_NE(warnings_of(graph).find("batch-norm-folded: the export folded 1 of its 2 batch "
                                    "normalisations into the convolutions before them"),
            std::string::npos)
      << warnings_of(graph);
  EXPECT_FALSE(warns(half_folded("w2").read(), WarningCode::batch_norm_folded));
}

TEST(OnnxInferenceExport, only_what_is_missing_is_put_back) {
  EXPECT_EQ(operators_of(half_folded("onnx::Conv_17").read({.assume_batch_norm = true})),
            "convolution batch_norm convolution batch_norm relu convolution");
  const Graph whole = half_folded("w2").read({.assume_batch_norm = true});
  EXPECT_EQ(count_of(whole, "batch_norm"), 1);
  EXPECT_EQ(warnings_of(whole),
            "value-assumed: --assume-bn adds none: no batch normalisation is missing after its 3 "
            "convolutions\n");
}

// A convolution under test, with what stands before and after it, and a second one so that it makes
// no prediction. How many normalisations are assumed.
std::int64_t assumed_norms(const WrittenModel& model) {
  return count_of(model.read({.assume_batch_norm = true}), "batch_norm");
}

TEST(OnnxInferenceExport, none_is_assumed_beside_layer_and_group_normalisation) {
  WrittenModel model;
  model.input("x", {1, 8, 16, 16})
      .store(weight("w1", {8, 8, 3, 3}))
      .store(weight("w2", {8, 8, 3, 3}))
      .store(weight("s", {8}))
      .store(weight("b", {8}))
      .node({"Conv", {"x", "w1"}, {"a"}})
      .node({"InstanceNormalization", {"a", "s", "b"}, {"n"}})
      .node({"Conv", {"n", "w2"}, {"c"}})
      .node({"Add", {"c", "c"}, {"y"}})
      .output("y");
  EXPECT_EQ(assumed_norms(model), 0);
}

TEST(OnnxInferenceExport, none_is_assumed_in_squeeze_and_excitation) {
  WrittenModel model;
  model.input("x", {1, 8, 16, 16})
      .store(weight("w", {8, 8, 3, 3}))
      .store(weight("squeeze", {2, 8, 1, 1}))
      .store(weight("excite", {8, 2, 1, 1}))
      .node({"Conv", {"x", "w"}, {"c"}})
      .node({"GlobalAveragePool", {"c"}, {"p"}})
      .node({"Conv", {"p", "squeeze"}, {"a"}})
      .node({"Relu", {"a"}, {"r"}})
      .node({"Conv", {"r", "excite"}, {"b"}})
      .node({"Sigmoid", {"b"}, {"g"}})
      .node({"Mul", {"c", "g"}, {"y"}})
      .output("y");
  EXPECT_EQ(assumed_norms(model), 1);
}

TEST(OnnxInferenceExport, none_is_assumed_after_a_patch_embedding) {
  WrittenModel model;
  model.input("x", {1, 3, 16, 16})
      .store(weight("patches", {8, 3, 4, 4}))
      .store(weight("fc", {8, 8}))
      .store(integers("sequence", {0, 8, -1}))
      .node({"Conv", {"x", "patches"}, {"c"}, {{"strides", Integers{4, 4}}}})
      .node({"Reshape", {"c", "sequence"}, {"s"}})
      .node({"Transpose", {"s"}, {"t"}, {{"perm", Integers{0, 2, 1}}}})
      .node({"MatMul", {"t", "fc"}, {"y"}})
      .output("y");
  EXPECT_EQ(assumed_norms(model), 0);
}

TEST(OnnxInferenceExport, none_is_assumed_at_a_prediction) {
  WrittenModel model;
  model.input("x", {1, 8, 16, 16})
      .store(weight("w", {8, 8, 3, 3}))
      .store(weight("classes", {5, 8, 1, 1}))
      .node({"Conv", {"x", "w"}, {"c"}})
      .node({"Relu", {"c"}, {"r"}})
      .node({"Conv", {"r", "classes"}, {"h"}})
      .node({"Relu", {"h"}, {"q"}})
      .node({"GlobalAveragePool", {"q"}, {"p"}})
      .node({"Flatten", {"p"}, {"y"}})
      .output("y");
  EXPECT_EQ(assumed_norms(model), 1);
}

TEST(OnnxInferenceExport, biases_that_the_export_left_out_are_said) {
  WrittenModel model;
  NodeText layer{"Conv", {"x", "w"}, {"y"}};
  layer.rewrite = "RemoveOptionalBiasFromConv";
  model.input("x", {1, 3, 16, 16}).store(weight("w", {8, 3, 3, 3})).node(layer).output("y");
  EXPECT_EQ(warnings_of(model.read()),
            "part-ignored: the export left out the bias of 1 layer, 8 parameters that were zero "
            "(RemoveOptionalBias in the file); training has them\n");
}

// What torch.export's signature and the paths of nodes say of a folded network: a convolution whose
// normalisation is gone, and a classifier whose bias was zero.
WrittenModel recorded(const std::string& signature) {
  WrittenModel model;
  NodeText conv{"Conv", {"x", "conv.weight"}, {"c"}, {}, "node_conv"};
  conv.scopes = "['', 'stem', 'stem.bn', '_native_batch_norm_legit_no_training']";
  conv.rewrite = "RemoveOptionalBiasFromConv, FuseBatchNormIntoConv, RemoveOptionalBiasFromConv";
  NodeText fc{"Gemm", {"f", "fc.weight"}, {"y"}, {{"transB", std::int64_t{1}}}, "node_fc"};
  fc.scopes = "['', 'fc', 'linear']";
  fc.rewrite = "RemoveOptionalBiasFromGemm";
  model.signature(signature)
      .producer("pytorch")
      .input("x", {"N", 3, 8, 8})
      .store(weight("conv.weight", {4, 3, 8, 8}))
      .store(weight("fc.weight", {5, 4}))
      .node(conv)
      .node({"Flatten", {"c"}, {"f"}})
      .node(fc)
      .output("y");
  return model;
}

const std::string whole_signature =
    "# inputs\n"
    "p_conv_weight: PARAMETER target='conv.weight'\n"
    "p_stem_bn_weight: PARAMETER target='stem.bn.weight'\n"
    "p_stem_bn_bias: PARAMETER target='stem.bn.bias'\n"
    "b_stem_bn_running_mean: BUFFER target='stem.bn.running_mean' persistent=True\n"
    "p_fc_weight: PARAMETER target='fc.weight'\n"
    "p_fc_bias: PARAMETER target='fc.bias'\n"
    "x: USER_INPUT\n";

TEST(OnnxInferenceExport, what_the_file_records_is_put_back) {
  const Graph graph = recorded(whole_signature).read();
  EXPECT_EQ(operators_of(graph), "convolution batch_norm reshape linear");
  EXPECT_EQ(parameters_of(graph), 4 * 3 * 64 + 2 * 4 + 5 * 4 + 5);
  const Node& norm = node_named(graph, "stem.bn");
  EXPECT_EQ(graph.tensors[norm.inputs[1]].name, "stem.bn.weight");
  EXPECT_EQ(graph.tensors[norm.inputs[3]].name, "stem.bn.running_mean");
  EXPECT_EQ(warnings_of(graph),
            "value-assumed: 1 batch normalisation that the export folded into convolutions is put "
            "back, as the file names its tensors; not with --no-fuse\n"
            "value-assumed: the export left out the bias of 1 layer, 5 parameters that were zero; "
            "put back, as the file names it\n");
}

TEST(OnnxInferenceExport, a_file_can_be_read_as_it_is) {
  const Graph graph = recorded(whole_signature).read({.fuse = false});
  EXPECT_EQ(operators_of(graph), "convolution reshape linear");
  EXPECT_TRUE(warns(graph, WarningCode::batch_norm_folded));
}

TEST(OnnxInferenceExport, a_recorded_normalisation_is_what_its_tensors_say) {
  const Graph graph = recorded(
                          "b_stem_bn_running_mean: BUFFER target='stem.bn.running_mean'\n"
                          "p_conv_bias: PARAMETER target='conv.bias'\n")
                          .read();
  EXPECT_EQ(operators_of(graph), "convolution batch_norm reshape linear");
  EXPECT_EQ(parameters_of(graph), 4 * 3 * 64 + 4 + 5 * 4) << "a bias, no scale and no shift";
}

TEST(OnnxInferenceExport, a_layer_without_a_bias_gets_none) {
  const Graph graph = recorded("p_fc_weight: PARAMETER target='fc.weight'\n").read();
  EXPECT_EQ(operators_of(graph), "convolution reshape linear");
  EXPECT_TRUE(warns(graph, WarningCode::batch_norm_folded));
  EXPECT_FALSE(warns(graph, WarningCode::part_ignored)) << "the exporter removed zeros of its own";
}

TEST(OnnxInferenceExport, paths_that_end_early_record_nothing) {
  for (const std::string scopes : {"batch_norm", "'batch_norm", "''batch_norm", "', 'batch_norm",
                                   "'stem.bn', batch_norm", "stem.bn', 'batch_norm"}) {
    WrittenModel model;
    NodeText conv{"Conv", {"x", "w"}, {"y"}};
    conv.scopes = scopes;
    model.signature(whole_signature).input("x", {1, 3, 8, 8}).store(weight("w", {4, 3, 3, 3}));
    EXPECT_EQ(operators_of(model.node(conv).output("y").read()), "convolution") << scopes;
  }
}

// SqueezeNet's and EfficientNet's classifiers begin with dropout, of which inference leaves a gap.
TEST(OnnxInferenceExport, a_gap_before_the_last_layer_was_dropout) {
  const auto is_missing = [](const std::string& number, const std::string& before) {
    WrittenModel model;
    model.input("x", {1, 8})
        .store(weight("classifier." + number + ".weight", {8, 8}))
        .node({"Relu", {"x"}, {"r"}, {}, before})
        .node({"MatMul",
               {"r", "classifier." + number + ".weight"},
               {"y"},
               {},
               "/classifier/classifier." + number + "/MatMul"})
        .output("y");
    return warns(model.read(), WarningCode::dropout_missing);
  };
  EXPECT_TRUE(is_missing("1", "/features/Relu"));
  EXPECT_FALSE(is_missing("1", "/classifier/classifier.0/Relu"));
  EXPECT_FALSE(is_missing("0", "/features/Relu"));
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
