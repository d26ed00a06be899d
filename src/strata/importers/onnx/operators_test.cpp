// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

// One line per operator: what a node of the file becomes, and the shape of its result.
namespace strata::onnx::test {
namespace {

struct Case {
  std::string title;
  WrittenModel model;
  std::string operators;
  std::string shape;
};

/// A node that reads x and stored tensors; y is its result.
Case of(std::string title, std::vector<Extent> x, std::vector<TensorText> stored, NodeText node,
        std::string operators, std::string shape, std::int64_t opset = 17,
        std::int32_t type = fp32) {
  Case result{std::move(title), WrittenModel(opset), std::move(operators), std::move(shape)};
  result.model.input("x", std::move(x), type);
  for (const TensorText& tensor : stored) result.model.store(tensor);
  if (node.outputs.empty()) node.outputs = {"y"};
  result.model.node(node).output("y");
  return result;
}

void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.title);
    try {
      const Graph graph = one.model.read();
      EXPECT_EQ(operators_of(graph), one.operators);
      EXPECT_EQ(output_shape(graph), one.shape);
      EXPECT_NO_THROW(bind_graph(graph, {}));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

const std::vector<Extent> image = {"N", 6, 9, 9};

TEST(OnnxOperators, convolutions) {
  const auto conv = [](std::vector<Attribute> attributes) {
    return NodeText{"Conv", {"x", "w"}, {}, std::move(attributes)};
  };
  const TensorText w = weight("w", {4, 6, 3, 3});
  const TensorText t = weight("w", {6, 4, 3, 3});
  const auto transposed = [](std::vector<Attribute> attributes) {
    return NodeText{"ConvTranspose", {"x", "w"}, {}, std::move(attributes)};
  };
  check({
      of("plain", image, {w}, conv({}), "convolution", "batch×4×7×7"),
      of("stride", image, {w}, conv({{"strides", Integers{2, 2}}}), "convolution", "batch×4×4×4"),
      of("dilation", image, {w}, conv({{"dilations", Integers{2, 2}}}), "convolution",
         "batch×4×5×5"),
      of("uneven padding", image, {w}, conv({{"pads", Integers{1, 0, 2, 1}}}), "convolution",
         "batch×4×10×8"),
      of("same upper", image, {w}, conv({{"auto_pad", "SAME_UPPER"}, {"strides", Integers{2, 2}}}),
         "convolution", "batch×4×5×5"),
      of("same lower", image, {w}, conv({{"auto_pad", "SAME_LOWER"}}), "convolution",
         "batch×4×9×9"),
      of("valid", image, {w}, conv({{"auto_pad", "VALID"}}), "convolution", "batch×4×7×7"),
      of("groups", image, {weight("w", {4, 3, 3, 3})}, conv({{"group", std::int64_t{2}}}),
         "convolution", "batch×4×7×7"),
      of("one axis", {"N", 6, 9}, {weight("w", {4, 6, 3})}, conv({}), "convolution", "batch×4×7"),
      of("three axes", {"N", 6, 9, 9, 9}, {weight("w", {4, 6, 3, 3, 3})}, conv({}), "convolution",
         "batch×4×7×7×7"),
      of("transposed", image, {t}, transposed({{"strides", Integers{2, 2}}}),
         "transposed_convolution", "batch×4×19×19"),
      of("transposed, same", image, {t},
         transposed({{"strides", Integers{2, 2}}, {"auto_pad", "SAME_UPPER"}}),
         "transposed_convolution", "batch×4×18×18"),
      of("transposed, to a shape", image, {t},
         transposed({{"strides", Integers{2, 2}}, {"output_shape", Integers{20, 17}}}),
         "transposed_convolution", "batch×4×20×17"),
      of("transposed, with output padding", image, {t},
         transposed({{"strides", Integers{2, 2}}, {"output_padding", Integers{1, 1}}}),
         "transposed_convolution", "batch×4×20×20"),
  });
}

TEST(OnnxOperators, pooling) {
  const auto pool = [](const char* op, std::vector<Attribute> attributes) {
    attributes.emplace_back("kernel_shape", Integers{3, 3});
    return NodeText{op, {"x"}, {}, std::move(attributes)};
  };
  check({
      of("max", image, {}, pool("MaxPool", {}), "max_pool", "batch×6×7×7"),
      of("average", image, {}, pool("AveragePool", {{"strides", Integers{2, 2}}}), "average_pool",
         "batch×6×4×4"),
      of("rounded up", {"N", 6, 8, 8}, {},
         pool("MaxPool", {{"strides", Integers{2, 2}}, {"ceil_mode", std::int64_t{1}}}), "max_pool",
         "batch×6×4×4"),
      of("same", image, {},
         pool("MaxPool", {{"strides", Integers{2, 2}}, {"auto_pad", "SAME_UPPER"}}), "max_pool",
         "batch×6×5×5"),
      of("global", image, {}, {"GlobalMaxPool", {"x"}, {}}, "adaptive_max_pool", "batch×6×1×1"),
      of("a mean over space", image, {integers("axes", {-1, -2})},
         {"ReduceMean", {"x", "axes"}, {}}, "adaptive_average_pool", "batch×6×1×1", 18),
  });
}

TEST(OnnxOperators, products) {
  const std::vector<Extent> rows = {"N", 5, 6};
  check({
      of("with a stored matrix", rows, {weight("w", {6, 4})}, {"MatMul", {"x", "w"}, {}}, "linear",
         "batch×5×4"),
      of("with a stored stack", rows, {weight("w", {3, 1, 6, 4})}, {"MatMul", {"x", "w"}, {}},
         "matmul", "3×batch×5×4"),
      of("with a stored vector", rows, {weight("w", {6})}, {"MatMul", {"x", "w"}, {}},
         "reshape matmul reshape", "batch×5"),
      of("from the left", rows, {weight("w", {7, 5})}, {"MatMul", {"w", "x"}, {}}, "matmul",
         "batch×7×6"),
      of("gemm", {"N", 6}, {weight("w", {6, 4}), weight("b", {4})},
         {"Gemm", {"x", "w", "b"}, {}, {{"alpha", 0.5F}}}, "linear", "batch×4"),
      of("gemm with a transposed input", {6, 3}, {weight("w", {6, 4})},
         {"Gemm", {"x", "w"}, {}, {{"transA", std::int64_t{1}}}}, "transpose linear", "3×4"),
      of("fused", rows, {weight("w", {4, 6})},
         {"FusedMatMul",
          {"x", "w"},
          {},
          {{"transB", std::int64_t{1}}, {"alpha", 2.0F}},
          "",
          "com.microsoft"},
         "linear multiply", "batch×5×4"),
      of("packed in four bits", rows, {weight("w", {4, 1, 8}, 2), weight("s", {4})},
         {"MatMulNBits",
          {"x", "w", "s"},
          {},
          {{"N", std::int64_t{4}}, {"K", std::int64_t{6}}},
          "",
          "com.microsoft"},
         "linear", "batch×5×4"),
      of("einsum as a layer", rows, {weight("w", {6, 2, 3})},
         {"Einsum", {"x", "w"}, {}, {{"equation", "bsi,ihd->bshd"}}}, "linear reshape",
         "batch×5×2×3"),
      of("einsum of one operand", rows, {}, {"Einsum", {"x"}, {}, {{"equation", "bij->bj"}}},
         "reduce_sum", "batch×6"),
      of("einsum with dots", rows, {weight("w", {6, 4})},
         {"Einsum", {"x", "w"}, {}, {{"equation", "...i,ij->...j"}}}, "linear", "batch×5×4"),
  });
}

TEST(OnnxOperators, normalisations) {
  const TensorText scale = weight("s", {6});
  const TensorText shift = weight("b", {6});
  const std::vector<Extent> rows = {"N", 5, 6};
  check({
      of("batch", image, {scale, shift, weight("m", {6}), weight("v", {6})},
         {"BatchNormalization", {"x", "s", "b", "m", "v"}, {}}, "batch_norm", "batch×6×9×9"),
      of("instance", image, {scale, shift}, {"InstanceNormalization", {"x", "s", "b"}, {}},
         "instance_norm", "batch×6×9×9"),
      of("group", image, {scale, shift},
         {"GroupNormalization", {"x", "s", "b"}, {}, {{"num_groups", std::int64_t{3}}}},
         "group_norm", "batch×6×9×9", 21),
      of("layer", rows, {scale, shift}, {"LayerNormalization", {"x", "s", "b"}, {}}, "layer_norm",
         "batch×5×6"),
      of("rms", rows, {scale}, {"RMSNormalization", {"x", "s"}, {}}, "rms_norm", "batch×5×6", 23),
      of("skip", rows, {scale, shift},
         {"SkipLayerNormalization", {"x", "x", "s", "b"}, {}, {}, "", "com.microsoft"},
         "add layer_norm", "batch×5×6"),
      of("skip rms", rows, {scale},
         {"SkipSimplifiedLayerNormalization", {"x", "x", "s"}, {}, {}, "", "com.microsoft"},
         "add rms_norm", "batch×5×6"),
      of("local response", image, {}, {"LRN", {"x"}, {}, {{"size", std::int64_t{5}}}},
         "local_response_norm", "batch×6×9×9"),
      of("of a vector's length", rows, {}, {"LpNormalization", {"x"}, {}}, "reduce_l2 divide",
         "batch×5×6"),
  });
}

TEST(OnnxOperators, activations) {
  const std::vector<Extent> rows = {"N", 6};
  check({
      of("relu6", rows, {scalar("lo", 0), scalar("hi", 6)}, {"Clip", {"x", "lo", "hi"}, {}},
         "relu6", "batch×6"),
      of("clip by attributes", rows, {}, {"Clip", {"x"}, {}, {{"min", -1.0F}, {"max", 1.0F}}},
         "clip", "batch×6", 6),
      of("clip from below", rows, {scalar("lo", 0)}, {"Clip", {"x", "lo"}, {}}, "relu", "batch×6"),
      of("prelu", image, {weight("s", {6, 1, 1})}, {"PRelu", {"x", "s"}, {}}, "prelu",
         "batch×6×9×9"),
      of("square", rows, {scalar("e", 2)}, {"Pow", {"x", "e"}, {}}, "square", "batch×6"),
      of("power", rows, {scalar("e", 3)}, {"Pow", {"x", "e"}, {}}, "power", "batch×6"),
      of("gelu", rows, {}, {"Gelu", {"x"}, {}, {{"approximate", "tanh"}}}, "gelu_tanh", "batch×6",
         20),
      of("gelu with a bias", rows, {weight("b", {6})},
         {"BiasGelu", {"x", "b"}, {}, {}, "", "com.microsoft"}, "add gelu", "batch×6"),
      of("softmax of opset 13", image, {}, {"Softmax", {"x"}, {}, {{"axis", std::int64_t{1}}}},
         "softmax", "batch×6×9×9"),
      of("softmax of opset 11 over all that follows", image, {},
         {"Softmax", {"x"}, {}, {{"axis", std::int64_t{1}}}}, "reshape softmax reshape",
         "batch×6×9×9", 11),
      of("dropout", rows, {scalar("p", 0.1F)}, {"Dropout", {"x", "p"}, {}}, "dropout", "batch×6"),
  });
}

TEST(OnnxOperators, moving) {
  const std::vector<Extent> rows = {"N", 5, 6};
  check({
      of("transpose", rows, {}, {"Transpose", {"x"}, {}, {{"perm", Integers{0, 2, 1}}}},
         "transpose", "batch×6×5"),
      of("slice of opset 9", rows, {},
         {"Slice",
          {"x"},
          {},
          {{"axes", Integers{1}}, {"starts", Integers{1}}, {"ends", Integers{-1}}}},
         "slice", "batch×3×6", 9),
      of("slice to the end", rows,
         {integers("b", {2}), integers("e", {9223372036854775807}), integers("a", {1})},
         {"Slice", {"x", "b", "e", "a"}, {}}, "slice", "batch×3×6"),
      of("slice backwards", rows,
         {integers("b", {-1}), integers("e", {-100}), integers("a", {1}), integers("s", {-1})},
         {"Slice", {"x", "b", "e", "a", "s"}, {}}, "slice", "batch×5×6"),
      of("split", rows, {integers("s", {2, 3})},
         {"Split", {"x", "s"}, {"z", "y"}, {{"axis", std::int64_t{1}}}}, "split", "batch×3×6"),
      of("split of opset 18", rows, {},
         {"Split",
          {"x"},
          {"z", "y"},
          {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}}},
         "split", "batch×2×6", 18),
      of("expand", {"N", 1, 6}, {integers("t", {1, 4, 1})}, {"Expand", {"x", "t"}, {}}, "expand",
         "batch×4×6"),
      of("tile", rows, {integers("r", {1, 2, 1})}, {"Tile", {"x", "r"}, {}},
         "reshape expand reshape", "batch×10×6"),
      of("pad", image, {integers("p", {0, 0, 1, 2, 0, 0, 3, 4})}, {"Pad", {"x", "p"}, {}}, "pad",
         "batch×6×13×15"),
      of("pad of named axes", image, {integers("p", {1, 3}), integers("a", {-1})},
         {"Pad", {"x", "p", "", "a"}, {}}, "pad", "batch×6×9×13", 18),
      of("space to depth", {"N", 6, 8, 8}, {},
         {"SpaceToDepth", {"x"}, {}, {{"blocksize", std::int64_t{2}}}}, "space_to_depth",
         "batch×24×4×4"),
      of("gather", rows, {integers("i", {0, 2})},
         {"Gather", {"x", "i"}, {}, {{"axis", std::int64_t{1}}}}, "gather", "batch×2×6"),
      of("flatten", image, {}, {"Flatten", {"x"}, {}, {{"axis", std::int64_t{2}}}}, "reshape",
         "6·batch×81"),
      of("resize by scales", image, {TensorText{"s", fp32, {4}, {}, {1, 1, 2, 2}}},
         {"Resize", {"x", "", "s"}, {}}, "resize_nearest", "batch×6×18×18"),
      of("resize to sizes", image, {integers("z", {1, 6, 20, 20})},
         {"Resize", {"x", "", "", "z"}, {}, {{"mode", "linear"}}}, "opaque", "1×6×20×20"),
      of("upsample", image, {}, {"Upsample", {"x"}, {}, {{"scales", Reals{1, 1, 2, 2}}}},
         "resize_nearest", "batch×6×18×18", 7),
  });
}

// The factors are computed while the network runs; the file says what they come to.
TEST(OnnxOperators, resizing_to_a_declared_shape) {
  WrittenModel model;
  model.input("x", {2, 6, 9, 9})
      .input("s", {4})
      .node({"Resize", {"x", "", "s"}, {"y"}, {{"mode", "nearest"}}, "up"});
  EXPECT_EQ(problem_with(WrittenModel(model).output("y")),
            "unsupported: model.onnx: node 'up' (Resize): scales and sizes are not known before "
            "the network runs");
  const Graph graph = model.output("y", {2, 6, 18, 27}).read();
  EXPECT_EQ(operators_of(graph), "resize_nearest");
  EXPECT_EQ(output_shape(graph), "batch×6×18×27");
}

TEST(OnnxOperators, slicing_to_a_declared_shape) {
  WrittenModel model;
  model.input("x", {2, 6, 9})
      .input("b", {1}, int64)
      .input("e", {1}, int64)
      .node({"Slice", {"x", "b", "e"}, {"y"}, {}, "cut"});
  EXPECT_EQ(problem_with(WrittenModel(model).output("y")),
            "unsupported: model.onnx: node 'cut' (Slice): starts and ends are not known before "
            "the network runs");
  const Graph graph = model.output("y", {2, 3, 9}).read();
  EXPECT_EQ(operators_of(graph), "slice");
  EXPECT_EQ(output_shape(graph), "batch×3×9");
}

TEST(OnnxOperators, splitting_to_declared_shapes) {
  WrittenModel model;
  model.input("x", {2, 6})
      .input("s", {2}, int64)
      .node({"Split", {"x", "s"}, {"y", "z"}, {{"axis", std::int64_t{1}}}, "cut"})
      .output("y", {2, 2});
  EXPECT_EQ(problem_with(WrittenModel(model).output("z")),
            "unsupported: model.onnx: node 'cut' (Split): the sizes of the parts are not known "
            "before the network runs");
  const Graph graph = model.output("z", {2, 4}).read();
  EXPECT_EQ(operators_of(graph), "split");
  EXPECT_EQ(output_shape(graph, 1), "batch×4");
}

TEST(OnnxOperators, reductions) {
  const std::vector<Extent> rows = {"N", 5, 6};
  check({
      of("by attribute", rows, {},
         {"ReduceSum", {"x"}, {}, {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}}},
         "reduce_sum", "batch×6", 11),
      of("by input", rows, {integers("a", {1})}, {"ReduceSum", {"x", "a"}, {}}, "reduce_sum",
         "batch×1×6"),
      of("of everything", rows, {}, {"ReduceMax", {"x"}, {}, {{"keepdims", std::int64_t{0}}}},
         "reduce_max", "scalar"),
      of("of squares", rows, {integers("a", {-1})}, {"ReduceSumSquare", {"x", "a"}, {}},
         "square reduce_sum", "batch×5×1", 18),
      of("of exponentials", rows, {integers("a", {-1})}, {"ReduceLogSumExp", {"x", "a"}, {}},
         "exponential reduce_sum logarithm", "batch×5×1", 18),
      of("to a place", rows, {}, {"ArgMax", {"x"}, {}, {{"axis", std::int64_t{-1}}}}, "opaque cast",
         "batch×5×1"),
  });
}

TEST(OnnxOperators, quantised_pairs_vanish) {
  WrittenModel model;
  model.input("x", {"N", 3, 9, 9})
      .store(scalar("s", 0.1F))
      .store({"z", int8, {}, {}, {}, true})
      .store(weight("w8", {4, 3, 3, 3}, int8))
      .node({"QuantizeLinear", {"x", "s", "z"}, {"xq"}})
      .node({"DequantizeLinear", {"xq", "s", "z"}, {"xd"}})
      .node({"DequantizeLinear", {"w8", "s", "z"}, {"w"}})
      .node({"Conv", {"xd", "w"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "convolution");
  EXPECT_EQ(graph.tensors[graph.nodes[0].inputs[1]].type.dtype, DType::fp32);
  EXPECT_EQ(warnings_of(graph),
            "part-ignored: 1 quantise/dequantise pairs are left out: the network is counted as the "
            "floating-point one it stands for\n");
}

TEST(OnnxOperators, broadcasting_by_axis_of_old_opsets) {
  WrittenModel model(6);
  model.input("x", {"N", 6, 9, 9})
      .store(weight("b", {6}))
      .node({"Add", {"x", "b"}, {"y"}, {{"axis", std::int64_t{1}}, {"broadcast", std::int64_t{1}}}})
      .output("y");
  EXPECT_EQ(output_shape(model.read()), "batch×6×9×9");
}

}  // namespace
}  // namespace strata::onnx::test
