// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/small_network_test.hpp"
#include "strata/framework/tensor_types.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

constexpr FrameworkOptions autocast_bf16{.autocast = DType::bf16};

/// linear, relu, layer norm, linear: 4 rows of 8, 6, 6 and 3 numbers.
void add_autocast_chain(Net& net) {
  const TensorId x = net.builder.input("x", {4, 8});
  TensorId y = net.builder.add("fc1", Linear{.features = 6}, {x});
  y = net.builder.add("relu", Unary{}, {y});
  y = net.builder.add("norm", LayerNorm{}, {y});
  net.builder.add("fc2", Linear{.features = 3, .bias = false}, {y});
}

TEST(TensorTypes, follow_the_lists_of_autocast) {
  Net net;
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {2, 3, 8, 8});
  const TensorId conv = b.add("conv", Convolution{.channels = 4, .kernel = {1, 1}}, {x});
  const TensorId relu = b.add("relu", Unary{}, {conv});
  const TensorId norm = b.add("norm", LayerNorm{}, {relu});
  const TensorId low = b.add("low", Elementwise{}, {conv, relu});
  const TensorId mixed = b.add("mixed", Elementwise{}, {conv, norm});
  const TensorId batch_norm = b.add("batch_norm", BatchNorm{}, {conv});
  const TensorId up =
      b.add("up", Convolution{.channels = 4, .kernel = {1, 1}, .transposed = true}, {norm});
  net.finish(autocast_bf16);
  const auto types = tensor_types(net.bound, framework_named("pytorch-eager"), DType::bf16);
  EXPECT_EQ(types[x], DType::fp32);
  EXPECT_EQ(types[conv], DType::bf16);
  EXPECT_EQ(types[relu], DType::bf16);
  EXPECT_EQ(types[norm], DType::fp32);
  EXPECT_EQ(types[low], DType::bf16);
  EXPECT_EQ(types[mixed], DType::fp32);
  EXPECT_EQ(types[batch_norm], DType::bf16);  // its weights in fp32 do not widen it
  EXPECT_EQ(types[up], DType::bf16);          // the same list as other convolutions
  for (const Node& node : net.graph.nodes) {
    for (std::size_t i = node.first_own; i < node.inputs.size(); ++i)
      EXPECT_EQ(types[node.inputs[i]], DType::fp32) << node.name;
  }
}

TEST(TensorTypes, without_autocast_are_those_of_the_network) {
  Net net;
  add_autocast_chain(net);
  net.finish({}, {}, DType::fp16);
  const auto types = tensor_types(net.bound, framework_named("pytorch-eager"), std::nullopt);
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_EQ(types[i], net.bound.tensors[i].dtype);
  EXPECT_EQ(net.lines_of_class("stream.cast"), Lines{});
}

TEST(Autocast, casts_what_an_operator_reads_in_another_type) {
  Net net;
  add_autocast_chain(net);
  net.finish(autocast_bf16);
  EXPECT_EQ(net.lines("fc1 forward"), (Lines{"stream.cast fp32 32", "stream.cast fp32 48",
                                             "stream.cast fp32 6", "linear.forward bf16 1 4 6 8"}));
  EXPECT_EQ(net.lines("relu forward"), Lines{"relu.forward bf16 24"});
  EXPECT_EQ(net.lines("norm forward"),
            (Lines{"stream.cast bf16 24", "layer_norm.forward fp32 4 6"}));
  EXPECT_EQ(net.lines("fc2 forward"), (Lines{"stream.cast fp32 24", "stream.cast fp32 18",
                                             "linear.forward_no_bias bf16 1 4 3 6"}));
  EXPECT_EQ(net.lines_of_class("cross_entropy.forward"), Lines{"cross_entropy.forward fp32 4 3"});
}

// A single number without dimensions widens nothing; one with a dimension does.
TEST(Autocast, keeps_16_bits_beside_a_number_without_dimensions) {
  const auto scaled = [](const Shape& shape) {
    Net net;
    const TensorId x = net.builder.input("x", {4, 8});
    const TensorId gain = net.builder.input("gain", shape);
    const TensorId y = net.builder.add("fc", Linear{.features = 6}, {x});
    net.builder.add("scale", Elementwise{.kind = ElementwiseKind::multiply}, {y, gain});
    net.finish(autocast_bf16);
    return net.lines("scale forward").back();
  };
  EXPECT_EQ(scaled({}), "stream.scale bf16 24");
  EXPECT_EQ(scaled({1}), "stream.scale fp32 24");
}

TEST(Autocast, casts_gradients_back_except_those_that_nobody_wants) {
  Net net;
  add_autocast_chain(net);
  net.finish(autocast_bf16);
  EXPECT_EQ(net.lines("fc2 backward"),
            (Lines{"linear.backward_input bf16 1 4 6 3", "linear.backward_weight bf16 1 3 6 4",
                   "stream.cast bf16 24", "stream.cast bf16 18"}));
  EXPECT_EQ(net.lines("norm backward"),
            (Lines{"layer_norm.backward fp32 4 6", "stream.cast fp32 24"}));
  // The input of the network has no gradient: those of the weight and the bias remain.
  EXPECT_EQ(net.lines("fc1 backward"),
            (Lines{"linear.backward_weight bf16 1 6 8 4", "column_sum bf16 4 6",
                   "stream.cast bf16 48", "stream.cast bf16 6"}));
  // Logits to fp32 for the loss, and their gradient back: 4 × 3.
  const Lines casts = net.lines_of_class("stream.cast");
  EXPECT_EQ(std::count(casts.begin(), casts.end(), "stream.cast bf16 12"), 1);
  EXPECT_EQ(std::count(casts.begin(), casts.end(), "stream.cast fp32 12"), 1);
}

TEST(Autocast, casts_the_same_when_the_two_backward_passes_are_apart) {
  std::vector<Lines> casts;
  for (const bool is_separate : {false, true}) {
    Net net;
    add_autocast_chain(net);
    net.finish(autocast_bf16, {.separate_backward = is_separate});
    casts.push_back(net.lines_of_class("stream.cast"));
    std::sort(casts.back().begin(), casts.back().end());
  }
  EXPECT_EQ(casts[0], casts[1]);
}

}  // namespace
}  // namespace strata
