// SPDX-License-Identifier: Apache-2.0
// The same network from different formats: parameters and multiply-adds per format, and why they
// differ where they do.
#include "counts.hpp"
#include "strata/importers/importers.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace strata {
namespace {

/// What a file has more than the built-in network that it is compared with.
struct Difference {
  std::int64_t parameters = 0;
  std::int64_t mac = 0;
};

struct Source {
  std::string_view file;  ///< in the collection
  Difference more = {};
  ImportOptions options = {};
};

/// Counts of the built-in network for one image, and the same network elsewhere.
struct Agreement {
  std::string_view network;  ///< built in
  std::int64_t parameters;
  std::int64_t mac;
  std::vector<Source> sources;
};

// The first 1×1 convolution of a stage halves the image, not the 3×3 one behind it: Microsoft's
// files, and Keras.
constexpr std::int64_t stride_in_first = -256 * 128 * (56 * 56 - 28 * 28) -
                                         512 * 256 * (28 * 28 - 14 * 14) -
                                         1024 * 512 * (14 * 14 - 7 * 7);
// darknet's shortcuts fill up with zeros where others project.
constexpr std::int64_t projections_50 =
    64 * 256 * 56 * 56 + 256 * 512 * 28 * 28 + 512 * 1024 * 14 * 14 + 1024 * 2048 * 7 * 7;
constexpr std::int64_t projections_18 =
    64 * 128 * 28 * 28 + 128 * 256 * 14 * 14 + 256 * 512 * 7 * 7;
// Images of 224 instead of 227 pixels: maps of 54, 26 and 12 instead of 55, 27 and 13.
constexpr std::int64_t alexnet_at_224 =
    -(55 * 55 - 54 * 54) * 96 * 3 * 11 * 11 - (27 * 27 - 26 * 26) * 256 * 48 * 5 * 5 -
    (13 * 13 - 12 * 12) * 9 * (384 * 256 + 384 * 192 + 256 * 192);
// MobileNet v2 of Intel's Caffe expands in its first block, and strides one stage later.
constexpr std::int64_t later_stride =
    32 * 32 * 112 * 112 +
    (28 * 28 - 14 * 14) * (9 * 192 + 192 * 64 + 3 * (2 * 64 * 384 + 9 * 384) + 64 * 384);

const std::vector<Agreement>& agreements() {
  static const std::vector<Agreement> table = {
      {"lenet5:variant=caffe", 431'080, 2'293'000, {{"caffe/lenet/lenet.prototxt"}}},
      {"alexnet",
       61'100'840,
       714'188'480,
       {{"caffe/convnet-benchmarks/alexnet.prototxt"}, {"onnx/torch/alexnet.onnx"}}},
      {"alexnet_caffe",
       60'965'224,
       724'406'816,
       {{"caffe/bvlc_alexnet/deploy.prototxt"},
        {"caffe/bvlc_alexnet/train_val.prototxt"},
        {"onnx/light/light_bvlc_alexnet.onnx", {0, alexnet_at_224}}}},
      {"vgg16",
       138'357'544,
       15'470'264'320,
       {{"caffe/intel/vgg16/deploy.prototxt"},
        {"keras/generated-keras3.5/VGG16.json"},
        {"darknet/pjreddie/vgg-16.cfg"}}},
      {"vgg19",
       143'667'240,
       19'632'062'464,
       {{"caffe/intel/default_vgg_19/train_val.prototxt"},
        {"keras/generated-keras3.5/VGG19.json"},
        {"onnx/light/light_vgg19.onnx"}}},
      {"resnet18",
       11'689'512,
       1'814'073'344,
       // Folded: a bias per convolution in place of scale and shift.
       {{"onnx/zigzag/resnet18.onnx", {-4'800, 0}},
        {"darknet/pjreddie/resnet18.cfg",
         {-173'824, -projections_18},
         {.input_shapes = {{"input", {1, 3, 224, 224}}}}}}},
      {"resnet50",
       25'557'032,
       4'089'184'256,
       {{"onnx/torch/resnet50.ts.onnx"},
        {"onnx/light/light_resnet50.onnx"},
        // Folded, which the file records: all of it is put back, unless it is read as it is.
        {"onnx/torch/resnet50.onnx"},
        {"onnx/torch/resnet50.onnx", {-53'120, 0}, {.fuse = false}},
        {"onnx/torch/resnet50.onnx", {}, {.fuse = false, .assume_batch_norm = true}},
        // A bias in conv1.
        {"caffe/resnet/ResNet-50-deploy.prototxt", {64, stride_in_first}},
        // A bias in every convolution.
        {"keras/generated-keras3.5/ResNet50.json", {26'560, stride_in_first}},
        {"darknet/pjreddie/resnet50.cfg",
         {-2'776'576, -projections_50},
         {.input_shapes = {{"input", {1, 3, 224, 224}}}}}}},
      {"mobilenet_v2",
       3'504'872,
       300'774'272,
       {{"keras/generated-keras3.5/MobileNetV2.json"},
        {"onnx/zigzag/mobilenetv2.onnx", {-17'056, 0}},
        {"onnx/torch/mobilenet_v2.onnx"},
        {"onnx/torch/mobilenet_v2.onnx", {-2 * 17'056, 0}, {.fuse = false}},
        {"caffe/intel/mobilenet_v2/deploy.prototxt", {32 * 32 + 2 * 32, later_stride}}}},
      {"densenet121",
       7'978'856,
       2'834'161'664,
       {{"onnx/light/light_densenet121.onnx"}, {"keras/generated-keras3.5/DenseNet121.json"}}},
      {"inception_v3",
       23'834'568,
       5'713'216'096,
       // Normalisation without scale; without scale and shift.
       {{"keras/generated-keras3.5/InceptionV3.json", {-17'216, 0}},
        {"caffe/intel/googlenet_v3/deploy.prototxt", {-34'432, 0}}}},
      {"yolov3:image=416",
       61'949'149,
       32'932'037'632,
       {{"darknet/pjreddie/yolov3.cfg", {}, {.input_shapes = {{"input", {1, 3, 416, 416}}}}},
        {"keras/ilearnml/yolo3_tfjs.json", {}, {.input_shapes = {{"input_1", {1, 416, 416, 3}}}}}}},
  };
  return table;
}

TEST(FormatAgreement, built_in_networks_have_the_stated_counts) {
  for (const Agreement& row : agreements()) {
    const Counts counts = counts_of(row.network);
    EXPECT_EQ(counts.parameters, row.parameters) << row.network;
    EXPECT_EQ(counts.mac, row.mac) << row.network;
  }
}

TEST(FormatAgreement, files_agree_but_for_the_stated_differences) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const Agreement& row : agreements()) {
    for (const Source& source : row.sources) {
      SCOPED_TRACE(std::string(row.network) + " in " + std::string(source.file));
      const Counts counts = counts_of(import_model(*collection() / source.file, source.options));
      EXPECT_EQ(counts.parameters - row.parameters, source.more.parameters);
      EXPECT_EQ(counts.mac - row.mac, source.more.mac);
    }
  }
}

// GoogLeNet is built in as torchvision has it, with normalisation and without Caffe's biases; the
// files are the original. Caffe's pools round up, those of the ONNX file down: its maps have 55,
// 27, 13 and 6 places where Caffe's have 56, 28, 14 and 7.
TEST(FormatAgreement, googlenet_of_caffe_and_onnx) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Counts caffe =
      counts_of(import_model(*collection() / "caffe/bvlc_googlenet/deploy.prototxt"));
  const Counts onnx = counts_of(import_model(*collection() / "onnx/light/light_inception_v1.onnx"));
  EXPECT_EQ(caffe.parameters, 6'998'552);
  EXPECT_EQ(onnx.parameters, 6'998'552);
  EXPECT_EQ(caffe.mac, 1'582'671'872);
  EXPECT_EQ(onnx.mac, 1'431'556'352);
}

// YOLOv2 for VOC is not built in: darknet's own file, and Caffe's at 544 pixels.
TEST(FormatAgreement, yolov2_of_darknet_and_caffe) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Counts darknet = counts_of(import_model(*collection() / "darknet/pjreddie/yolov2-voc.cfg",
                                                {.input_shapes = {{"input", {1, 3, 544, 544}}}}));
  const Counts caffe = counts_of(import_model(*collection() / "caffe/intel/yolo/deploy.prototxt"));
  EXPECT_EQ(darknet.parameters, 50'655'389);
  EXPECT_EQ(caffe.parameters, darknet.parameters);
  EXPECT_EQ(darknet.mac, 25'103'954'944);
  EXPECT_EQ(caffe.mac, darknet.mac);
}

}  // namespace
}  // namespace strata
