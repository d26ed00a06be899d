// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/engine/number_types.hpp"

#include "strata/measure/engine/device.hpp"
#include "strata/measure/engine/small_network_test.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace strata {
namespace {

/// What kernels read and write in whatever type it has.
bool may_be_whole(const Node& node, TensorId tensor) {
  const auto is_input = [&](std::size_t i) { return node.inputs[i] == tensor; };
  if (std::holds_alternative<Embedding>(node.op)) return is_input(0);
  if (std::holds_alternative<Gather>(node.op)) return is_input(1);
  if (std::holds_alternative<SoftmaxCrossEntropy>(node.op)) return is_input(1);
  return std::holds_alternative<Unary>(node.op) || std::holds_alternative<Elementwise>(node.op) ||
         std::holds_alternative<Cast>(node.op);
}

// One tensor of a node at a time becomes whole numbers of a quarter of the size: no kernel may take
// it for what it was.
TEST(NumberTypes, of_every_tensor_are_looked_at) {
  std::set<std::size_t> kinds;
  for (const Network& network : networks()) {
    const Graph graph = build_network(network.name);
    BoundGraph bound = bound_small(graph);
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      EXPECT_EQ(type_refusal(bound, id), std::nullopt) << network.name << ' ' << node.name;
      std::vector<TensorId> tensors = node.inputs;
      tensors.insert(tensors.end(), node.outputs.begin(), node.outputs.end());
      for (const TensorId tensor : tensors) {
        const DType own = std::exchange(bound.tensors[tensor].dtype, DType::int8);
        EXPECT_EQ(type_refusal(bound, id).has_value(), !may_be_whole(node, tensor))
            << network.name << ' ' << node.name << ' ' << graph.tensors[tensor].name;
        bound.tensors[tensor].dtype = own;
      }
      kinds.insert(node.op.index());
    }
  }
  EXPECT_GT(kinds.size(), 20U) << "networks have most kinds of operators";
}

TEST(NumberTypes, a_network_of_whole_numbers_has_no_kernels) {
  const Graph graph = build_network("lenet5");
  BoundGraph bound = bound_small(graph);
  for (BoundTensor& tensor : bound.tensors) tensor.dtype = DType::int8;
  const auto device = cpu_training_device({});
  int refused = 0;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const KernelsOrReason made = device->kernels(bound, id, false);
    const auto* const none = std::get_if<NoKernels>(&made);
    const bool computes = std::holds_alternative<Convolution>(graph.nodes[id].op) ||
                          std::holds_alternative<Pool>(graph.nodes[id].op) ||
                          std::holds_alternative<Linear>(graph.nodes[id].op);
    if (!computes) continue;
    ASSERT_NE(none, nullptr) << graph.nodes[id].name;
    EXPECT_EQ(none->reason, "no kernels for int8");
    ++refused;
  }
  EXPECT_EQ(refused, 7);  // two convolutions, two poolings, three linear layers
}

}  // namespace
}  // namespace strata
