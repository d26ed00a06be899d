// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/darknet/darknet.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace strata {
namespace {

constexpr std::string_view image =
    "[net]\nbatch=8\nsubdivisions=4\nwidth=20\nheight=10\nchannels=6\n";

/// A small network: its graph, and its nodes by name.
struct Read {
  explicit Read(const std::string& sections, std::string_view net = image,
                const ImportOptions& options = {})
      : graph(read_darknet_text(std::string(net) + sections, "net.cfg", options)) {
    for (const Node& node : graph.nodes) nodes.emplace(node.name, &node);
  }

  std::string shape(const std::string& node) const {
    const auto found = nodes.find(node);
    if (found == nodes.end()) return "no such node";
    return text_of(graph.tensors[found->second->outputs[0]].type.shape, graph.symbols);
  }
  template <class Op>
  const Op& op(const std::string& node) const {
    return std::get<Op>(nodes.at(node)->op);
  }
  std::int64_t parameters() const {
    const BoundGraph bound = bind_graph(graph, {});
    std::int64_t count = 0;
    for (TensorId id = 0; id < graph.tensors.size(); ++id) {
      if (graph.tensors[id].kind == TensorKind::parameter) count += bound.tensors[id].elements;
    }
    return count;
  }

  Graph graph;
  std::map<std::string, const Node*> nodes;
};

std::string error_of(const std::string& sections, std::string_view net = image,
                     const ImportOptions& options = {}) {
  try {
    Read(sections, net, options);
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported ||
                error.kind() == ErrorKind::usage)
        << error.what();
    return error.what();
  }
  return "no error";
}

TEST(Darknet, the_network_is_described) {
  const Read read("[avgpool]\n");
  EXPECT_EQ(read.graph.name, "net");
  EXPECT_EQ(read.graph.title, "net");
  EXPECT_EQ(read.graph.source, "darknet file net.cfg");
  EXPECT_TRUE(read.graph.warnings.empty());
}

TEST(Darknet, a_pass_sees_a_subdivision_of_the_batch) {
  const auto usual_batch = [](const std::string& net) {
    const Read read("[avgpool]\n", net + "width=4\nheight=4\nchannels=1\n");
    return *read.graph.symbols.parameters().at(0).default_value;
  };
  EXPECT_EQ(usual_batch("[net]\nbatch=64\nsubdivisions=16\n"), 4);
  EXPECT_EQ(usual_batch("[net]\nbatch=120\nsubdivisions=32\n"), 3);  // C's division
  EXPECT_EQ(usual_batch("[net]\nbatch=1\nsubdivisions=8\n"), 1);
  EXPECT_EQ(usual_batch("[network]\n"), 1);
}

TEST(Darknet, convolutional) {
  const Read read(
      "[convolutional]\nfilters=16\nsize=3\nstride=2\npad=1\nbatch_normalize=1\nactivation=leaky\n"
      "[conv]\nfilters=8\nsize=1\nactivation=linear\n"
      "[convolutional]\nfilters=4\nsize=3\npadding=2\nstride_x=1\nstride_y=2\n");
  EXPECT_EQ(read.shape("conv_0"), "batch×16×5×10");
  EXPECT_FALSE(read.op<Convolution>("conv_0").bias);
  EXPECT_EQ(read.op<Unary>("leaky_0").kind, UnaryKind::leaky_relu);
  EXPECT_EQ(read.shape("batch_norm_0"), "batch×16×5×10");
  EXPECT_TRUE(read.op<Convolution>("conv_1").bias);
  EXPECT_EQ(read.nodes.count("linear_1"), 0U);
  EXPECT_EQ(read.shape("conv_2"), "batch×4×4×12");
  EXPECT_EQ(read.op<Unary>("logistic_2").kind, UnaryKind::sigmoid);  // the default
  EXPECT_EQ(read.parameters(), 6 * 16 * 9 + 2 * 16 + 16 * 8 + 8 + 8 * 4 * 9 + 4);
}

TEST(Darknet, dilation_and_groups) {
  const Read read(
      "[convolutional]\nfilters=12\nsize=3\npad=1\ndilation=2\ngroups=3\nactivation=relu\n");
  EXPECT_EQ(read.shape("conv_0"), "batch×12×10×20");  // the padding grows with the dilation
  EXPECT_EQ(read.parameters(), 12 * 2 * 9 + 12);
}

TEST(Darknet, antialiasing_blurs_with_fixed_filters) {
  const Read read(
      "[convolutional]\nfilters=4\nsize=3\npad=1\nstride=2\nantialiasing=1\nactivation=relu\n"
      "[maxpool]\nsize=2\nstride=2\nantialiasing=2\n");
  EXPECT_EQ(read.shape("conv_0"), "batch×4×10×20");
  EXPECT_EQ(read.shape("blur_0"), "batch×4×5×10");
  EXPECT_EQ(read.shape("maxpool_1"), "batch×4×5×10");
  EXPECT_EQ(read.shape("blur_1"), "batch×4×2×5");
  EXPECT_EQ(read.parameters(), 6 * 4 * 9 + 4);
}

TEST(Darknet, shared_weights_are_counted_once) {
  const std::string first =
      "[convolutional]\nfilters=6\nsize=3\npad=1\nbatch_normalize=1\nactivation=relu\n";
  const std::string second = first + "dilation=2\nshare_index=";
  EXPECT_EQ(Read(first + second + "0\n").parameters(), 6 * 6 * 9 + 12);
  EXPECT_EQ(Read(first + second + "-1\n").parameters(), 6 * 6 * 9 + 12);
  EXPECT_EQ(error_of(first + "[dropout]\n" + second + "1\n"),
            "net.cfg: section 2 [convolutional] (line 14): key 'share_index': expected a "
            "convolution like this one, got section 1");
}

// maxpool_layer.c: out = (w + padding − size)/stride + 1 with padding = size − 1 unless given.
TEST(Darknet, maxpool_pads_as_darknet_does) {
  for (int size = 1; size <= 5; ++size) {
    for (int stride = 1; stride <= 3; ++stride) {
      for (int padding = 0; padding <= 3; ++padding) {
        const int given = padding == 3 ? size - 1 : padding;
        std::string section =
            "[maxpool]\nsize=" + std::to_string(size) + "\nstride=" + std::to_string(stride) + "\n";
        if (padding < 3) section += "padding=" + std::to_string(padding) + "\n";
        const Read read(section);
        const int height = (10 + given - size) / stride + 1;
        const int width = (20 + given - size) / stride + 1;
        EXPECT_EQ(read.shape("maxpool_0"),
                  "batch×6×" + std::to_string(height) + "×" + std::to_string(width))
            << section;
      }
    }
  }
}

TEST(Darknet, windows_and_pixels) {
  EXPECT_EQ(Read("[maxpool]\nstride=2\n").shape("maxpool_0"), "batch×6×5×10");  // size = stride
  EXPECT_EQ(Read("[maxpool]\nmaxpool_depth=1\nout_channels=3\n").shape("maxpool_0"),
            "batch×3×10×20");
  EXPECT_EQ(Read("[local_avgpool]\nsize=4\nstride=4\n").shape("avgpool_0"), "batch×6×3×5");
  EXPECT_EQ(Read("[avgpool]\n").shape("avgpool_0"), "batch×6×1×1");
  EXPECT_EQ(Read("[upsample]\n").shape("upsample_0"), "batch×6×20×40");
  EXPECT_EQ(Read("[upsample]\nstride=-2\n").shape("downsample_0"), "batch×6×5×10");
  EXPECT_EQ(Read("[reorg]\nstride=2\n").shape("reorg_0"), "batch×24×5×10");
  EXPECT_EQ(Read("[reorg3d]\nstride=2\n").shape("reorg_0"), "batch×24×5×10");
  EXPECT_EQ(Read("[reorg]\nstride=1\nextra=1\n").shape("reorg_0"), "batch×1201");
  EXPECT_EQ(Read("[crop]\ncrop_width=12\ncrop_height=8\n").shape("crop_0"), "batch×6×8×12");
  EXPECT_EQ(Read("[dropout]\nprobability=.3\n").op<Dropout>("dropout_0").probability, .3);
  EXPECT_EQ(Read("[lrn]\nsize=7\n").op<LocalResponseNorm>("lrn_0").size, 7);
  EXPECT_EQ(Read("[deconvolutional]\nfilters=4\nsize=4\nstride=2\npadding=1\n").shape("deconv_0"),
            "batch×4×20×40");
}

TEST(Darknet, connected_flattens) {
  const Read read(
      "[connected]\noutput=5\nbatch_normalize=1\nactivation=ramp\n[connected]\noutput=3\n");
  EXPECT_EQ(read.shape("connected_0"), "batch×5");
  EXPECT_EQ(read.shape("connected_1"), "batch×3");
  EXPECT_EQ(read.parameters(), 6 * 10 * 20 * 5 + 10 + 5 * 3 + 3);
}

TEST(Darknet, an_image_of_one_pixel_follows_a_connected_section) {
  const Read read("[connected]\noutput=5\n[convolutional]\nfilters=7\nactivation=linear\n");
  EXPECT_EQ(read.shape("conv_1"), "batch×7×1×1");
}

// Filters of its own for each of 5 × 10 places.
TEST(Darknet, local) {
  const Read read("[local]\nfilters=4\nsize=3\nstride=2\npad=1\nactivation=leaky\n");
  EXPECT_EQ(read.shape("leaky_0"), "batch×4×5×10");
  EXPECT_EQ(read.parameters(), 5 * 10 * (6 * 9 * 4 + 4));
  EXPECT_EQ(Read("[local]\nfilters=4\nsize=3\n").shape("logistic_0"), "batch×4×8×18");
}

TEST(Darknet, route) {
  const std::string two = "[convolutional]\nfilters=4\nactivation=linear\n[avgpool]\n";
  EXPECT_EQ(Read(two + "[route]\nlayers=-2, 0\n").shape("route_2"), "batch×8×10×20");
  EXPECT_EQ(Read(two + "[route]\nlayers=0\n[maxpool]\n").shape("maxpool_3"), "batch×4×10×20");
  const Read half(two + "[route]\nlayers=0\ngroups=2\ngroup_id=1\n");
  EXPECT_EQ(half.shape("group_2"), "batch×2×10×20");
  EXPECT_EQ(half.op<Slice>("group_2").begin[0], Dim(2));
  EXPECT_EQ(error_of("[route]\nlayers=-1\n"),
            "net.cfg: section 0 [route] (line 7): key 'layers': -1 means section -1, expected one "
            "of the 0 before this one");
  EXPECT_EQ(error_of(two + "[route]\nlayers=7\n"),
            "net.cfg: section 2 [route] (line 11): key 'layers': 7 means section 7, expected one "
            "of the 2 before this one");
  EXPECT_EQ(error_of("[avgpool]\n[route]\n"),
            "net.cfg: section 1 [route] (line 8): key 'layers' is missing: the sections to read "
            "from");
  EXPECT_EQ(
      error_of(two + "[route]\nlayers=0\ngroups=2\ngroup_id=2\n"),
      "net.cfg: section 2 [route] (line 11): expected group_id in 0 … groups − 1, got 2 of 2");
}

TEST(Darknet, shortcut) {
  const std::string two =
      "[convolutional]\nfilters=4\nactivation=linear\n[convolutional]\nfilters=4\n";
  EXPECT_EQ(Read(two + "[shortcut]\nfrom=-2\nactivation=leaky\n").shape("leaky_2"),
            "batch×4×10×20");
  // The larger map gives every second pixel, the one with fewer channels is filled up.
  const Read fitted(
      "[convolutional]\nfilters=4\n[convolutional]\nfilters=9\nsize=3\nstride=2\npad=1\n"
      "[shortcut]\nfrom=0\n");
  EXPECT_EQ(fitted.shape("fit_2"), "batch×4×5×10");
  EXPECT_EQ(fitted.shape("fill_2"), "batch×9×5×10");
  const Read cut("[convolutional]\nfilters=9\n[convolutional]\nfilters=4\n[shortcut]\nfrom=0\n");
  EXPECT_EQ(cut.shape("shortcut_2"), "batch×4×10×20");
  const std::int64_t plain = Read(two + "[shortcut]\nfrom=-2,-2\n").parameters();
  EXPECT_EQ(Read(two + "[shortcut]\nfrom=-2,-2\nweights_type=per_feature\n").parameters() - plain,
            3);
  EXPECT_EQ(Read(two + "[shortcut]\nfrom=-2,-2\nweights_type=per_channel\n").parameters() - plain,
            12);
}

TEST(Darknet, factors) {
  const std::string squeeze =
      "[convolutional]\nfilters=4\n[avgpool]\n[convolutional]\nfilters=4\n[scale_channels]\nfrom=-"
      "3\n";
  EXPECT_EQ(Read(squeeze).shape("scale_channels_3"), "batch×4×10×20");
  EXPECT_EQ(Read("[convolutional]\nfilters=4\n[convolutional]\nfilters=4\n[sam]\nfrom=-2\n")
                .shape("sam_2"),
            "batch×4×10×20");
}

TEST(Darknet, detection_layers) {
  const auto head = [](int filters) {
    return "[convolutional]\nactivation=linear\nfilters=" + std::to_string(filters) + "\n";
  };
  const Read yolo(head(3 * 7) + "[yolo]\nmask=3,4,5\nnum=9\nclasses=2\n");
  EXPECT_EQ(yolo.op<Yolo>("yolo_1"), (Yolo{.boxes = 3, .classes = 2}));
  EXPECT_EQ(Read(head(9 * 7) + "[yolo]\nnum=9\nclasses=2\n").op<Yolo>("yolo_1").boxes, 9);
  const Read squashed(head(3 * 7) + "[yolo]\nmask=3,4,5\nclasses=2\nnew_coords=1\n");
  EXPECT_EQ(squashed.op<Unary>("yolo_1").kind, UnaryKind::identity);
  EXPECT_EQ(Read(head(2 * 19) + "[Gaussian_yolo]\nmask=0,1\nclasses=10\n").op<Yolo>("yolo_1"),
            (Yolo{.boxes = 2, .classes = 14}));
  const Read region(head(5 * 25) + "[region]\nnum=5\nclasses=20\ncoords=4\nsoftmax=1\n");
  EXPECT_EQ(region.op<Yolo>("yolo_1"), (Yolo{.boxes = 5, .classes = 20}));
  ASSERT_EQ(region.graph.warnings.size(), 1U);
  EXPECT_EQ(region.graph.warnings[0].code, WarningCode::value_assumed);
  const Read detection(
      "[connected]\noutput=1470\n[detection]\nclasses=20\ncoords=4\nnum=2\nside=7\n");
  EXPECT_EQ(detection.shape("detection_1"), "batch×1470");
  EXPECT_EQ(error_of(head(20) + "[yolo]\nmask=3,4,5\nclasses=2\n"),
            "net.cfg: section 1 [yolo] (line 10): node 'yolo_1': 3 boxes of 5 + 2 classes need 21 "
            "channels, got 20");
  EXPECT_EQ(error_of(head(20) + "[yolo]\nmask=3,4,5\nclasses=2\nnew_coords=1\n"),
            "net.cfg: section 1 [yolo] (line 10): 3 boxes of 5 + 2 classes need 21 channels, got "
            "20");
  EXPECT_EQ(error_of("[connected]\noutput=9\n[detection]\nclasses=20\ncoords=4\nnum=2\n"),
            "net.cfg: section 1 [detection] (line 9): expected 1470 inputs (7×7 cells of 2 boxes "
            "and 20 classes), got 9");
}

TEST(Darknet, ends) {
  const Read softmax("[avgpool]\n[softmax]\ngroups=1\n[cost]\n");
  EXPECT_EQ(softmax.shape("softmax_1"), "batch×6");
  EXPECT_EQ(softmax.shape("cost_2"), "scalar");
  ASSERT_EQ(softmax.graph.inputs.size(), 2U);
  EXPECT_EQ(softmax.graph.tensors[softmax.graph.inputs[1]].name, "truth_2");
  EXPECT_EQ(Read("[avgpool]\n[softmax]\ngroups=3\n").shape("softmax_1"), "batch×3×2");
  EXPECT_EQ(Read("[avgpool]\n[softmax]\ngroups=3\n").shape("ungroup_1"), "batch×6");
  EXPECT_EQ(Read("[softmax]\nspatial=1\n").op<Softmax>("softmax_0").axis, 1);
  EXPECT_EQ(error_of("[avgpool]\n[softmax]\ngroups=4\n"),
            "net.cfg: section 1 [softmax] (line 8): key 'groups': 4 does not divide 6 inputs");
}

constexpr std::string_view sequence = "[net]\ninputs=256\nbatch=16\nsubdivisions=2\ntime_steps=5\n";

// Eight (six, two) connected layers, each with a bias: two biases per gate.
TEST(Darknet, recurrent_sections_are_packed_nodes) {
  const Read lstm("[lstm]\noutput=30\n[connected]\noutput=7\nactivation=linear\n[softmax]\n",
                  sequence);
  EXPECT_EQ(lstm.shape("lstm_0"), "batch×seq×30");
  EXPECT_EQ(lstm.shape("connected_1"), "batch×seq×7");
  EXPECT_EQ(lstm.shape("softmax_2"), "batch×seq×7");
  EXPECT_EQ(lstm.parameters(), 4 * (256 * 30 + 30 + 30 * 30 + 30) + 30 * 7 + 7);
  EXPECT_EQ(Read("[gru]\noutput=30\n", sequence).parameters(), 3 * (256 * 30 + 30 + 30 * 30 + 30));
  const Read rnn("[rnn]\nhidden=20\noutput=30\nactivation=leaky\n", sequence);
  EXPECT_EQ(rnn.shape("output_0"), "batch×seq×30");
  EXPECT_EQ(rnn.op<Recurrent>("rnn_0").cell, CellKind::rnn_relu);
  EXPECT_EQ(rnn.parameters(), 256 * 20 + 20 + 20 * 20 + 20 + 20 * 30 + 30);
  EXPECT_TRUE(rnn.graph.warnings.empty());
  const BoundGraph bound = bind_graph(rnn.graph, {});
  EXPECT_EQ(bound.binding.at("batch"), 8);
  EXPECT_EQ(bound.binding.at("seq"), 5);
}

TEST(Darknet, normalisation_inside_a_recurrent_section_is_said_to_be_missing) {
  const std::string two =
      "[gru]\noutput=30\nbatch_normalize=1\n[gru]\noutput=30\nbatch_normalize=1\n";
  const Read read(two, sequence);
  ASSERT_EQ(read.graph.warnings.size(), 1U);
  EXPECT_EQ(read.graph.warnings[0].code, WarningCode::operator_not_counted);
  EXPECT_TRUE(read.graph.warnings[0].message.starts_with(
      "section 0 and 1 more: batch normalisation inside a recurrent layer ([gru]) is not counted"));
  EXPECT_TRUE(error_of(two, sequence, {.strict = true})
                  .starts_with("net.cfg: section 0 [gru] (line 6): batch normalisation inside"));
}

TEST(Darknet, convolutional_recurrent_sections_see_all_steps) {
  const Read read(
      "[crnn]\nhidden=4\noutput=5\nsize=3\npad=1\nbatch_normalize=1\nactivation=leaky\n",
      "[net]\nwidth=20\nheight=10\nchannels=6\ntime_steps=3\n");
  EXPECT_EQ(read.shape("output_conv_0"), "batch·seq×5×10×20");
  EXPECT_EQ(read.parameters(), 9 * (6 * 4 + 4 * 4 + 4 * 5) + 2 * (4 + 4 + 5));
  ASSERT_EQ(read.graph.warnings.size(), 1U);
  EXPECT_EQ(read.graph.warnings[0].code, WarningCode::value_assumed);
}

TEST(Darknet, an_unknown_activation_becomes_what_darknet_makes_of_it) {
  const Read read("[activation]\nactivation=snake\n");
  EXPECT_EQ(read.op<Unary>("relu_0").kind, UnaryKind::relu);
  ASSERT_EQ(read.graph.warnings.size(), 1U);
  EXPECT_EQ(read.graph.warnings[0].message,
            "section 0: activation 'snake' is unknown to darknet, which takes relu instead");
}

TEST(Darknet, an_unknown_section_keeps_its_shape_and_is_not_counted) {
  const Read read("[future]\nx=1\n[avgpool]\n");
  EXPECT_EQ(read.shape("future_0"), "batch×6×10×20");
  EXPECT_EQ(read.op<Opaque>("future_0").type, "darknet.future");
  ASSERT_EQ(read.graph.warnings.size(), 1U);
  EXPECT_EQ(read.graph.warnings[0].code, WarningCode::operator_not_counted);
  EXPECT_EQ(error_of("[future]\n", image, {.strict = true}),
            "net.cfg: section 0 [future] (line 7): section [future] is unknown: it is not counted, "
            "and its output is taken to have the shape of its input");
}

TEST(Darknet, the_input_can_be_given) {
  ImportOptions options;
  options.input_shapes["input"] = {2, 3, 32, 64};
  const Read read("[avgpool]\n", image, options);
  const BoundGraph bound = bind_graph(read.graph, {});
  const auto& shape = bound.tensors[read.graph.inputs[0]].shape;
  EXPECT_EQ(std::vector<std::int64_t>(shape.begin(), shape.end()),
            (std::vector<std::int64_t>{2, 3, 32, 64}));
  options.input_shapes["input"] = {3, 32, 64};
  EXPECT_EQ(error_of("[avgpool]\n", image, options),
            "net.cfg: section [net] (line 1): input 'input' needs 4 extents of at least 1, got "
            "3×32×64");
  EXPECT_EQ(error_of("[avgpool]\n", image, {.input_shapes = {{"data", {1, 3, 4, 4}}}}),
            "net.cfg: section [net] (line 1): the network has no input 'data'; its input is named "
            "'input'");
}

TEST(Darknet, bad_files) {
  EXPECT_EQ(error_of("", ""), "net.cfg: expected the section [net], got nothing");
  EXPECT_EQ(error_of("", "[net]\nwidth=4\nheight=4\nchannels=3\n"),
            "net.cfg: line 1: expected layers after [net], got none");
  EXPECT_EQ(error_of("[avgpool]\n", "[maxpool]\n"),
            "net.cfg: line 1: expected the section [net] first, got [maxpool]");
  EXPECT_EQ(error_of("[avgpool]\n", "\n[net]\n"),
            "net.cfg: section [net] (line 2): expected width, height and channels, or inputs: the "
            "size of the input");
  EXPECT_EQ(error_of("[avgpool]\n", "[net]\nwidth=4\nheight=-4\nchannels=3\n"),
            "net.cfg: section [net] (line 1): key 'height': expected at least 1, got -4");
  EXPECT_EQ(error_of("[avgpool]\n", "[net]\nwidth=4\nheight=4\nchannels=3\nsubdivisions=0\n"),
            "net.cfg: section [net] (line 1): key 'subdivisions': expected at least 1, got 0");
  EXPECT_EQ(error_of("[convolutional]\nfilters=-3\n"),
            "net.cfg: section 0 [convolutional] (line 7): node 'conv_0': channels must be at least "
            "1, got -3");
  EXPECT_EQ(error_of("[convolutional]\nsize=50\n"),
            "net.cfg: section 0 [convolutional] (line 7): node 'conv_0': kernel 50 (dilation 1) is "
            "larger than its padded input, 10 + 0");
  EXPECT_EQ(error_of("[crop]\ncrop_width=50\ncrop_height=5\n"),
            "net.cfg: section 0 [crop] (line 7): expected a crop of at most 20×10, got 50×5");
  EXPECT_EQ(error_of("[dropout]\nprobability=nan\n"),
            "net.cfg: section 0 [dropout] (line 7): node 'dropout_0': probability must lie in 0 … "
            "1, got nan");
}

// Each route doubles the channels of the one before: after 60 of them they do not fit any more.
TEST(Darknet, channels_that_double_for_ever_are_refused) {
  std::string sections = "[convolutional]\nfilters=2147483647\n";
  for (int i = 0; i < 60; ++i) sections += "[route]\nlayers=-1,-1\n";
  const std::string error = error_of(sections);
  EXPECT_TRUE(error.starts_with("net.cfg: section 33 [route]")) << error;
}

TEST(Darknet, a_network_without_end_is_refused) {
  std::string zeros = "0";
  for (int i = 1; i < 9'000; ++i) zeros += ",0";
  std::string sections = "[avgpool]\n";
  for (int i = 0; i < 100; ++i) sections += "[route]\ngroups=2\nlayers=" + zeros + "\n";
  EXPECT_EQ(error_of(sections),
            "net.cfg: section 12 [route] (line 41): key 'layers': the file has more than 100000 "
            "references to sections");
  std::string cells;
  for (int i = 0; i < 9'000; ++i) cells += "[crnn]\nbatch_normalize=1\npad=1\n";
  EXPECT_NE(error_of(cells).find("the network has more than 100000 tensors"), std::string::npos);
}

TEST(Darknet, a_file_that_is_not_there) { EXPECT_THROW(read_darknet("no/such/file.cfg"), Error); }

}  // namespace
}  // namespace strata
