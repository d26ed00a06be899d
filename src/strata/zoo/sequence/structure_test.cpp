// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/bind.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace strata {
namespace {

const Node* find_node(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [&](const Node& node) { return node.name == name; });
  return found == graph.nodes.end() ? nullptr : &*found;
}

/// Elements of all parameters of a node whose own name begins so.
std::int64_t elements_of(const Graph& graph, const Node& node, std::string_view prefix) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t elements = 0;
  for (std::size_t i = node.first_own; i < node.inputs.size(); ++i) {
    const std::string& name = graph.tensor(node.inputs[i]).name;
    if (name.compare(node.name.size() + 1, prefix.size(), prefix) == 0) {
      elements += bound.tensors[node.inputs[i]].elements;
    }
  }
  return elements;
}

std::int64_t built_parameters(const char* specification) {
  const Graph graph = build_network(specification);
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t count = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) count += bound.tensors[id].elements;
  }
  return count;
}

std::vector<const Node*> recurrent_nodes(const Graph& graph) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<Recurrent>(node.op)) nodes.push_back(&node);
  }
  return nodes;
}

TEST(LstmNetworks, reference_kernel_is_one_node) {
  const Graph graph = build_network("lstm");
  EXPECT_EQ(graph.nodes.size(), 1);
  EXPECT_EQ(built_parameters("lstm"), 4 * 16 * (32 + 16) + 2 * 4 * 16);
}

// torch.nn.LSTM(1024, 1024, 4) followed by Linear(1024, 1000), as exported to ONNX.
TEST(LstmNetworks, stack_with_classes_is_the_exported_model) {
  EXPECT_EQ(built_parameters("lstm_stack:classes=1000"), 34'612'200);
  EXPECT_EQ(built_parameters("lstm_stack"), 34'612'200 - 1'025'000);
  EXPECT_EQ(recurrent_nodes(build_network("lstm_stack:layers=7")).size(), 7);
}

TEST(LstmNetworks, order_is_the_users) {
  EXPECT_EQ(build_network("lstm_stack").recurrent_order, RecurrentOrder::layer_major);
  EXPECT_EQ(build_network("lstm_stack:order=time").recurrent_order, RecurrentOrder::time_major);
  EXPECT_EQ(build_network("gnmt").recurrent_order, RecurrentOrder::layer_major);
  EXPECT_EQ(build_network("gnmt:order=time").recurrent_order, RecurrentOrder::time_major);
  EXPECT_EQ(build_network("gnmt_thesis").recurrent_order, RecurrentOrder::time_major);
  EXPECT_EQ(build_network("gnmt_thesis:order=layer").recurrent_order, RecurrentOrder::layer_major);
}

TEST(Gnmt, parameters_by_hand) {
  const std::int64_t plain = 4 * 1024 * 2048 + 2 * 4096;  // an LSTM layer that reads 1024
  const std::int64_t wide = 4 * 1024 * 3072 + 2 * 4096;   // one that reads 2048
  const std::int64_t table = 32'000 * 1024;
  const std::int64_t encoder = 2 * plain + wide + 6 * plain;
  const std::int64_t attention = 2 * 1024 * 1024 + 2 * 1024 + 1;
  const std::int64_t decoder = plain + attention + 7 * wide;
  EXPECT_EQ(built_parameters("gnmt"), table + encoder + decoder + table + 32'000);
  EXPECT_EQ(built_parameters("gnmt"), 243'967'233);
  EXPECT_EQ(built_parameters("gnmt:embedding=separate"), 243'967'233 + table);
}

TEST(Gnmt, has_eight_layers_each_way_the_first_in_both_directions) {
  const Graph graph = build_network("gnmt");
  const std::vector<const Node*> layers = recurrent_nodes(graph);
  ASSERT_EQ(layers.size(), 16);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& layer = std::get<Recurrent>(layers[i]->op);
    EXPECT_EQ(layer.layers, 1);
    EXPECT_EQ(layer.bidirectional, i == 0) << layers[i]->name;
    EXPECT_TRUE(layer.fused_gates);
  }
}

TEST(Gnmt, residuals_start_at_the_third_layer_and_are_whole) {
  for (const char* name : {"gnmt:layers=4", "gnmt_thesis"}) {
    const Graph graph = build_network(name);
    for (const char* scope : {"encoder.rnn_layers.", "decoder.rnn_layers."}) {
      // The decoder's first layer has a name of its own, so its third is rnn_layers.1.
      const int third = scope[0] == 'e' ? 2 : 1;
      const int last = scope[0] == 'e' ? 3 : 2;
      for (int i = 0; i <= last; ++i) {
        const std::string layer = scope + std::to_string(i);
        const Node* residual = find_node(graph, layer + ".residual");
        ASSERT_EQ(residual != nullptr, i >= third) << name << ' ' << layer;
        if (residual == nullptr) continue;
        // The sum skips the whole layer: it takes what the layer before gave, not what dropout left
        // of it.
        const std::string before = scope + std::to_string(i - 1);
        const std::string& skipped = graph.tensor(residual->inputs[1]).name;
        EXPECT_TRUE(skipped == before + ".lstm" || skipped == before + ".residual") << skipped;
        EXPECT_EQ(graph.tensor(residual->inputs[0]).name, layer + ".lstm");
      }
    }
  }
}

TEST(Gnmt, one_table_serves_source_and_target) {
  const Graph shared = build_network("gnmt");
  EXPECT_EQ(find_node(shared, "encoder.embedder")->inputs.back(),
            find_node(shared, "decoder.embedder")->inputs.back());
  const Graph separate = build_network("gnmt:embedding=separate");
  EXPECT_NE(find_node(separate, "encoder.embedder")->inputs.back(),
            find_node(separate, "decoder.embedder")->inputs.back());
}

// The thesis needs 24.09 MB on chip for one gate of a decoder cell: a weight of 3072×1024 (12 MiB
// in fp32) and its gradient.
TEST(GnmtThesis, a_gate_of_a_decoder_cell_holds_12_mib) {
  const Graph graph = build_network("gnmt_thesis");
  std::int64_t largest_gate = 0;
  for (const Node* node : recurrent_nodes(graph)) {
    const auto& layer = std::get<Recurrent>(node->op);
    EXPECT_FALSE(layer.fused_gates);
    EXPECT_EQ(layer.biases, 1);
    EXPECT_FALSE(layer.bidirectional);
    const std::int64_t gate = elements_of(graph, *node, "weight") / 4;
    largest_gate = std::max(largest_gate, gate);
    const bool reads_context = node->block.starts_with("decoder.rnn_layers");
    EXPECT_EQ(gate, (reads_context ? 3072 : 2048) * 1024) << node->name;
  }
  EXPECT_EQ(largest_gate * 4, 12 << 20);
  EXPECT_EQ(recurrent_nodes(graph).size(), 8);
  EXPECT_EQ(recurrent_nodes(build_network("gnmt_thesis:layers=8")).size(), 16);
}

TEST(GnmtThesis, can_read_both_ways_as_published) {
  const Graph graph = build_network("gnmt_thesis:directions=2");
  const std::vector<const Node*> layers = recurrent_nodes(graph);
  for (std::size_t i = 0; i < layers.size(); ++i)
    EXPECT_EQ(std::get<Recurrent>(layers[i]->op).bidirectional, i == 0) << layers[i]->name;
}

TEST(GnmtThesis, has_neither_words_nor_dropout) {
  const Graph graph = build_network("gnmt_thesis");
  for (const Node& node : graph.nodes) {
    EXPECT_FALSE(std::holds_alternative<Embedding>(node.op)) << node.name;
    EXPECT_FALSE(std::holds_alternative<Dropout>(node.op)) << node.name;
  }
  EXPECT_EQ(bind_graph(graph, {}).tensors[graph.outputs.front()][2], 1024);
}

TEST(TransformerThesis, counts_every_layer_apart) {
  const Graph graph = build_network("transformer_thesis");
  std::map<std::size_t, int> number_of;
  for (const Node& node : graph.nodes) ++number_of[node.op.index()];
  const auto count = [&](const Operator& op) { return number_of[op.index()]; };
  EXPECT_EQ(count(Linear{}), 18 * 4 + 12 * 2);
  EXPECT_EQ(count(Unary{}), count(Linear{}));  // an activation after every fully connected layer
  EXPECT_EQ(count(MatMul{}), 18 * 2);
  EXPECT_EQ(count(Softmax{}), 18);
  EXPECT_EQ(count(Elementwise{}), 18 + 30);  // a scaling per attention, a residual per sublayer
  EXPECT_EQ(count(Dropout{}), 18 + 30);
  EXPECT_EQ(count(Attention{}), 0);
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t largest = 0;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) {
      largest = std::max(largest, bound.tensors[id].bytes);
    }
  }
  EXPECT_EQ(largest, 4 << 20);
}

}  // namespace
}  // namespace strata
