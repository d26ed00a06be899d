// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/caffe.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace strata {
namespace {

const std::string input = "name: 'n' input: 'data' input_shape { dim: 8 dim: 6 dim: 10 dim: 20 }\n";

/// "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' … }": reads the blob `from`,
/// makes one of its own name.
std::string layer(const std::string& name, const std::string& type, const std::string& rest = "",
                  const std::string& from = "data") {
  return "layer { name: '" + name + "' type: '" + type + "' bottom: '" + from + "' top: '" + name +
         "' " + rest + " }\n";
}

/// A small network: its graph, and its nodes by name.
struct CaffeRead {
  explicit CaffeRead(const std::string& layers, const std::string& head = input,
                     const ImportOptions& options = {})
      : graph(read_caffe_text(head + layers, "deploy.prototxt", options)) {
    for (const Node& node : graph.nodes) nodes.emplace(node.name, &node);
  }
  std::string shape(const std::string& node, std::size_t output = 0) const {
    const auto found = nodes.find(node);
    if (found == nodes.end()) return "no such node";
    return text_of(graph.tensors[found->second->outputs.at(output)].type.shape, graph.symbols);
  }
  template <class Op>
  const Op& op(const std::string& node) const {
    return std::get<Op>(nodes.at(node)->op);
  }
  std::int64_t count(TensorKind kind) const {
    const BoundGraph bound = bind_graph(graph, {});
    std::int64_t elements = 0;
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].kind == kind) elements += bound.tensors[id].elements;
    }
    return elements;
  }
  std::int64_t parameters() const { return count(TensorKind::parameter); }
  std::string outputs() const {
    std::string names;
    for (const TensorId output : graph.outputs) names += graph.tensors[output].name + " ";
    return names;
  }
  std::string warnings() const {
    std::string lines;
    for (const Warning& warning : graph.warnings) {
      lines += std::string(name_of(warning.code)) + ": " + warning.message + "\n";
    }
    return lines;
  }

  Graph graph;
  std::map<std::string, const Node*> nodes;
};

std::string caffe_error(const std::string& layers, const std::string& head = input,
                        const ImportOptions& options = {}) {
  try {
    CaffeRead(layers, head, options);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported ||
                error.kind() == ErrorKind::usage)
        << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Caffe, the_network_is_described) {
  const CaffeRead read(layer("r", "ReLU"));
  EXPECT_EQ(read.graph.name, "deploy");
  EXPECT_EQ(read.graph.title, "n");
  EXPECT_EQ(read.graph.source, "Caffe file deploy.prototxt");
  EXPECT_EQ(*read.graph.symbols.parameters().at(0).default_value, 8);
  EXPECT_EQ(read.warnings(), "");
}

TEST(Caffe, convolution) {
  const auto shape = [](const std::string& parameters) {
    return CaffeRead(layer("c", "Convolution", "convolution_param { " + parameters + " }"))
        .shape("c");
  };
  EXPECT_EQ(shape("num_output: 4 kernel_size: 3 pad: 1 stride: 2"), "batch×4×5×10");
  EXPECT_EQ(shape("num_output: 4 kernel_h: 1 kernel_w: 7 pad_h: 0 pad_w: 3"), "batch×4×10×20");
  EXPECT_EQ(shape("num_output: 4 kernel_size: 3 kernel_size: 5 stride: 1 stride: 2"),
            "batch×4×8×8");
  EXPECT_EQ(shape("num_output: 4 kernel_size: 3 dilation: 2"), "batch×4×6×16");
  const CaffeRead grouped(
      layer("c", "Convolution",
            "convolution_param { num_output: 4 kernel_size: 3 group: 2 bias_term: false }"));
  EXPECT_EQ(grouped.parameters(), 4 * 3 * 9);
  EXPECT_EQ(CaffeRead(layer("c", "Deconvolution",
                            "convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad: 1 }"))
                .shape("c"),
            "batch×4×20×40");
  EXPECT_EQ(CaffeRead(layer("c", "DepthwiseConvolution",
                            "convolution_param { num_output: 6 kernel_size: 3 }"))
                .parameters(),
            6 * 9 + 6);
}

TEST(Caffe, several_bottoms_of_a_convolution_share_its_filters) {
  const CaffeRead read(
      layer("r", "ReLU") +
      "layer { name: 'c' type: 'Convolution' bottom: 'data' bottom: 'r' top: 'a' top: 'b' "
      "convolution_param { num_output: 4 kernel_size: 1 } }");
  EXPECT_EQ(read.graph.nodes.size(), 3U);
  EXPECT_EQ(read.parameters(), 6 * 4 + 4);
}

// ceil((h + 2p − k)/s) + 1, less one when the last window would begin in the far padding.
TEST(Caffe, pooling_rounds_up) {
  const auto shape = [](const std::string& parameters) {
    return CaffeRead(layer("p", "Pooling", "pooling_param { " + parameters + " }")).shape("p");
  };
  EXPECT_EQ(shape("kernel_size: 3 stride: 2"), "batch×6×5×10");
  EXPECT_EQ(shape("kernel_size: 3 stride: 2 round_mode: FLOOR"), "batch×6×4×9");
  EXPECT_EQ(shape("kernel_size: 2 stride: 2 pad: 1"), "batch×6×6×11");
  EXPECT_EQ(shape("kernel_h: 2 kernel_w: 4 stride_h: 2 stride_w: 4"), "batch×6×5×5");
  EXPECT_EQ(shape("kernel_size: 11 stride: 4"), "batch×6×1×4");  // hangs over the edge
  EXPECT_EQ(shape("pool: AVE global_pooling: true"), "batch×6×1×1");
  const CaffeRead average(layer("p", "Pooling", "pooling_param { pool: AVE kernel_size: 2 }"));
  EXPECT_EQ(average.op<Pool>("p").kind, PoolKind::average);
  EXPECT_EQ(average.op<Pool>("p").stride, (Extents{1, 1}));
  EXPECT_TRUE(average.op<Pool>("p").count_include_pad);
}

TEST(Caffe, inner_product_joins_axes) {
  const std::string parameters = "inner_product_param { num_output: 5 }";
  EXPECT_EQ(CaffeRead(layer("ip", "InnerProduct", parameters)).shape("ip"), "batch×5");
  EXPECT_EQ(CaffeRead(layer("ip", "InnerProduct", parameters)).parameters(), 6 * 10 * 20 * 5 + 5);
  EXPECT_EQ(CaffeRead(layer("ip", "InnerProduct", "inner_product_param { num_output: 5 axis: -1 }"))
                .shape("ip"),
            "batch×6×10×5");
}

TEST(Caffe, a_scale_behind_a_batch_norm_is_its_affine_part) {
  const std::string norm = layer("bn", "BatchNorm");
  const std::string scale = layer("s", "Scale", "scale_param { bias_term: true }", "bn");
  const CaffeRead joined(norm + scale);
  EXPECT_EQ(joined.graph.nodes.size(), 1U);
  EXPECT_EQ(joined.op<BatchNorm>("bn"), (BatchNorm{.scale = true, .shift = true}));
  EXPECT_EQ(joined.parameters(), 12);
  EXPECT_EQ(joined.count(TensorKind::buffer), 12);
  EXPECT_EQ(joined.outputs(), "bn ");
  const CaffeRead in_place(
      "layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'x' }"
      "layer { name: 's' type: 'Scale' bottom: 'x' top: 'x' } " +
      layer("r", "ReLU", "", "x"));
  EXPECT_EQ(in_place.op<BatchNorm>("bn"), (BatchNorm{.scale = true, .shift = false}));

  EXPECT_EQ(CaffeRead(norm).op<BatchNorm>("bn"), (BatchNorm{.scale = false, .shift = false}));
  const CaffeRead read_twice(norm + scale + layer("r", "ReLU", "", "bn"));
  EXPECT_EQ(read_twice.op<BatchNorm>("bn"), (BatchNorm{.scale = false, .shift = false}));
  EXPECT_EQ(read_twice.parameters(), 12);
  const CaffeRead apart(norm + scale, input, {.fuse = false});
  EXPECT_EQ(apart.graph.nodes.size(), 3U);
  EXPECT_EQ(apart.parameters(), 12);
}

TEST(Caffe, scales_and_biases) {
  const auto parameters = [](const std::string& type, const std::string& rest) {
    return CaffeRead(layer("s", type, rest)).parameters();
  };
  EXPECT_EQ(parameters("Scale", ""), 6);
  EXPECT_EQ(parameters("Scale", "scale_param { axis: 1 num_axes: -1 bias_term: true }"), 2 * 1200);
  EXPECT_EQ(parameters("Scale", "scale_param { num_axes: 0 }"), 1);
  EXPECT_EQ(parameters("Bias", "bias_param { axis: 2 num_axes: 2 }"), 200);
  EXPECT_EQ(parameters("PReLU", ""), 6);
  EXPECT_EQ(parameters("Normalize", "norm_param { across_spatial: false channel_shared: false }"),
            6);
  const CaffeRead two_bottoms(
      layer("p", "Pooling", "pooling_param { pool: AVE global_pooling: true }") +
      layer("f", "Flatten", "", "p") +
      "layer { name: 's' type: 'Scale' bottom: 'data' bottom: 'f' top: 's' "
      "scale_param { axis: 0 } }");
  EXPECT_EQ(two_bottoms.shape("s"), "batch×6×10×20");
  EXPECT_EQ(two_bottoms.parameters(), 0);
}

TEST(Caffe, weights_are_shared_by_name) {
  const std::string named =
      "param { name: 'w' } param { name: 'b' } convolution_param { num_output: 6 kernel_size: 3 "
      "pad: 1 }";
  const CaffeRead read(layer("c1", "Convolution", named) + layer("c2", "Convolution", named, "c1"));
  EXPECT_EQ(read.parameters(), 6 * 6 * 9 + 6);
  EXPECT_EQ(
      caffe_error(layer("c1", "Convolution", named) +
                  layer("c2", "Convolution",
                        "param { name: 'w' } convolution_param { num_output: 5 kernel_size: 1 }",
                        "c1")),
      "deploy.prototxt: layer 'c2' (line 3): the shared parameter 'w' is 6×6×3×3, this layer "
      "needs 5×6×1×1");
}

TEST(Caffe, pointwise_layers) {
  EXPECT_EQ(CaffeRead(layer("a", "ReLU")).op<Unary>("a").kind, UnaryKind::relu);
  EXPECT_EQ(CaffeRead(layer("a", "ReLU", "relu_param { negative_slope: 0.1 }")).op<Unary>("a").kind,
            UnaryKind::leaky_relu);
  EXPECT_EQ(CaffeRead(layer("a", "TanH")).op<Unary>("a").kind, UnaryKind::tanh);
  EXPECT_EQ(CaffeRead(layer("a", "BNLL")).op<Unary>("a").kind, UnaryKind::softplus);
  EXPECT_EQ(CaffeRead(layer("a", "Power", "power_param { power: 2 }")).op<Unary>("a").kind,
            UnaryKind::square);
  EXPECT_EQ(CaffeRead(layer("a", "Power", "power_param { scale: 2 shift: 1 }")).graph.nodes.size(),
            3U);
  EXPECT_EQ(CaffeRead(layer("a", "Dropout", "dropout_param { dropout_ratio: 0.4 }"))
                .op<Dropout>("a")
                .probability,
            0.4);
  EXPECT_EQ(
      CaffeRead(layer("a", "LRN", "lrn_param { local_size: 3 }")).op<LocalResponseNorm>("a").size,
      3);
  EXPECT_EQ(CaffeRead(layer("a", "LRN", "lrn_param { local_size: 3 norm_region: WITHIN_CHANNEL }"))
                .op<LocalResponseNorm>("a")
                .size,
            9);
  EXPECT_EQ(CaffeRead(layer("a", "MVN")).op<GroupNorm>("a").groups, 0);
}

TEST(Caffe, eltwise) {
  const auto kind = [](const std::string& parameters) {
    return CaffeRead(layer("r", "ReLU") +
                     "layer { name: 'e' type: 'Eltwise' bottom: 'data' bottom: 'r' top: 'e' "
                     "eltwise_param { " +
                     parameters + " } }")
        .op<Elementwise>("e")
        .kind;
  };
  EXPECT_EQ(kind(""), ElementwiseKind::add);
  EXPECT_EQ(kind("operation: PROD"), ElementwiseKind::multiply);
  EXPECT_EQ(kind("operation: MAX"), ElementwiseKind::maximum);
  EXPECT_EQ(kind("coeff: 1 coeff: -1"), ElementwiseKind::subtract);
  EXPECT_EQ(kind("coeff: 1 coeff: 0.5"), ElementwiseKind::add);
}

TEST(Caffe, movement) {
  const auto shape = [](const std::string& type, const std::string& rest) {
    return CaffeRead(layer("m", type, rest)).shape("m");
  };
  EXPECT_EQ(shape("Flatten", ""), "batch×1200");
  EXPECT_EQ(shape("Flatten", "flatten_param { axis: 1 end_axis: 2 }"), "batch×60×20");
  EXPECT_EQ(shape("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }"),
            "batch×10×20×6");
  EXPECT_EQ(shape("Tile", "tile_param { axis: 1 tiles: 3 }"), "batch×18×10×20");
  EXPECT_EQ(shape("Reorg", "reorg_param { stride: 2 }"), "batch×24×5×10");
  EXPECT_EQ(shape("Reduction", "reduction_param { axis: 2 operation: MEAN }"), "batch×6");
  EXPECT_EQ(shape("SPP", "spp_param { pyramid_height: 3 }"), "batch×126");
  EXPECT_EQ(shape("Interp", "interp_param { zoom_factor: 2 }"), "batch×6×19×39");
  const CaffeRead slices(
      "layer { name: 's' type: 'Slice' bottom: 'data' top: 'a' top: 'b' top: 'c' "
      "slice_param { axis: 1 slice_point: 1 slice_point: 3 } }");
  EXPECT_EQ(slices.shape("s", 0), "batch×1×10×20");
  EXPECT_EQ(slices.shape("s", 1), "batch×2×10×20");
  EXPECT_EQ(slices.shape("s", 2), "batch×3×10×20");
  const CaffeRead crop(
      layer("p", "Pooling", "pooling_param { kernel_size: 2 stride: 2 }") +
      "layer { name: 'x' type: 'Crop' bottom: 'data' bottom: 'p' top: 'x' crop_param { "
      "offset: 3 } }");
  EXPECT_EQ(crop.shape("x"), "batch×6×5×10");
}

TEST(Caffe, a_reshape_leaves_the_batch_open) {
  const auto shape = [](const std::string& dims) {
    return CaffeRead(layer("m", "Reshape", "reshape_param { shape { " + dims + " } }")).shape("m");
  };
  EXPECT_EQ(shape("dim: 0 dim: -1"), "batch×1200");
  EXPECT_EQ(shape("dim: 8 dim: 30 dim: 40"), "batch×30×40");
  EXPECT_EQ(shape("dim: -1 dim: 20"), "60·batch×20");
  EXPECT_EQ(shape("dim: 2 dim: 4 dim: 1200"), "2×batch/2×1200");  // time and batch
  EXPECT_EQ(
      CaffeRead(layer("m", "Reshape", "reshape_param { axis: 1 num_axes: 2 shape { dim: 60 } }"))
          .shape("m"),
      "batch×60×20");
  const CaffeRead fixed(layer("m", "Reshape", "reshape_param { shape { dim: 16 dim: 600 } }"));
  EXPECT_EQ(
      fixed.warnings(),
      "batch-fixed-in-file: layer 'm' (line 2): this reshape fixes all extents: another batch "
      "than the file's will be refused\n");
  EXPECT_NO_THROW(bind_graph(fixed.graph, {}));
  EXPECT_THROW(bind_graph(fixed.graph, {{"batch", 4}}), Error);
}

TEST(Caffe, in_place_layers_make_new_tensors_under_the_old_name) {
  const CaffeRead read(
      "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'x' convolution_param { "
      "num_output: 4 "
      "kernel_size: 1 } }"
      "layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'x' }"
      "layer { name: 'd' type: 'Dropout' bottom: 'x' top: 'x' }");
  EXPECT_EQ(read.graph.nodes.size(), 3U);
  EXPECT_EQ(read.outputs(), "d ");
}

TEST(Caffe, blocks_come_from_slashes) {
  const CaffeRead read(layer("inception_3a/1x1", "ReLU"));
  EXPECT_EQ(read.graph.nodes[0].block, "inception_3a");
  EXPECT_EQ(read.graph.nodes[0].name, "inception_3a/1x1");
}

TEST(Caffe, recurrent_layers_have_the_batch_second) {
  const std::string head = "input: 'x' input_shape { dim: 12 dim: 7 }";
  const std::string steps =
      layer("t", "Reshape", "reshape_param { shape { dim: 3 dim: 4 dim: 7 } }", "x");
  const CaffeRead lstm(steps + layer("l", "LSTM", "recurrent_param { num_output: 5 }", "t"), head);
  EXPECT_EQ(lstm.shape("l"), "batch/3×3×5");
  EXPECT_EQ(lstm.shape("l_time_first"), "3×batch/3×5");
  EXPECT_EQ(lstm.parameters(), 4 * (7 * 5 + 5 * 5 + 5));
  EXPECT_EQ(CaffeRead(steps + layer("l", "RNN", "recurrent_param { num_output: 5 }", "t"), head)
                .parameters(),
            7 * 5 + 5 * 5 + 5 + 5 * 5 + 5);
}

TEST(Caffe, losses) {
  const std::string data =
      "layer { name: 'd' type: 'Data' top: 'data' top: 'label' data_param { "
      "batch_size: 4 } transform_param { crop_size: 8 force_color: true } }\n";
  const std::string ip = layer("ip", "InnerProduct", "inner_product_param { num_output: 5 }");
  const auto loss = [](const std::string& type) {
    return "layer { name: 'loss' type: '" + type + "' bottom: 'ip' bottom: 'label' top: 'loss' }\n";
  };
  const CaffeRead softmax(data + ip + loss("SoftmaxWithLoss"), "");
  EXPECT_EQ(softmax.outputs(), "loss ");
  EXPECT_EQ(softmax.graph.tensors[softmax.graph.inputs[1]].name, "label");
  EXPECT_EQ(softmax.graph.tensors[softmax.graph.inputs[1]].type.dtype, DType::int64);
  EXPECT_EQ(softmax.warnings(), "");
  EXPECT_EQ(CaffeRead(data + ip + loss("EuclideanLoss"), "").warnings(), "");
  EXPECT_NE(CaffeRead(data + ip + loss("SigmoidCrossEntropyLoss"), "").warnings(), "");
  EXPECT_EQ(CaffeRead(data + ip + loss("HingeLoss"), "").warnings(),
            "operator-not-counted: layer 'loss' (line 3): the loss HingeLoss is not counted\n");
  EXPECT_EQ(CaffeRead(data + ip + loss("Accuracy"), "").graph.nodes.size(), 2U);
}

TEST(Caffe, boxes) {
  const CaffeRead prior(
      "layer { name: 'b' type: 'PriorBox' bottom: 'data' bottom: 'data' top: 'b' "
      "prior_box_param { min_size: 30 max_size: 60 aspect_ratio: 2 aspect_ratio: 3 flip: "
      "true } }");
  EXPECT_EQ(prior.shape("b"), "1×2×4800");  // 6 boxes of 4 numbers per pixel
  EXPECT_EQ(prior.graph.warnings.at(0).code, WarningCode::operator_not_counted);
}

TEST(Caffe, an_unknown_layer_keeps_its_shape_and_is_not_counted) {
  const CaffeRead read(layer("f", "Future") + layer("r", "ReLU", "", "f"));
  EXPECT_EQ(read.shape("f"), "batch×6×10×20");
  EXPECT_EQ(read.op<Opaque>("f").type, "caffe.Future");
  EXPECT_EQ(read.graph.warnings.at(0).code, WarningCode::operator_not_counted);
  EXPECT_EQ(
      caffe_error(layer("f", "Future"), input, {.strict = true}),
      "deploy.prototxt: layer 'f' (line 2): a layer of type 'Future' is not counted, and what "
      "it makes is taken to have the shape of what it reads");
}

TEST(Caffe, shapes_can_be_given) {
  const std::string hdf5 =
      "layer { name: 'd' type: 'HDF5Data' top: 'data' top: 'label' hdf5_data_param { batch_size: 4 "
      "} }\n";
  EXPECT_EQ(caffe_error(hdf5 + layer("r", "ReLU"), ""),
            "deploy.prototxt: layer 'r' (line 2): 'data' comes from layer 'd' (line 1), and the "
            "file does "
            "not tell its shape; give it, the batch first, with --input data=NxCxHxW");
  const CaffeRead given(hdf5 + layer("r", "ReLU"), "", {.input_shapes = {{"data", {2, 3, 4}}}});
  EXPECT_EQ(given.shape("r"), "batch×3×4");
  EXPECT_EQ(caffe_error(layer("r", "ReLU"), input, {.input_shapes = {{"dat", {2, 3}}}}),
            "deploy.prototxt: the network has no input 'dat'; its inputs are: data");
  EXPECT_EQ(caffe_error(layer("r", "ReLU"), input, {.input_shapes = {{"data", {2, 0}}}}),
            "deploy.prototxt: input 'data' needs 1 to 8 extents of at least 1, got 2,0");
}

TEST(Caffe, bad_files) {
  EXPECT_EQ(caffe_error("", "input: 'x'"), "deploy.prototxt: the network has no layers");
  EXPECT_EQ(caffe_error("layer { name: 'd' type: 'Input' top: 'x' }", ""),
            "deploy.prototxt: the network has no layers that compute anything");
  EXPECT_EQ(caffe_error(layer("r", "ReLU", "", "nothing")),
            "deploy.prototxt: layer 'r' (line 2): no layer before it makes the blob 'nothing'");
  EXPECT_EQ(
      caffe_error(layer("r", "ReLU"),
                  "input: 'data' input_dim: 1 input_dim: 3 input_dim: 0 input_dim: 4\n"),
      "deploy.prototxt: input 'data': expected at most 8 extents of at least 1 for 'data', got "
      "1,3,0,4");
  EXPECT_EQ(caffe_error(layer("c", "Convolution")),
            "deploy.prototxt: layer 'c' (line 2): node 'c': kernel must be at least 1, got 0");
  EXPECT_EQ(
      caffe_error(layer("c", "Convolution", "convolution_param { num_output: x }")),
      "deploy.prototxt: layer 'c' (line 2): field 'num_output' (line 2): expected a whole number, "
      "got 'x'");
  EXPECT_EQ(
      caffe_error(
          "layer { name: 'e' type: 'Eltwise' top: 'e' bottom: 'data' eltwise_param { operation: "
          "MIN } }"),
      "deploy.prototxt: layer 'e' (line 2): field 'operation': expected PROD, SUM or MAX, got "
      "'MIN'");
  EXPECT_EQ(caffe_error("layer { name: 'x' type: 'Crop' bottom: 'data' top: 'x' }"),
            "deploy.prototxt: layer 'x' (line 2): expected at least 2 bottom(s), got 1");
}

// Each concat doubles the channels of the one before.
TEST(Caffe, channels_that_double_for_ever_are_refused) {
  std::string layers;
  std::string last = "data";
  for (int i = 0; i < 80; ++i) {
    const std::string name = "c" + std::to_string(i);
    layers += "layer { name: '" + name + "' type: 'Concat' bottom: '" + last + "' bottom: '" +
              last + "' top: '" + name + "' }\n";
    last = name;
  }
  EXPECT_NE(caffe_error(layers), "no error");
}

}  // namespace
}  // namespace strata
