// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/split_axes.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/bind.hpp"
#include "strata/graph/sequence_builder.hpp"
#include "strata/parallel/tensor_split.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace strata {
namespace {

constexpr std::int64_t block_width = 64, block_heads = 8,
                       block_head_width = block_width / block_heads;

/// Queries, keys and values of x, however a file writes them.
using Projections = std::function<std::vector<TensorId>(SequenceBuilder&, TensorId)>;
/// What becomes of them.
using Attend = std::function<TensorId(SequenceBuilder&, const std::vector<TensorId>&)>;

TensorId attend_at_once(SequenceBuilder& b, const std::vector<TensorId>& qkv) {
  return b.add("attention", Attention{.heads = block_heads, .causal = true}, qkv);
}

/// One block: attention and a feed-forward layer.
Graph block_of(const Projections& project, const Attend& attend = attend_at_once) {
  SequenceBuilder b("block", 4, 16);
  const TensorId x = b.features("x", block_width);
  const TensorId attended = attend(b, project(b, b.layer_norm("ln_1", x)));
  const TensorId y = b.sum("residual_1", {b.linear("proj", attended, block_width), x});
  const TensorId inner =
      b.unary("act", UnaryKind::gelu, b.linear("fc", b.layer_norm("ln_2", y), 4 * block_width));
  b.output(b.sum("residual_2", {b.linear("out", inner, block_width), y}));
  return std::move(b).finish();
}

std::vector<TensorId> three_products(SequenceBuilder& b, TensorId x) {
  return {b.linear("q", x, block_width), b.linear("k", x, block_width),
          b.linear("v", x, block_width)};
}

std::vector<TensorId> one_product_cut(SequenceBuilder& b, TensorId x) {
  const std::array qkv{b.linear("qkv", x, 3 * block_width)};
  const NodeId cut = b.add_node("cut", Split{.axis = -1, .sizes = {}, .parts = 3}, qkv);
  return {b.output_of(cut, 0), b.output_of(cut, 1), b.output_of(cut, 2)};
}

std::vector<TensorId> one_product_sliced(SequenceBuilder& b, TensorId x) {
  const TensorId qkv = b.linear("qkv", x, 3 * block_width);
  std::vector<TensorId> parts;
  for (std::int64_t i = 0; i < 3; ++i)
    parts.push_back(b.add(
        "slice" + std::to_string(i),
        Slice{.axes = {2}, .begin = {i * block_width}, .end = {(i + 1) * block_width}, .step = {}},
        {qkv}));
  return parts;
}

/// As torchvision's ViT is exported: reshaped to three parts, and each gathered.
std::vector<TensorId> one_product_gathered(SequenceBuilder& b, TensorId x) {
  const TensorId qkv = b.linear("qkv", x, 3 * block_width);
  const TensorId parts = b.add("parts", Reshape{{b.batch(), b.seq(), 3, block_width}}, {qkv});
  std::vector<TensorId> all;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "gather" + std::to_string(i);
    const TensorId number = b.stored(name + ".number", {}, TensorKind::constant, DType::int64);
    all.push_back(b.add(name, Gather{2}, {parts, number}));
  }
  return all;
}

/// Products without bias, and the biases, which lie in one tensor, added by layers of their own.
std::vector<TensorId> biases_apart(SequenceBuilder& b, TensorId x) {
  const TensorId biases = b.stored("biases", {3 * block_width});
  std::vector<TensorId> all;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::string name = "product" + std::to_string(i);
    const TensorId bias = b.add(
        name + ".bias",
        Slice{.axes = {0}, .begin = {i * block_width}, .end = {(i + 1) * block_width}, .step = {}},
        {biases});
    all.push_back(b.sum(name + ".sum", {b.linear(name, x, block_width, false), bias}));
  }
  return all;
}

/// Step by step, with heads as an axis of their own.
TensorId attend_step_by_step(SequenceBuilder& b, const std::vector<TensorId>& qkv) {
  const auto by_head = [&](const std::string& name, TensorId x) {
    const TensorId heads =
        b.add(name + ".heads", Reshape{{b.batch(), b.seq(), block_heads, block_head_width}}, {x});
    return b.add(name + ".by_head", Transpose{{0, 2, 1, 3}}, {heads});
  };
  const TensorId q = by_head("q_", qkv[0]), k = by_head("k_", qkv[1]), v = by_head("v_", qkv[2]);
  const TensorId mask = b.stored("mask", {1, 1, b.seq(), b.seq()}, TensorKind::constant);
  const TensorId scores = b.add("scores", MatMul{.transpose_b = true}, {q, k});
  const TensorId masked = b.sum("masked", {scores, mask});
  const TensorId weights = b.dropout("drop", b.add("softmax", Softmax{-1}, {masked}), 0.1);
  const TensorId attended = b.add("weighted", MatMul{}, {weights, v});
  const TensorId by_word = b.add("by_word", Transpose{{0, 2, 1, 3}}, {attended});
  return b.add("joined", Reshape{{b.batch(), b.seq(), block_width}}, {by_word});
}

std::int64_t learnt_of_block(const Graph& graph) {
  const BoundGraph bound = bind_graph(graph, {});
  std::int64_t sum = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id)
    sum += graph.tensors[id].kind == TensorKind::parameter ? bound.tensors[id].elements : 0;
  return sum;
}

/// By hand: products and their biases over the ranks, but norms and biases of rows whole.
std::int64_t learnt_by_hand(std::int64_t ranks) {
  const std::int64_t qkv = 3 * (block_width * block_width + block_width),
                     proj = block_width * block_width;
  const std::int64_t feed_forward =
      (block_width + 1) * 4 * block_width + 4 * block_width * block_width;
  return (qkv + proj + feed_forward) / ranks + 2 * block_width + 4 * block_width;
}

TEST(SplitAxes, every_way_to_write_a_block_is_the_same_block_split) {
  const std::pair<const char*, Graph> blocks[] = {
      {"three products", block_of(three_products)},
      {"split", block_of(one_product_cut)},
      {"slices", block_of(one_product_sliced)},
      {"gathers", block_of(one_product_gathered)},
      {"biases apart", block_of(biases_apart)},
      {"step by step", block_of(three_products, attend_step_by_step)},
      {"all at once", block_of(one_product_gathered, attend_step_by_step)},
  };
  for (const auto& [name, graph] : blocks) {
    for (const std::int64_t ranks : {2, 4, 8}) {
      const SplitGraph split = split_tensors(graph, ranks);
      EXPECT_EQ(learnt_of_block(split.graph), learnt_by_hand(ranks)) << name << ", " << ranks;
      // Out of each pair of products forward, into it backward.
      EXPECT_EQ(split.collectives.size(), 4U) << name;
      const BoundGraph bound = bind_graph(split.graph, {});
      for (const NodeCollective& one : split.collectives)
        EXPECT_EQ(bound.tensors[one.tensor].elements, 4 * 16 * block_width) << name;
    }
  }
}

TEST(SplitAxes, attention_that_cannot_be_split_says_which_layer_is_in_its_way) {
  const auto normed = [](SequenceBuilder& b, TensorId x) {
    std::vector<TensorId> qkv = three_products(b, x);
    qkv[1] = b.layer_norm("k_norm", qkv[1]);
    return qkv;
  };
  const auto from_outside = [](SequenceBuilder& b, TensorId x) {
    std::vector<TensorId> qkv = three_products(b, x);
    qkv[2] = b.features("memory", block_width);
    return qkv;
  };
  for (const auto& [graph, reason] :
       {std::pair{block_of(normed), "the heads of attention cannot be split: k_norm (layer_norm)"},
        std::pair{block_of(from_outside),
                  "the heads of attention cannot be split: not all of its inputs"}}) {
    try {
      split_tensors(graph, 2);
      ADD_FAILURE() << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace strata
