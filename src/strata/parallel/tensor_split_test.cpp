// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/tensor_split.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/sequence_builder.hpp"
#include "strata/parallel/units.hpp"
#include "strata/training/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata {
namespace {

constexpr std::int64_t width = 64, heads = 8, vocabulary = 16384, layers = 3;

/// Attention with queries, keys and values in one product, and a feed-forward layer.
Graph small_decoder(std::int64_t head_count = heads, bool is_tied = true) {
  SequenceBuilder b("decoder", 4, 16);
  const TensorId words = b.embedding("words", b.tokens("ids"), vocabulary, width);
  TensorId x = words;
  for (std::int64_t i = 0; i < layers; ++i) {
    const GraphBuilder::Scope scope(b, "h." + std::to_string(i));
    const std::array qkv{b.linear("qkv", b.layer_norm("ln_1", x), 3 * width)};
    const NodeId cut = b.add_node("split", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
    const TensorId attended =
        b.add("attention", Attention{.heads = head_count, .causal = true},
              {b.output_of(cut, 0), b.output_of(cut, 1), b.output_of(cut, 2)});
    x = b.sum("residual_1", {b.dropout("drop", b.linear("proj", attended, width), 0.1), x});
    const TensorId inner =
        b.unary("act", UnaryKind::gelu, b.linear("fc", b.layer_norm("ln_2", x), 4 * width));
    x = b.sum("residual_2", {b.linear("out", inner, width), x});
  }
  b.output(is_tied ? b.tied_linear("head", b.layer_norm("ln_f", x), b.own_of(words))
                   : b.linear("head", b.layer_norm("ln_f", x), vocabulary, false));
  return std::move(b).finish();
}

std::int64_t parameters_of(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t sum = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::parameter) sum += bound.tensors[id].elements;
  }
  return sum;
}

/// Multiply-adds of the products of forward.
std::int64_t macs_of(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  const Program program = make_program(bound);
  std::int64_t sum = 0;
  for (const Step& step : program.steps) sum += step.pass == Pass::forward ? step.mac : 0;
  return sum;
}

TEST(TensorSplit, a_rank_has_its_share_of_every_product) {
  for (const std::int64_t ranks : {2, 4, 8}) {
    const SplitGraph split = split_tensors(small_decoder(), ranks);
    // Per layer, by hand: qkv and fc with their biases are split; proj and out with their weights;
    // norms and the biases of proj and out are whole.
    const std::int64_t of_layer = (3 * width * width + 3 * width) / ranks + width * width / ranks +
                                  (4 * width * width + 4 * width) / ranks +
                                  4 * width * width / ranks + 2 * width + 4 * width;
    EXPECT_EQ(parameters_of(split.graph),
              layers * of_layer + vocabulary * width / ranks + 2 * width);
    EXPECT_EQ(macs_of(split.graph) * ranks, macs_of(small_decoder()));
  }
}

TEST(TensorSplit, two_sums_per_pair_of_products_and_those_of_the_vocabulary) {
  const SplitGraph split = split_tensors(small_decoder(), 2);
  const auto backward = std::count_if(split.collectives.begin(), split.collectives.end(),
                                      [](const NodeCollective& one) { return one.is_backward; });
  EXPECT_EQ(backward, 2 * layers + 1);  // into attention and feed-forward, and into the head
  EXPECT_EQ(static_cast<std::int64_t>(split.collectives.size()) - backward,
            2 * layers + 2);  // out of both; of the embedding, and of the loss
  for (NodeId id = 0; id < split.graph.nodes.size(); ++id) {
    const bool is_norm = std::holds_alternative<LayerNorm>(split.graph.nodes[id].op);
    EXPECT_FALSE(is_norm && split.is_split[id]);
  }
}

TEST(TensorSplit, a_tied_table_stays_one) {
  const SplitGraph tied = split_tensors(small_decoder(heads, true), 4);
  const SplitGraph separate = split_tensors(small_decoder(heads, false), 4);
  EXPECT_EQ(parameters_of(separate.graph) - parameters_of(tied.graph), vocabulary * width / 4);
}

// Queries and values have a bias, keys zeros: put together by a node before the product.
TEST(TensorSplit, of_a_bias_in_parts_a_rank_has_its_share) {
  GraphBuilder b("beit");
  const TensorId x = b.input("x", {2, 16, width});
  const TensorId queries = b.stored("q_bias", {width}, TensorKind::parameter);
  const TensorId zeros = b.stored("k_bias", {width}, TensorKind::constant);
  const TensorId values = b.stored("v_bias", {width}, TensorKind::parameter);
  const TensorId bias = b.add("bias", Concat{.axis = 0}, {queries, zeros, values});
  const TensorId weight = b.stored("qkv.weight", {3 * width, width}, TensorKind::parameter);
  const NodeId qkv = b.add_node("qkv", Linear{3 * width}, std::array{x}, std::array{weight, bias});
  const NodeId cut =
      b.add_node("split", Split{.axis = -1, .sizes = {}, .parts = 3}, std::array{b.output_of(qkv)});
  const TensorId attended = b.add("attention", Attention{.heads = heads},
                                  {b.output_of(cut, 0), b.output_of(cut, 1), b.output_of(cut, 2)});
  b.add("proj", Linear{width}, {attended});
  const Graph whole = std::move(b).finish();
  const SplitGraph split = split_tensors(whole, 4);
  const Node& share = split.graph.nodes[qkv];
  EXPECT_EQ(std::get<Linear>(share.op).features, 3 * width / 4);
  EXPECT_EQ(split.graph.tensors[share.inputs[2]].type.shape, Shape({3 * width / 4}));
  EXPECT_EQ(macs_of(split.graph) * 4, macs_of(whole));
}

TEST(TensorSplit, names_and_blocks_stay) {
  const Graph whole = small_decoder();
  const SplitGraph split = split_tensors(whole, 2);
  ASSERT_EQ(split.graph.nodes.size(), whole.nodes.size());
  for (NodeId id = 0; id < whole.nodes.size(); ++id) {
    EXPECT_EQ(split.graph.nodes[id].name, whole.nodes[id].name);
    EXPECT_EQ(split.graph.nodes[id].block, whole.nodes[id].block);
  }
}

TEST(TensorSplit, gated_products_are_split_together) {
  SequenceBuilder b("gated", 2, 8);
  const TensorId x = b.features("x", width);
  const TensorId gate = b.unary("act", UnaryKind::silu, b.linear("gate", x, 128, false));
  const TensorId up = b.linear("up", x, 128, false);
  b.output(b.linear("down", b.product("gated", gate, up), width, false));
  const Graph graph = std::move(b).finish();
  const SplitGraph split = split_tensors(graph, 2);
  EXPECT_EQ(parameters_of(split.graph) * 2, parameters_of(graph));
  EXPECT_EQ(split.collectives.size(), 2U);  // one gradient for both products of x
}

TEST(TensorSplit, says_why_it_cannot) {
  try {
    split_tensors(small_decoder(), 16);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("16 does not divide the 8 heads of h.0.attention"),
              std::string::npos)
        << error.what();
  }
  GraphBuilder images("images");
  const TensorId x = images.input("x", {2, 3, 8, 8});
  images.add("conv", Convolution{.channels = 8, .kernel = {3, 3}}, {x});
  EXPECT_THROW(split_tensors(std::move(images).finish(), 2), Error);
}

TEST(Units, are_the_blocks_with_what_lies_before_and_after_them) {
  const Graph graph = small_decoder();
  const BoundGraph bound = bind_graph(graph, {});
  const UnitList units = find_units(make_program(bound));
  ASSERT_EQ(units.units.size(), static_cast<std::size_t>(layers + 2));
  EXPECT_EQ(units.units[0].name, "words");
  EXPECT_EQ(units.units[1].name, "h.0");
  EXPECT_EQ(graph.tensors[units.units[1].output].name, "h.0.residual_2");
  EXPECT_FALSE(units.units.back().has_output);
}

TEST(Units, of_a_network_without_blocks_are_its_layers) {
  GraphBuilder b("chain");
  TensorId x = b.input("x", {2, 8});
  for (int i = 0; i < 4; ++i) x = b.add("fc" + std::to_string(i), Linear{.features = 8}, {x});
  // A branch around two layers: no cut between them.
  const TensorId y = b.add("a", Linear{.features = 8}, {x});
  const TensorId z = b.add("b", Linear{.features = 8}, {y});
  b.output(b.add("sum", Elementwise{}, {z, x}));
  const Graph graph = std::move(b).finish();
  const BoundGraph bound = bind_graph(graph, {});
  const UnitList units = find_units(make_program(bound));
  ASSERT_EQ(units.units.size(), 5U);
  EXPECT_EQ(units.units[4].name, "a");
}

}  // namespace
}  // namespace strata
