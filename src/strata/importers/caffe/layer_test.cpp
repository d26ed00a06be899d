// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/layer.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/caffe/sources.hpp"

#include <gtest/gtest.h>

#include <string>

namespace strata::caffe {
namespace {

/// A parsed file; the layers refer to its tree.
struct Parsed {
  explicit Parsed(std::string content)
      : text(std::move(content)), root(parse_text_format(text)), document(read_document(root)) {}
  std::string text;
  Message root;
  Document document;

  /// Names of the layers of the phase that was chosen.
  std::string kept(Phase expected) const {
    Phase phase = Phase::train;
    std::string names;
    for (const Layer& layer : layers_in_phase(document, phase)) names += layer.name + " ";
    EXPECT_EQ(phase, expected);
    return names;
  }
};

std::string layer_error(const std::string& text) {
  try {
    Parsed(text).kept(Phase::train);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string layer(const std::string& name, const std::string& rest = "") {
  return "layer { name: '" + name + "' type: 'ReLU' bottom: 'data' top: '" + name + "' " + rest +
         " }\n";
}

const std::string input = "input: 'data' input_dim: 4 input_dim: 3 input_dim: 8 input_dim: 9\n";

TEST(CaffeLayers, both_syntaxes_are_the_same) {
  const Parsed now(
      "name: 'n' layer { name: 'ip' type: 'InnerProduct' bottom: 'a' top: 'b' param { name: 'w' "
      "lr_mult: 0 } param { lr_mult: 2 } }");
  const Parsed before(
      "name: 'n' layers { name: 'ip' type: INNER_PRODUCT bottom: 'a' top: 'b' blobs_lr: 0 "
      "blobs_lr: 2 param: 'w' param: '' }");
  for (const Parsed* parsed : {&now, &before}) {
    const Layer& layer = parsed->document.layers.at(0);
    EXPECT_EQ(layer.kind, "innerproduct");
    EXPECT_EQ(layer.name, "ip");
    EXPECT_EQ(layer.bottoms, std::vector<std::string>{"a"});
    EXPECT_EQ(layer.tops, std::vector<std::string>{"b"});
    EXPECT_EQ(layer.parameter_names, (std::vector<std::string>{"w", ""}));
    EXPECT_TRUE(layer.is_frozen);
  }
  EXPECT_EQ(now.document.name, "n");
}

TEST(CaffeLayers, inputs_of_the_network) {
  const Parsed dims(input + layer("a"));
  ASSERT_EQ(dims.document.inputs.size(), 1U);
  EXPECT_EQ(dims.document.inputs[0].shape, (std::vector<std::int64_t>{4, 3, 8, 9}));
  const Parsed shapes("input: 'x' input: 'y' input_shape { dim: 2 dim: 3 } input_shape { dim: 5 }" +
                      layer("a"));
  EXPECT_EQ(shapes.document.inputs[1].shape, std::vector<std::int64_t>{5});
  EXPECT_EQ(layer_error("input: 'x' input_dim: 3\n" + layer("a")),
            "expected one input_shape, or four input_dim, for each of 1 inputs");
}

TEST(CaffeLayers, phases) {
  const std::string train = "include { phase: TRAIN }";
  const std::string test = "include: { phase: TEST }";
  EXPECT_EQ(Parsed(input + layer("a", train) + layer("b", test) + layer("c")).kept(Phase::train),
            "a c ");
  EXPECT_EQ(Parsed(input + layer("a", "exclude { phase: TRAIN }") + layer("b")).kept(Phase::train),
            "b ");
  EXPECT_EQ(Parsed(input + layer("a", test + train)).kept(Phase::train), "a ");
  EXPECT_EQ(
      Parsed(input + layer("a", "include { stage: 'deploy' }") + layer("b")).kept(Phase::train),
      "b ");
  EXPECT_EQ(Parsed(input + layer("a", "include { not_stage: 'deploy' }")).kept(Phase::train), "a ");
  EXPECT_EQ(Parsed(input + layer("a", "include { min_level: 1 }") + layer("b")).kept(Phase::train),
            "b ");
  EXPECT_EQ(layer_error(input + layer("a", "include { phase: BOTH }")),
            "layer 'a' (line 2): field 'phase': expected TRAIN or TEST, got 'BOTH'");
}

TEST(CaffeLayers, a_network_that_is_complete_in_phase_TEST_only) {
  const std::string data =
      "layer { name: 'd' type: 'Input' top: 'data' include { phase: TEST } }\n";
  EXPECT_EQ(Parsed(data + layer("a") + layer("b", "include { phase: TRAIN }")).kept(Phase::test),
            "d a ");
  EXPECT_EQ(Parsed(input + layer("a", "include { phase: TEST }")).kept(Phase::test), "a ");
  EXPECT_EQ(layer_error(layer("a")),
            "layer 'a' (line 1): no layer before it makes the blob 'data'");
}

TEST(CaffeLayers, bad_layers) {
  EXPECT_EQ(layer_error("name: 'x'"), "the network has no layers");
  EXPECT_EQ(layer_error("layer: 3"), "line 1: expected '{' after 'layer'");
  EXPECT_EQ(layer_error("\nlayer { name: 'x' }"), "layer 'x' (line 2): 'type' is missing");
  EXPECT_EQ(layer_error("layer { typ: 'ReLU' }"),
            "layer (line 1): 'type' is missing; 'typ' looks like it");
  EXPECT_EQ(layer_error("layers { layer { name: 'c' type: 'conv' } }"),
            "line 1: the syntax of 2013 (a layer within `layers`) is not read; Caffe's tool "
            "upgrade_net_proto_text brings the file up to date");
}

std::vector<Source> sources(const std::string& text) {
  const Parsed parsed("layer { name: 'd' top: 'data' top: 'label' " + text + " }");
  const Layer& layer = parsed.document.layers.at(0);
  EXPECT_TRUE(is_source(layer));
  return sources_of(layer);
}

using Shape = std::vector<std::int64_t>;

TEST(CaffeSources, shapes_that_the_file_tells) {
  const auto shape = [](const std::string& text) { return sources(text)[0].shape; };
  EXPECT_EQ(shape("type: 'Input' input_param { shape: { dim: 1 dim: 2 } }"), (Shape{1, 2}));
  EXPECT_EQ(
      sources("type: 'DummyData' dummy_data_param { shape { dim: 7 } shape { dim: 8 } }")[1].shape,
      Shape{8});
  EXPECT_EQ(shape("type: 'DummyData' dummy_data_param { num: 1 channels: 2 height: 3 width: 4 }"),
            (Shape{1, 2, 3, 4}));
  EXPECT_EQ(shape("type: 'MemoryData' memory_data_param { batch_size: 4 channels: 3 height: 2 "
                  "width: 1 }"),
            (Shape{4, 3, 2, 1}));
  EXPECT_EQ(
      shape("type: 'ImageData' image_data_param { batch_size: 4 new_height: 5 new_width: 6 }"),
      (Shape{4, 3, 5, 6}));
  EXPECT_EQ(
      shape("type: 'ImageData' image_data_param { batch_size: 4 is_color: false new_height: 5 "
            "new_width: 6 }"),
      (Shape{4, 1, 5, 6}));
  EXPECT_EQ(shape("type: 'Data' data_param { batch_size: 8 } transform_param { crop_size: 227 "
                  "mean_value: 1 mean_value: 2 mean_value: 3 }"),
            (Shape{8, 3, 227, 227}));
}

TEST(CaffeSources, what_is_assumed_is_said) {
  const Source crop =
      sources("type: 'Data' data_param { batch_size: 8 } transform_param { crop_size: 9 }")[0];
  EXPECT_EQ(crop.shape, (Shape{8, 3, 9, 9}));
  EXPECT_EQ(crop.assumption, "its images are taken to have 3 channels");
  const Source digits =
      sources("type: DATA data_param { batch_size: 8 source: 'examples/mnist/train_lmdb' }")[0];
  EXPECT_EQ(digits.shape, (Shape{8, 1, 28, 28}));
  EXPECT_EQ(digits.assumption, "its data are taken for MNIST images because of their path");
  EXPECT_TRUE(sources("type: 'HDF5Data' hdf5_data_param { batch_size: 8 }")[0].shape.empty());
  EXPECT_TRUE(sources("type: 'Python'")[1].is_label);
}

}  // namespace
}  // namespace strata::caffe
