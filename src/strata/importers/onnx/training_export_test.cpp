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

const Tensor& own_of(const Graph& graph, std::string_view node, std::size_t index = 0) {
  const Node& owner = node_named(graph, node);
  return graph.tensors[owner.inputs.at(owner.first_own + index)];
}

bool wants_gradient(const Graph& graph, std::string_view node, std::size_t index = 0) {
  const Node& owner = node_named(graph, node);
  return bind_graph(graph, {}).tensors[owner.inputs.at(owner.first_own + index)].wants_gradient;
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

// A convolution of 6 channels, one kernel each.
WrittenModel depthwise_with(const std::string& kernel) {
  WrittenModel model;
  model.producer("pytorch").input("x", {"N", 6, 8, 8});
  model.node({"Conv", {"x", kernel}, {"y"}, {{"group", std::int64_t{6}}}, "conv"}).output("y");
  return model;
}

Reals six_times(const Reals& kernel) {
  Reals all;
  for (int channel = 0; channel < 6; ++channel) {
    all.insert(all.end(), kernel.begin(), kernel.end());
  }
  return all;
}

const Reals blur = {1, 2, 1, 2, 4, 2, 1, 2, 1};
const Integers six_kernels = {6, 1, 3, 3};

TEST(OnnxTrainingExport, a_kernel_that_is_written_at_a_node_is_not_learnt) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {"N", 6, 8, 8})
      .node(constant_node(weight("/pool/Constant_output_0", six_kernels)))
      .node({"Conv", {"x", "/pool/Constant_output_0"}, {"y"}, {{"group", std::int64_t{6}}}, "conv"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(own_of(graph, "conv").kind, TensorKind::constant);
  EXPECT_EQ(parameters_of(graph), 0);
}

TEST(OnnxTrainingExport, the_buffer_of_a_blur_is_told_by_its_numbers) {
  const auto kind_with = [](const std::string& name, const Reals& numbers) {
    const Graph graph = depthwise_with(name).store(table(name, six_kernels, numbers)).read();
    return own_of(graph, "conv").kind;
  };
  EXPECT_EQ(kind_with("pool.kernel", six_times(blur)), TensorKind::constant);
  EXPECT_EQ(kind_with("pool.weight", six_times(blur)), TensorKind::parameter) << "named so";
  Reals lopsided = blur;
  lopsided.back() = 3;
  EXPECT_EQ(kind_with("pool.kernel", six_times(lopsided)), TensorKind::parameter);
  Reals varied = six_times(blur);
  varied[20] = 5;
  EXPECT_EQ(kind_with("pool.kernel", varied), TensorKind::parameter) << "channels differ";
  EXPECT_EQ(kind_with("pool.kernel", six_times(Reals(9, 0.0F))), TensorKind::parameter);
}

TEST(OnnxTrainingExport, or_by_its_name_where_they_are_in_another_file) {
  const auto kind_with = [](const std::string& name) {
    return own_of(depthwise_with(name).store(weight(name, six_kernels)).read(), "conv").kind;
  };
  EXPECT_EQ(kind_with("pool.filt"), TensorKind::constant);
  EXPECT_EQ(kind_with("conv.kernel"), TensorKind::parameter);
}

TEST(OnnxTrainingExport, a_normalisation_without_scale_and_shift_has_none) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {"N", 6, 8, 8})
      .store(weight("bn.running_mean", {6}))
      .store(weight("bn.running_var", {6}))
      .node(constant_node(table("ones", {6}, Reals(6, 1.0F))))
      .node(constant_node(weight("zeros", {6})))
      .node({"BatchNormalization",
             {"x", "ones", "zeros", "bn.running_mean", "bn.running_var"},
             {"n"},
             {},
             "batch"})
      .node({"InstanceNormalization", {"n", "ones", "zeros"}, {"y"}, {}, "instance"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(node_named(graph, "batch").op, Operator(BatchNorm{.scale = false, .shift = false}));
  EXPECT_EQ(node_named(graph, "instance").op, Operator(GroupNorm{0, false, false}));
  EXPECT_EQ(parameters_of(graph), 0);
}

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

// ---- weights that nodes make --------------------------------------------------------------------

// A convolution whose weight is normalised per channel, as PyTorch's batch_norm without statistics
// is written. `scale`: of the normalisation.
WrittenModel standardised(const std::string& scale) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {"N", 3, 8, 8})
      .store(weight("conv.weight", {4, 3, 3, 3}))
      .store(table("conv.gain", {4, 1, 1, 1}, Reals(4, 1.0F)))
      .node(constant_node(scalar("factor", 0.2F)))
      .node(constant_node(table("ones", {4}, Reals(4, 1.0F))))
      .node(constant_node(table("zeros", {4}, Reals(4, 0.0F))))
      .node(constant_node(integers("rows", {1, 4, -1})))
      .node(constant_node(integers("list", {-1})))
      .node({"Reshape", {"conv.weight", "rows"}, {"w"}})
      .node({"Mul", {"conv.gain", "factor"}, {"g"}})
      .node({"Reshape", {"g", "list"}, {"gain"}})
      .node({"ReduceMean",
             {"w"},
             {"mean"},
             {{"axes", Integers{0, 2}}, {"keepdims", std::int64_t{0}}}})
      .node({"Mul", {"w", "w"}, {"square"}})
      .node({"ReduceMean",
             {"square"},
             {"var"},
             {{"axes", Integers{0, 2}}, {"keepdims", std::int64_t{0}}}})
      .node({"BatchNormalization", {"w", scale, "zeros", "mean", "var"}, {"n"}, {}, "standardise"})
      .node({"Shape", {"conv.weight"}, {"shape"}})
      .node({"Reshape", {"n", "shape"}, {"kernel"}})
      .node({"Conv", {"x", "kernel"}, {"y"}, {}, "conv"})
      .output("y");
  return model;
}

TEST(OnnxTrainingExport, the_weight_of_a_standardised_convolution_is_made_of_its_parameters) {
  const Graph graph = standardised("gain").read();
  EXPECT_EQ(operators_of(graph), "multiply reshape instance_norm reshape convolution");
  EXPECT_EQ(parameters_of(graph), 4 * 3 * 9 + 4) << "the weight and the gain";
  EXPECT_EQ(own_of(graph, "conv").kind, TensorKind::activation);
  EXPECT_TRUE(wants_gradient(graph, "conv"));
  EXPECT_EQ(node_named(graph, "standardise").op, Operator(GroupNorm{0, true, false}));
  EXPECT_TRUE(graph.warnings.empty()) << warnings_of(graph);
}

TEST(OnnxTrainingExport, a_standardised_weight_may_have_no_gain) {
  const Graph graph = standardised("ones").read();
  EXPECT_EQ(operators_of(graph), "instance_norm reshape convolution");
  EXPECT_EQ(parameters_of(graph), 4 * 3 * 9);
}

// BEiT: queries and values have a bias, keys have zeros.
TEST(OnnxTrainingExport, a_bias_of_several_parts_counts_those_that_are_learnt) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {"N", 6, 8})
      .store(weight("qkv.weight", {8, 24}))
      .store(weight("attn.q_bias", {8}))
      .store(weight("attn.v_bias", {8}))
      .node(constant_node(table("k_bias", {8}, Reals(8, 0.0F))))
      .node({"Concat",
             {"attn.q_bias", "k_bias", "attn.v_bias"},
             {"bias"},
             {{"axis", std::int64_t{0}}}})
      .node({"MatMul", {"x", "qkv.weight"}, {"m"}, {}, "qkv"})
      .node({"Add", {"bias", "m"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "concat linear");
  EXPECT_EQ(parameters_of(graph), 8 * 24 + 2 * 8);
}

// Every sample has a kernel of its own, a mixture of four; the samples are groups.
WrittenModel conditional(const Extent& batch) {
  WrittenModel model;
  model.producer("pytorch")
      .input("x", {batch, 3, 8, 8})
      .input("routes", {batch, 4})
      .store(weight("experts.weight", {4, 5 * 3 * 9}))
      .store(integers("kernels", {-1, 3, 3, 3}))
      .store(integers("one", {1, -1, 8, 8}))
      .store(integers("apart", {-1, 5, 6, 6}))
      .node({"MatMul", {"routes", "experts.weight"}, {"m"}})
      .node({"Reshape", {"m", "kernels"}, {"kernel"}})
      .node({"Reshape", {"x", "one"}, {"row"}})
      .node({"Conv", {"row", "kernel"}, {"c"}, {{"group", std::int64_t{2}}}, "conv"})
      .node({"Reshape", {"c", "apart"}, {"y"}})
      .output("y");
  return model;
}

TEST(OnnxTrainingExport, a_conditional_convolution_is_read_for_the_batch_of_the_file) {
  const Graph graph = conditional(2).read();
  EXPECT_TRUE(warns(graph, WarningCode::batch_fixed_in_file));
  EXPECT_EQ(parameters_of(graph), 4 * 5 * 3 * 9);
  EXPECT_EQ(output_shape(graph), "2×5×6×6");
}

TEST(OnnxTrainingExport, and_refused_by_its_name_for_any_other) {
  EXPECT_EQ(problem_with(conditional("N")),
            "unsupported: model.onnx: node 'conv' (Conv): a conditional convolution: its weight, "
            "5·batch×3×3×3, is mixed for every sample; with a batch that the file fixes it can be "
            "read");
}

// ---- group normalisation ------------------------------------------------------------------------

TEST(OnnxTrainingExport, group_normalisation_is_one_node) {
  const auto model = [](bool is_affine) {
    WrittenModel written;
    written.producer("pytorch")
        .input("x", {"N", 6, 8, 8})
        .store(weight("norm.weight", {6}))
        .store(weight("norm.bias", {6}))
        .node(constant_node(integers("groups", {0, 2, -1})))
        .node(constant_node(table("ones", {2}, Reals(2, 1.0F))))
        .node(constant_node(table("zeros", {2}, Reals(2, 0.0F))))
        .node(constant_node(integers("axes", {1, 2})))
        .node({"Reshape", {"x", "groups"}, {"g"}})
        .node({"InstanceNormalization", {"g", "ones", "zeros"}, {"n"}, {}, "norm"})
        .node({"Shape", {"x"}, {"shape"}})
        .node({"Reshape", {"n", "shape"}, {is_affine ? "r" : "y"}});
    if (is_affine) {
      written.node({"Unsqueeze", {"norm.weight", "axes"}, {"w"}})
          .node({"Mul", {"r", "w"}, {"m"}})
          .node({"Unsqueeze", {"norm.bias", "axes"}, {"b"}})
          .node({"Add", {"m", "b"}, {"y"}});
    }
    return written.output("y");
  };
  const Graph affine = model(true).read();
  EXPECT_EQ(operators_of(affine), "group_norm");
  EXPECT_EQ(node_named(affine, "norm").op, Operator(GroupNorm{2, true, true}));
  EXPECT_EQ(parameters_of(affine), 12);
  EXPECT_EQ(node_named(model(false).read(), "norm").op, Operator(GroupNorm{2, false, false}));
  EXPECT_EQ(operators_of(model(true).read({.fuse = false})),
            "reshape instance_norm reshape multiply add");
}

}  // namespace
}  // namespace strata::onnx::test
