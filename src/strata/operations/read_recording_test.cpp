// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/read_recording.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace strata {
namespace {

using Json = nlohmann::json;

/// A linear layer without a bias, forward.
Json small_recording() {
  return Json::parse(R"({
    "strata_operations": 1, "name": "small", "framework": "PyTorch 2.11.0", "training": true, "samples": 3,
    "layers": [{"name": "fc", "type": "Linear"}],
    "storages": [{"bytes": 60, "kind": "input", "name": "x"}, {"bytes": 140, "kind": "parameter", "name": "fc.weight"},
                 {"bytes": 84}],
    "tensors": [["float32", [3, 5], [5, 1], 0, 0], ["float32", [7, 5], [5, 1], 1, 0], ["float32", [5, 7], [1, 5], 1, 0],
                ["float32", [3, 7], [7, 1], 2, 0]],
    "operations": [{"op": "aten::t", "pass": "forward", "layer": 0, "inputs": [1], "outputs": [2]},
                   {"op": "aten::mm", "pass": "forward", "layer": 0, "inputs": [0, 2], "outputs": [3]}]})");
}

TEST(ReadRecording, makes_a_network_of_its_layers) {
  const Graph graph = recorded_graph(read_recording(small_recording().dump()));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].name, "fc");
  const auto parameter =
      std::find_if(graph.tensors.begin(), graph.tensors.end(),
                   [](const Tensor& one) { return one.kind == TensorKind::parameter; });
  ASSERT_NE(parameter, graph.tensors.end());
  EXPECT_EQ(parameter->name, "fc.weight");
  ASSERT_NE(graph.recording, nullptr);
  EXPECT_EQ(graph.recording->operations[1].mac, 3 * 5 * 7);
  EXPECT_FALSE(graph.recording->operations[0].launches);
  EXPECT_EQ(bind_graph(graph, {}).tensors[graph.nodes[0].outputs[0]].elements, 21);
}

TEST(ReadRecording, says_which_operations_it_does_not_know) {
  Json json = small_recording();
  json["operations"][1]["op"] = "mylib::product";
  const Graph graph = recorded_graph(read_recording(json.dump()));
  ASSERT_EQ(graph.warnings.size(), 1U);
  EXPECT_NE(graph.warnings[0].message.find("mylib::product (1×)"), std::string::npos);
}

struct Broken {
  const char* pointer;
  Json value;
  const char* expected;  ///< part of the message
};

TEST(ReadRecording, refuses_with_the_place_and_what_was_expected) {
  const std::vector<Broken> broken = {
      {"/strata_operations", 2, "version 1"},
      {"/layers", 7, "recording.layers: expected a list, got number"},
      {"/layers/0", "fc", "layers[0]: expected an object"},
      {"/storages/1/bytes", -4, "storages[1].bytes: expected a whole number from 0 on"},
      {"/storages/1/kind", "weights", "there is no kind 'weights'"},
      {"/tensors/2", Json::array({"float32", Json::array({5, 7})}),
       "tensors[2]: expected [type, shape, stride, storage, offset]"},
      {"/tensors/2/0", "float31", "there is no type 'float31'"},
      {"/tensors/2/1", Json::array({-1}), "a whole number from 0 on"},
      {"/tensors/2/3", 3, "tensors[2]: expected a number below 3, got 3"},
      {"/operations/1/op", 3, "operations[1].op: expected a text"},
      {"/operations/1/pass", "sideways", "expected forward, backward or update, got 'sideways'"},
      {"/operations/1/layer", 1, "operations[1].layer: expected a number below 1, got 1"},
      {"/operations/1/inputs/0", 9, "operations[1].inputs: expected a number below 4, got 9"},
      {"/operations/1/outputs", nullptr, "operations[1].outputs: expected a list"},
      {"/operations", Json::array(), "operations: there are none"},
  };
  for (const Broken& one : broken) {
    Json json = small_recording();
    json[Json::json_pointer(one.pointer)] = one.value;
    try {
      read_recording(json.dump());
      ADD_FAILURE() << one.pointer << " was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << one.pointer;
      EXPECT_NE(std::string(error.what()).find(one.expected), std::string::npos) << error.what();
    }
  }
}

TEST(ReadRecording, counts_sizes_before_it_believes_them) {
  const std::int64_t large = std::int64_t{1} << 62;
  Json json = small_recording();
  json["storages"][0]["bytes"] = large;
  json["storages"][1]["bytes"] = large;
  EXPECT_THROW(read_recording(json.dump()), Error);
  json = small_recording();
  json["tensors"][0][1] = {large, 4};
  EXPECT_THROW(read_recording(json.dump()), Error);
}

TEST(ReadRecording, refuses_what_is_nested_too_deep) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THROW(read_recording(R"({"strata_operations": 1, "layers": )" + deep + "}"), Error);
}

}  // namespace
}  // namespace strata
