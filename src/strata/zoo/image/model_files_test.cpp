// SPDX-License-Identifier: Apache-2.0
// The networks against the files they are written after: Keras's JSON, darknet's cfg, Caffe's
// prototxt. The readers here are a few lines each and share nothing with Strata's importers, so
// that the two can be wrong only independently.
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace strata {
namespace {

using nlohmann::json;

/// The file's text, or nothing when there is no collection of model files.
std::optional<std::string> model_file(const std::string& path) {
  const char* folder = std::getenv("STRATA_MODELS");
  if (folder == nullptr) return std::nullopt;
  std::ifstream file(std::filesystem::path(folder) / path);
  if (!file) fail(ErrorKind::environment, "STRATA_MODELS has no {}", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr std::string_view no_collection =
    "STRATA_MODELS is not set: no model files to compare with";

/// A network bound to one image, its nodes by name.
struct Built {
  explicit Built(std::string_view specification)
      : graph(build_network(specification)), bound(bind_graph(graph, {{"batch", 1}})) {
    for (const Node& node : graph.nodes) nodes.emplace(node.name, &node);
  }
  const Node* find(const std::string& name) const {
    const auto found = nodes.find(name);
    return found == nodes.end() ? nullptr : found->second;
  }
  /// Name of the layer that made the tensor; joining axes is not a layer in any of the files.
  std::string maker(TensorId tensor) const {
    const NodeId producer = graph.tensors[tensor].producer;
    if (producer == no_node) return "input";
    const Node& node = graph.nodes[producer];
    return node.name == "flatten" ? maker(node.inputs[0]) : node.name;
  }

  Graph graph;
  BoundGraph bound;
  std::map<std::string, const Node*> nodes;
};

// ---- Keras---------------------------------------------------------------------------------------
// -------------------------------------------------------------------------------------------------

/// Names of the layers that feed a layer, in order.
void collect_sources(const json& value, std::vector<std::string>& names) {
  if (value.is_object() && value.contains("keras_history")) {
    const std::string name = value["keras_history"][0];
    names.push_back(name.starts_with("input_layer") ? "input" : name);
  } else if (value.is_structured()) {
    for (const json& item : value) collect_sources(item, names);
  }
}

/// The shape as Strata has it: batch 1, channels before space.
Axes channels_first(const json& shape) {
  if (shape.size() == 2) return {1, shape[1]};
  return {1, shape[3], shape[1], shape[2]};
}

void expect_same_convolution(const json& config, bool is_depthwise, const Node& node,
                             std::int64_t input_channels) {
  const auto* convolution = std::get_if<Convolution>(&node.op);
  ASSERT_NE(convolution, nullptr) << node.name;
  const std::int64_t filters =
      is_depthwise ? input_channels : config["filters"].get<std::int64_t>();
  EXPECT_EQ(convolution->channels, filters) << node.name;
  EXPECT_EQ(convolution->groups, is_depthwise ? input_channels : 1) << node.name;
  EXPECT_EQ(convolution->kernel, (Extents{config["kernel_size"][0], config["kernel_size"][1]}));
  EXPECT_EQ(convolution->stride, (Extents{config["strides"][0], config["strides"][1]}));
  EXPECT_EQ(convolution->bias, config["use_bias"].get<bool>()) << node.name;
}

void expect_same_layer(const json& layer, const Built& built) {
  const std::string name = layer["name"];
  const std::string kind = layer["class_name"];
  const Node* node = built.find(name);
  ASSERT_NE(node, nullptr) << name;
  std::vector<std::string> sources;
  collect_sources(layer["inbound_nodes"], sources);
  ASSERT_EQ(node->first_own, sources.size()) << name;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(built.maker(node->inputs[i]), sources[i]) << name;
  }
  const bool has_shape =
      layer.contains("build_config") && !layer["build_config"]["input_shape"].is_null();
  if (has_shape && !layer["build_config"]["input_shape"][0].is_array()) {
    EXPECT_EQ(built.bound.tensors[node->inputs[0]].shape,
              channels_first(layer["build_config"]["input_shape"]))
        << name;
  }
  if (kind == "Conv2D" || kind == "DepthwiseConv2D") {
    expect_same_convolution(layer["config"], kind == "DepthwiseConv2D", *node,
                            built.bound.tensors[node->inputs[0]][1]);
  }
}

void expect_same_as_keras(std::string_view network, const std::string& file) {
  const auto text = model_file("keras/generated-keras3.5/" + file);
  if (!text) GTEST_SKIP() << no_collection;
  const Built built(network);
  std::size_t layers = 0;
  const json model = json::parse(*text);
  for (const json& layer : model["config"]["layers"]) {
    if (layer["class_name"] == "InputLayer") continue;
    ++layers;
    expect_same_layer(layer, built);
  }
  std::size_t nodes = 0;  // what Keras has no layer for: joined axes, softmax inside a dense layer
  for (const Node& node : built.graph.nodes) {
    nodes += node.name != "flatten" && node.name != "predictions_softmax" ? 1U : 0U;
  }
  EXPECT_EQ(nodes, layers);
}

TEST(KerasFiles, resnet50) { expect_same_as_keras("resnet50_keras", "ResNet50.json"); }
TEST(KerasFiles, mobilenet) { expect_same_as_keras("mobilenet_v1", "MobileNet.json"); }
TEST(KerasFiles, mobilenet_v2) { expect_same_as_keras("mobilenet_v2_keras", "MobileNetV2.json"); }

// ---- darknet-------------------------------------------------------------------------------------
// -------------------------------------------------------------------------------------------------

struct Section {
  std::string kind;
  std::map<std::string, std::string> values;

  std::int64_t number(const std::string& key, std::int64_t otherwise = 0) const {
    const auto found = values.find(key);
    return found == values.end() ? otherwise : std::stoll(found->second);
  }
};

std::vector<Section> darknet_sections(const std::string& text) {
  std::vector<Section> sections;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trimmed(line.substr(0, line.find('#')));
    const std::size_t equals = content.find('=');
    if (content.starts_with('[')) {
      sections.push_back({std::string(content.substr(1, content.size() - 2)), {}});
    } else if (equals != std::string_view::npos) {
      sections.back().values.emplace(trimmed(content.substr(0, equals)),
                                     trimmed(content.substr(equals + 1)));
    }
  }
  return sections;
}

/// The network beside its cfg file, section by section; a section's index counts without [net].
class DarknetComparison {
 public:
  DarknetComparison(std::string_view specification, std::vector<Section> sections)
      : built_(specification), sections_(std::move(sections)) {}

  void run() {
    std::size_t expected_nodes = 0;
    for (std::size_t index = 0; index + 1 < sections_.size(); ++index) {
      expected_nodes += compare(index, sections_[index + 1]);
    }
    std::size_t nodes = 0;
    for (const Node& node : built_.graph.nodes) nodes += node.name != "flatten" ? 1U : 0U;
    EXPECT_EQ(nodes, expected_nodes);
  }

 private:
  std::string named(const char* what, std::size_t index) const {
    return std::string(what) + "_" + std::to_string(index);
  }

  /// Name of the node whose output is the section's.
  std::string last_node(std::size_t index) const {
    const Section& section = sections_[index + 1];
    if (section.kind == "convolutional") {
      return section.number("batch_normalize") == 1 ? named("leaky", index) : named("conv", index);
    }
    if (section.kind == "route") {
      const auto layers = routed(index);
      return layers.size() == 1 ? last_node(layers[0]) : named("route", index);
    }
    return named(section.kind.c_str(), index);
  }

  std::vector<std::size_t> routed(std::size_t index) const {
    std::vector<std::size_t> layers;
    for (const std::string_view item : split(sections_[index + 1].values.at("layers"), ',')) {
      const long long layer = std::stoll(std::string(trimmed(item)));
      layers.push_back(layer < 0 ? index - static_cast<std::size_t>(-layer)
                                 : static_cast<std::size_t>(layer));
    }
    return layers;
  }

  void expect_inputs(const Node& node, const std::vector<std::size_t>& sources) {
    ASSERT_EQ(node.first_own, sources.size()) << node.name;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(built_.maker(node.inputs[i]), last_node(sources[i])) << node.name;
    }
  }

  /// Compares one section and returns how many nodes it stands for.
  std::size_t compare(std::size_t index, const Section& section) {
    if (section.kind == "convolutional") return compare_convolution(index, section);
    if (section.kind == "route" && routed(index).size() == 1) return 0;
    const std::string name = last_node(index);
    const Node* node = built_.find(name);
    if (node == nullptr) {
      ADD_FAILURE() << "no node " << name;
      return 0;
    }
    if (section.kind == "shortcut") {
      expect_inputs(*node, {index - 1, index - static_cast<std::size_t>(-section.number("from"))});
    } else if (section.kind == "route") {
      expect_inputs(*node, routed(index));
    } else {
      expect_inputs(*node, {index - 1});
    }
    if (section.kind == "yolo") {
      EXPECT_EQ(std::get<Yolo>(node->op).classes, section.number("classes"));
      EXPECT_EQ(std::get<Yolo>(node->op).boxes,
                static_cast<std::int64_t>(split(section.values.at("mask"), ',').size()));
    }
    if (section.kind == "maxpool") {
      EXPECT_EQ(std::get<Pool>(node->op).kernel[0], section.number("size"));
      EXPECT_EQ(std::get<Pool>(node->op).stride[0], section.number("stride"));
    }
    return 1;
  }

  std::size_t compare_convolution(std::size_t index, const Section& section) {
    const bool has_norm = section.number("batch_normalize") == 1;
    const Node* node = built_.find(named("conv", index));
    const std::size_t nodes = has_norm ? 3 : 1;
    if (node == nullptr) {
      ADD_FAILURE() << "no convolution for section " << index;
      return nodes;
    }
    const auto& convolution = std::get<Convolution>(node->op);
    EXPECT_EQ(convolution.channels, section.number("filters")) << node->name;
    EXPECT_EQ(convolution.kernel[0], section.number("size")) << node->name;
    EXPECT_EQ(convolution.stride[0], section.number("stride")) << node->name;
    EXPECT_EQ(convolution.pad_begin[0], section.number("pad") * (section.number("size") / 2));
    EXPECT_EQ(convolution.bias, !has_norm) << node->name;
    EXPECT_EQ(section.values.at("activation"), has_norm ? "leaky" : "linear") << node->name;
    EXPECT_EQ(built_.find(named("batch_norm", index)) != nullptr, has_norm);
    if (index > 0) expect_inputs(*node, {index - 1});
    return nodes;
  }

  Built built_;
  std::vector<Section> sections_;
};

void expect_same_as_darknet(const std::string& network) {
  const auto text = model_file("darknet/pjreddie/" + network + ".cfg");
  if (!text) GTEST_SKIP() << no_collection;
  std::vector<Section> sections = darknet_sections(*text);
  const std::string image = sections.at(0).values.at("width");
  DarknetComparison(network + ":image=" + image, std::move(sections)).run();
}

TEST(DarknetFiles, darknet19) { expect_same_as_darknet("darknet19"); }
TEST(DarknetFiles, darknet53) { expect_same_as_darknet("darknet53"); }
TEST(DarknetFiles, yolov3) { expect_same_as_darknet("yolov3"); }

// ---- Caffe---------------------------------------------------------------------------------------
// -------------------------------------------------------------------------------------------------

/// The word after the first "key:" of a prototxt, without quotes.
std::string caffe_value(const std::vector<std::string>& words, const std::string& key,
                        const std::string& otherwise = "?") {
  const auto found = std::find(words.begin(), words.end(), key + ":");
  if (found == words.end() || found + 1 == words.end()) return otherwise;
  std::string value = *(found + 1);
  std::erase(value, '"');
  return value;
}

std::string caffe_layer(const std::vector<std::string>& words) {
  const std::string type = caffe_value(words, "type");
  if (type == "Convolution" || type == "CONVOLUTION") {
    return fmt::format("conv {} {} {} {} {}", caffe_value(words, "num_output"),
                       caffe_value(words, "kernel_size"), caffe_value(words, "stride", "1"),
                       caffe_value(words, "pad", "0"), caffe_value(words, "group", "1"));
  }
  if (type == "InnerProduct" || type == "INNER_PRODUCT") {
    return fmt::format("fc {}", caffe_value(words, "num_output"));
  }
  if (type == "Pooling" || type == "POOLING") {
    return fmt::format("pool {} {}", caffe_value(words, "kernel_size"),
                       caffe_value(words, "stride", "1"));
  }
  if (type == "LRN") return fmt::format("lrn {}", caffe_value(words, "local_size"));
  return {};
}

/// One line per layer that has a size: "conv 96 11 4 0 1" (outputs, window, stride, padding,
/// groups), "fc 4096", "pool 3 2", "lrn 5".
std::vector<std::string> caffe_layers(const std::string& text) {
  std::vector<std::string> lines;
  std::vector<std::string> words;  // of the layer being read
  const auto end_layer = [&] {
    if (const std::string line = caffe_layer(words); !line.empty()) lines.push_back(line);
    words.clear();
  };
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    if (word == "layer" || word == "layers") end_layer();
    words.push_back(word);
  }
  end_layer();
  return lines;
}

std::vector<std::string> sized_layers(const Graph& graph) {
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (const auto* conv = std::get_if<Convolution>(&node.op)) {
      lines.push_back(fmt::format("conv {} {} {} {} {}", conv->channels, conv->kernel[0],
                                  conv->stride[0], conv->pad_begin[0], conv->groups));
    } else if (const auto* linear = std::get_if<Linear>(&node.op)) {
      lines.push_back(fmt::format("fc {}", linear->features));
    } else if (const auto* pool = std::get_if<Pool>(&node.op)) {
      lines.push_back(fmt::format("pool {} {}", pool->kernel[0], pool->stride[0]));
    } else if (const auto* norm = std::get_if<LocalResponseNorm>(&node.op)) {
      lines.push_back(fmt::format("lrn {}", norm->size));
    }
  }
  return lines;
}

void expect_same_as_caffe(std::string_view network, const std::string& file) {
  const auto text = model_file("caffe/" + file);
  if (!text) GTEST_SKIP() << no_collection;
  EXPECT_EQ(sized_layers(build_network(network)), caffe_layers(*text));
}

TEST(CaffeFiles, alexnet) { expect_same_as_caffe("alexnet_caffe", "bvlc_alexnet/deploy.prototxt"); }
TEST(CaffeFiles, overfeat) {
  expect_same_as_caffe("overfeat", "convnet-benchmarks/overfeat.prototxt");
}
TEST(CaffeFiles, lenet) { expect_same_as_caffe("lenet5:variant=caffe", "lenet/lenet.prototxt"); }
TEST(CaffeFiles, vgg16) { expect_same_as_caffe("vgg16", "intel/vgg16/deploy.prototxt"); }

}  // namespace
}  // namespace strata
