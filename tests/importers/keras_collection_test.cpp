// SPDX-License-Identifier: Apache-2.0
// Every Keras file of the collection, and what is known about them from elsewhere.
#include "counts.hpp"
#include "strata/importers/keras/keras.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <set>

namespace strata {
namespace {

using nlohmann::json;

std::filesystem::path keras_file(std::string_view name) {
  return *collection() / "keras" / (std::string(name) + ".json");
}

Counts counts_of_file(std::string_view name, const ImportOptions& options = {}) {
  return counts_of(read_keras(keras_file(name), options));
}

// ---- every file ---------------------------------------------------------------------------------

// A graph model is TensorFlow's inference graph: layers, trainable weights and normalisation are
// gone from it.
const std::set<std::string> refused_keras = {"mobilenet_v2_mid_graphmodel_tfjs"};

const std::map<std::string, std::int64_t> uncounted = {
    {"retinanet_tfjs", 8},   // 5 Anchors, RegressBoxes, ClipBoxes, FilterDetections
    {"fasterrcnn_tfjs", 1},  // RoiPoolingConv
};

TEST(KerasCollection, every_file_is_read_and_counted) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto files = files_below(*collection() / "keras", ".json");
  EXPECT_GE(files.size(), 97U);
  for (const auto& file : files) {
    const std::string stem = file.stem().string();
    SCOPED_TRACE(file.parent_path().filename().string() + "/" + stem);
    if (refused_keras.contains(stem)) {
      EXPECT_THROW(read_keras(file), Error);
      continue;
    }
    const Graph graph = read_keras(file);
    const Counts one = counts_of(graph);
    EXPECT_GT(one.parameters, 0);
    EXPECT_EQ(3 * one.mac, counts_of(graph, 3).mac);  // the batch is open everywhere
    const auto known = uncounted.find(stem);
    EXPECT_EQ(one.uncounted, known == uncounted.end() ? 0 : known->second);
    EXPECT_FALSE(graph.outputs.empty());
  }
}

TEST(KerasCollection, mutilated_files_are_read_or_refused) {
  if (!collection()) GTEST_SKIP() << no_collection;
  for (const auto& file : files_below(*collection() / "keras" / "dl4j", ".json")) {
    SCOPED_TRACE(file.filename().string());
    expect_mutilated_files_are_read_or_refused(text_of_file(file), [](const std::string& text) {
      return read_keras_text(text, "mutilated.json");
    });
  }
}

// ---- parameters ---------------------------------------------------------------------------------

// What model.summary() and keras.io/api/applications say: learnt and not learnt together.
TEST(KerasCollection, parameters_are_those_of_keras) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view name;
    std::int64_t total;
  };
  constexpr std::array<Row, 17> table{{
      {"ConvNeXtTiny", 28'589'128},
      {"DenseNet121", 8'062'504},
      {"EfficientNetB0", 5'330'571},
      {"EfficientNetV2B0", 7'200'312},
      {"InceptionResNetV2", 55'873'736},
      {"InceptionV3", 23'851'784},
      {"MobileNet", 4'253'864},
      {"MobileNetV2", 3'538'984},
      {"MobileNetV3Large", 5'507'432},
      {"MobileNetV3Small", 2'554'968},
      {"NASNetMobile", 5'326'716},
      {"ResNet101", 44'707'176},
      {"ResNet50", 25'636'712},
      {"ResNet50V2", 25'613'800},
      {"VGG16", 138'357'544},
      {"VGG19", 143'667'240},
      {"Xception", 22'910'480},
  }};
  for (const Row& row : table) {
    const Counts counts = counts_of_file("generated-keras3.5/" + std::string(row.name));
    EXPECT_EQ(counts.parameters + counts.buffers, row.total) << row.name;
  }
}

// The same networks as other versions of Keras and other tools wrote them.
TEST(KerasCollection, versions_of_keras_agree) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const auto total = [](std::string_view name) {
    const Counts counts = counts_of_file(name);
    return counts.parameters + counts.buffers;
  };
  EXPECT_EQ(total("keras-js/resnet50"), 25'636'712);
  EXPECT_EQ(total("keras-js/xception"), 22'910'480);
  // Keras 1 gave InceptionV3 no bias-free convolutions before normalisation without scale: another
  // network, as keras-js counts it.
  for (const std::string_view name :
       {"beginner-tfjs/mobilenet_1.00_224_tfjs", "demba-ba-net/mobilenet_1.00_224_tfjs",
        "tfjs-sandbox/mobilenet_1.00_224_tfjs"}) {
    EXPECT_EQ(total(name), 4'253'864) << name;
    EXPECT_EQ(counts_of_file(name).mac, counts_of_file("generated-keras3.5/MobileNet").mac);
  }
  EXPECT_EQ(counts_of_file("keras-js/xception").mac,
            counts_of_file("generated-keras3.5/Xception").mac);
}

// What the authors' own documents print: keras-team/keras examples and summaries in the sources.
TEST(KerasCollection, small_networks_have_the_parameters_of_their_summaries) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view name;
    std::int64_t parameters;
  };
  constexpr std::array<Row, 8> table{{
      {"dl4j/keras2/mnist_mlp_tf_keras_2_config", 669'706},  // examples/mnist_mlp.py
      {"dl4j/keras1/mnist_mlp_tf_keras_1_config", 669'706},
      {"dl4j/keras2/mnist_cnn_tf_keras_2_config", 1'199'882},  // examples/mnist_cnn.py
      {"dl4j/keras2/mnist_cnn_th_keras_2_config", 1'199'882},  // the same, channels first
      {"dl4j/keras1/mnist_cnn_tf_keras_1_config", 600'810},    // its Keras 1 form
      {"dl4j/keras1/mnist_cnn_th_keras_1_config", 600'810},
      {"dl4j/keras2/imdb_lstm_tf_keras_2_config", 2'691'713},  // 20000·128 + 4·128·257 + 129
      {"ilearnml/tiny-yolo-voc_tfjs", 15'861'773},
  }};
  for (const Row& row : table) {
    EXPECT_EQ(counts_of_file(row.name).parameters, row.parameters) << row.name;
  }
}

// ---- the same network from elsewhere ------------------------------------------------------------

TEST(KerasCollection, built_in_networks_cost_the_same) {
  if (!collection()) GTEST_SKIP() << no_collection;
  struct Row {
    std::string_view file;
    std::string_view zoo;
  };
  constexpr std::array<Row, 5> table{{
      {"generated-keras3.5/ResNet50", "resnet50_keras"},
      {"generated-keras3.5/MobileNet", "mobilenet_v1"},
      {"generated-keras3.5/MobileNetV2", "mobilenet_v2_keras"},
      {"generated-keras3.5/VGG16", "vgg16"},
      {"generated-keras3.5/VGG19", "vgg19"},
  }};
  for (const Row& row : table) {
    const Counts file = counts_of_file(row.file);
    const Counts zoo = counts_of(row.zoo);
    EXPECT_EQ(file.parameters, zoo.parameters) << row.file;
    EXPECT_EQ(file.buffers, zoo.buffers) << row.file;
    EXPECT_EQ(file.mac, zoo.mac) << row.file;
  }
}

TEST(KerasCollection, yolov3_is_darknets) {
  if (!collection()) GTEST_SKIP() << no_collection;
  const Counts file =
      counts_of_file("ilearnml/yolo3_tfjs", {.input_shapes = {{"input_1", {1, 416, 416, 3}}}});
  const Counts zoo = counts_of("yolov3:image=416");
  EXPECT_EQ(file.parameters, zoo.parameters);
  EXPECT_EQ(file.buffers, zoo.buffers);
  EXPECT_EQ(file.mac, zoo.mac);
}

// ---- shapes -------------------------------------------------------------------------------------

/// Every tensor that a Keras 3 file mentions, with the shape that Keras found for it.
void collect_shapes(const json& value, std::map<std::string, std::vector<std::int64_t>>& shapes) {
  if (value.is_object() && value.contains("keras_history")) {
    std::vector<std::int64_t> shape;
    for (const json& extent : value["shape"])
      shape.push_back(extent.is_null() ? 1 : extent.get<int>());
    shapes.emplace(value["keras_history"][0].get<std::string>(), shape);
  } else if (value.is_structured()) {
    for (const json& item : value) collect_shapes(item, shapes);
  }
}

std::vector<std::int64_t> channels_first(std::vector<std::int64_t> shape) {
  if (shape.size() > 2) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

// Keras inferred these shapes itself when it wrote the file; each layer's last node must agree.
TEST(KerasCollection, shapes_are_those_that_keras_inferred) {
  if (!collection()) GTEST_SKIP() << no_collection;
  std::size_t compared = 0;
  for (const auto& file : files_below(*collection() / "keras" / "generated-keras3.5", ".json")) {
    SCOPED_TRACE(file.stem().string());
    std::map<std::string, std::vector<std::int64_t>> expected;
    collect_shapes(json::parse(text_of_file(file)), expected);
    const Graph graph = read_keras(file);
    const BoundGraph bound = bind_graph(graph, {{"batch", 1}});
    std::map<std::string, std::vector<std::int64_t>> made;
    for (const Node& node : graph.nodes) {
      const auto& shape = bound.tensors[node.outputs[0]].shape;
      const std::string layer = node.name.substr(0, node.name.find('/'));
      if (!node.name.ends_with("/channels_first") && !node.name.ends_with("/channels_last")) {
        made[expected.contains(node.name) ? node.name : layer].assign(shape.begin(), shape.end());
      }
    }
    for (const auto& [layer, shape] : expected) {
      const auto found = made.find(layer);
      if (found == made.end()) continue;  // an input, or a nested model
      EXPECT_TRUE(found->second == shape || found->second == channels_first(shape)) << layer;
      ++compared;
    }
  }
  EXPECT_GT(compared, 4000U);
}

}  // namespace
}  // namespace strata
