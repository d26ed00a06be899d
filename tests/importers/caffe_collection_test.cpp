// SPDX-License-Identifier: Apache-2.0
// Every prototxt file of the collection, and what is known about them from elsewhere.
#include "counts.hpp"
#include "strata/importers/caffe/caffe.hpp"
#include "strata/importers/darknet/darknet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace strata {
namespace {

Counts caffe_counts(std::string_view name, const ImportOptions& options = {}) {
  const auto file = *collection() / "caffe" / (std::string(name) + ".prototxt");
  return counts_of(read_caffe(file, options));
}

TEST(CaffeCollection, every_file_is_read_and_counted) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto files = files_below(*collection() / "caffe", ".prototxt");
  EXPECT_GE(files.size(), 33U);
  for (const auto& file : files) {
    SCOPED_TRACE(file.parent_path().filename().string() + "/" + file.filename().string());
    const Graph graph = read_caffe(file);
    // lrcn folds 16 time steps into its batch.
    const std::int64_t batch = file.stem() == "deploy_lstm" ? 16 : 1;
    const Counts one = counts_of(graph, batch);
    EXPECT_GT(one.parameters, 0);
    EXPECT_EQ(3 * one.mac, counts_of(graph, 3 * batch).mac);  // the batch is open everywhere
    const bool is_ssd = file.parent_path().filename() == "ssd";
    EXPECT_EQ(one.uncounted, is_ssd ? 6 : 0);  // its prior boxes
    EXPECT_FALSE(graph.outputs.empty());
  }
}

// Published: AlexNet and GoogLeNet of the BVLC in HPE's Deep Learning Cookbook; GoogLeNet with its
// auxiliary heads, LeNet, VGG and SSD300 for 21 classes as many rebuild them; VGG-A and AlexNet
// ("one weird trick") as torchvision counts vgg11 and alexnet.
TEST(CaffeCollection, parameters_are_the_published_ones) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view name;
    std::int64_t parameters;
  };
  constexpr std::array<Row, 15> table{{
      {"bvlc_alexnet/deploy", 60'965'224},
      {"bvlc_alexnet/train_val", 60'965'224},
      {"bvlc_reference_caffenet/train_val", 60'965'224},
      {"net_surgery/bvlc_caffenet_full_conv", 60'965'224},
      {"bvlc_googlenet/deploy", 6'998'552},
      {"bvlc_googlenet/train_val", 13'378'280},
      {"convnet-benchmarks/googlenet", 6'998'552},
      {"convnet-benchmarks/alexnet", 61'100'840},
      {"convnet-benchmarks/vgg_a", 132'863'336},
      {"intel/vgg16/deploy", 138'357'544},
      {"intel/default_vgg_16/train_val", 138'357'544},
      {"intel/default_vgg_19/train_val", 143'667'240},
      {"lenet/lenet", 431'080},
      {"lenet/lenet_train_test", 431'080},
      {"intel/ssd/deploy", 26'285'486},
  }};
  for (const Row& row : table) {
    EXPECT_EQ(caffe_counts(row.name).parameters, row.parameters) << row.name;
  }
}

// Both towers of the siamese network use the same filters: LeNet's without its ten classes, and two
// features.
TEST(CaffeCollection, shared_weights_are_counted_once) {
  if (!collection()) GTEST_SKIP() << no_collection;
  EXPECT_EQ(
      caffe_counts("siamese/mnist_siamese_train_test").parameters,
      (25 * 20 + 20) + (25 * 20 * 50 + 50) + (800 * 500 + 500) + (500 * 10 + 10) + (10 * 2 + 2));
}

void expect_same(const Counts& file, const Counts& other) {
  EXPECT_EQ(file.parameters, other.parameters);
  EXPECT_EQ(file.buffers, other.buffers);
  EXPECT_EQ(file.mac, other.mac);
}

TEST(CaffeCollection, files_and_built_in_networks_agree) {
  if (!collection()) GTEST_SKIP() << no_collection;
  expect_same(caffe_counts("bvlc_alexnet/deploy"), counts_of("alexnet_caffe"));
  expect_same(caffe_counts("bvlc_alexnet/train_val"), counts_of("alexnet_caffe"));
  expect_same(caffe_counts("convnet-benchmarks/alexnet"), counts_of("alexnet"));
  expect_same(caffe_counts("convnet-benchmarks/overfeat"), counts_of("overfeat"));
  expect_same(caffe_counts("intel/vgg16/deploy"), counts_of("vgg16"));
  expect_same(caffe_counts("intel/default_vgg_16/train_val"), counts_of("vgg16"));
  expect_same(caffe_counts("intel/default_vgg_19/train_val"), counts_of("vgg19"));
  expect_same(caffe_counts("lenet/lenet"), counts_of("lenet5:variant=caffe"));
}

// The authors' ResNets halve the image in the first 1×1 convolution of a stage, torchvision's in
// the 3×3 one: three 1×1 convolutions on four times as many pixels. ResNet-50 alone has a bias in
// conv1.
TEST(CaffeCollection, residual_networks_differ_from_torchvisions_in_known_places) {
  if (!collection()) GTEST_SKIP() << no_collection;
  constexpr std::int64_t stride_later = 256 * 128 * (56 * 56 - 28 * 28) +
                                        512 * 256 * (28 * 28 - 14 * 14) +
                                        1024 * 512 * (14 * 14 - 7 * 7);
  struct Row {
    std::string_view file;
    std::string_view network;
    std::int64_t biases;
  };
  constexpr std::array<Row, 5> table{{
      {"resnet/ResNet-50-deploy", "resnet50", 64},
      {"intel/resnet_50/deploy", "resnet50", 64},
      {"intel/default_resnet_50/train_val", "resnet50", 64},
      {"resnet/ResNet-101-deploy", "resnet101", 0},
      {"resnet/ResNet-152-deploy", "resnet152", 0},
  }};
  for (const Row& row : table) {
    const Counts file = caffe_counts(row.file);
    const Counts zoo = counts_of(row.network);
    EXPECT_EQ(file.parameters, zoo.parameters + row.biases) << row.file;
    EXPECT_EQ(file.buffers, zoo.buffers) << row.file;
    EXPECT_EQ(file.mac, zoo.mac - stride_later) << row.file;
  }
}

// This MobileNet v2 also expands in its first block (32 → 32), and halves the image for the fourth
// time only behind the blocks of 64 channels.
TEST(CaffeCollection, mobilenet_v2_differs_from_torchvisions_in_known_places) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Counts file = caffe_counts("intel/mobilenet_v2/deploy");
  const Counts zoo = counts_of("mobilenet_v2");
  EXPECT_EQ(file.parameters, zoo.parameters + 32 * 32 + 2 * 32);
  constexpr std::int64_t per_pixel = (9 * 192 + 192 * 64)  // first block, behind its stride
                                     + 3 * (2 * 64 * 384 + 9 * 384)  // three blocks
                                     + 64 * 384;                     // expansion of the next
  EXPECT_EQ(file.mac, zoo.mac + 32 * 32 * 112 * 112 + per_pixel * (28 * 28 - 14 * 14));
}

// Inception v3 without the learnt part of its normalisations: no Scale layers in the file.
TEST(CaffeCollection, inception_v3_lacks_the_affine_part_of_normalisation) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Counts file = caffe_counts("intel/googlenet_v3/deploy");
  const Counts zoo = counts_of("inception_v3");
  EXPECT_EQ(file.parameters, zoo.parameters - zoo.buffers);
  EXPECT_EQ(file.buffers, zoo.buffers);
  EXPECT_EQ(file.mac, zoo.mac);
}

// The same network in two formats: YOLOv2 for VOC, in Caffe at 544 pixels.
TEST(CaffeCollection, yolo_v2_is_darknets) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Graph darknet = read_darknet(*collection() / "darknet" / "pjreddie" / "yolov2-voc.cfg",
                                     {.input_shapes = {{"input", {1, 3, 544, 544}}}});
  expect_same(caffe_counts("intel/yolo/deploy"), counts_of(darknet));
}

TEST(CaffeCollection, what_is_assumed_is_said) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto codes = [](std::string_view name) {
    std::set<WarningCode> seen;
    const auto file = *collection() / "caffe" / (std::string(name) + ".prototxt");
    for (const Warning& warning : read_caffe(file).warnings) seen.insert(warning.code);
    return seen;
  };
  using enum WarningCode;
  EXPECT_EQ(codes("bvlc_alexnet/deploy"), std::set<WarningCode>{});
  EXPECT_EQ(codes("bvlc_alexnet/train_val"), std::set{value_assumed});  // 3 channels
  EXPECT_EQ(codes("bvlc_googlenet/train_val"), std::set<WarningCode>{});
  EXPECT_EQ(codes("lenet/lenet_train_test"), std::set{value_assumed});  // MNIST
  EXPECT_EQ(codes("intel/ssd/deploy"), std::set{operator_not_counted});
  EXPECT_EQ(codes("intel/yolo/deploy"), (std::set{value_assumed, part_ignored}));
}

TEST(CaffeCollection, mutilated_files_are_read_or_refused) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const auto& file : files_below(*collection() / "caffe", ".prototxt")) {
    SCOPED_TRACE(file.string());
    expect_mutilated_files_are_read_or_refused(text_of_file(file), [](const std::string& text) {
      return read_caffe_text(text, "mutilated.prototxt");
    });
  }
}

}  // namespace
}  // namespace strata
