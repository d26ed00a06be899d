// SPDX-License-Identifier: Apache-2.0
#include "strata/parallel/context_split.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/sequence_builder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace strata {
namespace {

constexpr std::int64_t context_width = 32;

/// Attention, and what a test adds after it.
Graph attention_and(const std::function<TensorId(SequenceBuilder&, TensorId)>& more,
                    bool causal = false) {
  SequenceBuilder b("attention_and", 2, 64);
  const TensorId x = b.features("x", context_width);
  const TensorId y = b.add("attention", Attention{.heads = 4, .causal = causal},
                           {b.linear("q", x, context_width), b.linear("k", x, context_width),
                            b.linear("v", x, context_width)});
  b.output(b.linear("head", more(b, y), 8));
  return std::move(b).finish();
}

TensorId nothing_more(SequenceBuilder& /*b*/, TensorId x) { return x; }

std::string context_refusal(const Graph& graph, std::int64_t ranks, std::int64_t length = 64,
                            ContextExchange exchange = ContextExchange::ring) {
  try {
    split_context(graph, {{"batch", 2}, {"seq", length}}, ranks, exchange);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    return error.what();
  }
  return {};
}

TEST(ContextSplit, layers_that_work_on_each_position_by_itself_are_shared) {
  const Graph graph = attention_and([](SequenceBuilder& b, TensorId x) {
    const TensorId wide = b.unary("act", UnaryKind::gelu, b.linear("fc", x, 64));
    const TensorId rows =
        b.add("rows", Reshape{{b.symbols().multiply(b.batch(), b.seq()), 64}}, {wide});
    const TensorId scores = b.add("softmax", Softmax{-1}, {rows});
    const TensorId back = b.add("back", Reshape{{b.batch(), b.seq(), 64}}, {scores});
    return b.layer_norm("ln", b.add("columns", Transpose{{0, 1, 2}}, {back}));
  });
  const ContextSplit split = split_context(graph, {{"batch", 2}, {"seq", 64}}, 4);
  EXPECT_EQ(split.length, "seq");
  ASSERT_EQ(split.attention.size(), 1U);
  EXPECT_EQ(graph.nodes[split.attention[0]].name, "attention");
  EXPECT_TRUE(split.has_pairs[split.attention[0]]);
  EXPECT_EQ(std::count(split.has_pairs.begin(), split.has_pairs.end(), true), 1);
}

// A pooler or a classifier takes the first position: the rank that has it goes on.
TEST(ContextSplit, one_position_may_be_taken_out) {
  EXPECT_EQ(context_refusal(attention_and([](SequenceBuilder& b, TensorId x) {
                              return b.first_token("first", x);
                            }),
                            4),
            "");
}

/// Words are gathered by a module of that name, and come back in another order.
Graph with_gathered_words(const std::string& module) {
  return attention_and([&](SequenceBuilder& b, TensorId x) {
    const Dim words = b.symbols().multiply(b.batch(), b.seq());
    const TensorId rows = b.add("rows", Reshape{{words, context_width}}, {x});
    const TensorId order = b.stored("order", {words}, TensorKind::constant, DType::int64);
    TensorId own = 0;
    {
      const GraphBuilder::Scope scope(b, module);
      own = b.linear("w1", b.add("words", Gather{0}, {rows, order}), context_width);
    }
    return b.add("back", Gather{0}, {b.add("join", Concat{0}, {own}), order});
  });
}

TEST(ContextSplit, words_may_go_to_experts_and_nowhere_else) {
  EXPECT_EQ(context_refusal(with_gathered_words("moe.experts.0"), 4), "");
  EXPECT_NE(context_refusal(with_gathered_words("shuffle"), 4).find("shuffle.words (gather)"),
            std::string::npos);
}

TEST(ContextSplit, scores_of_distances_are_positions_times_positions) {
  SequenceBuilder b("relative", 2, 64);
  const TensorId x = b.features("x", context_width);
  const TensorId distances =
      b.stored("distances", {b.seq(), b.seq()}, TensorKind::constant, DType::int64);
  const TensorId table = b.embedding("bias", distances, 16, 4);
  const TensorId by_head = b.add("by_head", Transpose{{2, 0, 1}}, {table});
  const TensorId scores = b.add("scores", Reshape{{1, 4, b.seq(), b.seq()}}, {by_head});
  b.output(b.add("attention", Attention{.heads = 4},
                 {b.linear("q", x, context_width), b.linear("k", x, context_width),
                  b.linear("v", x, context_width), scores}));
  const Graph graph = std::move(b).finish();
  const ContextSplit split = split_context(graph, {{"batch", 2}, {"seq", 64}}, 2);
  EXPECT_EQ(std::count(split.has_pairs.begin(), split.has_pairs.end(), true), 4);
}

TEST(ContextSplit, layers_that_mix_positions_are_named) {
  const std::pair<const char*, std::function<TensorId(SequenceBuilder&, TensorId)>> mixing[] = {
      {"mean (reduce",
       [](SequenceBuilder& b, TensorId x) {
         return b.add("mean", Reduce{.kind = ReduceKind::mean, .axes = {1}}, {x});
       }},
      {"lstm (",
       [](SequenceBuilder& b, TensorId x) {
         return b.recurrent("lstm", x, Recurrent{.hidden = context_width});
       }},
      {"conv (",
       [](SequenceBuilder& b, TensorId x) {
         const TensorId columns = b.add("columns", Transpose{{0, 2, 1}}, {x});
         const TensorId y =
             b.add("conv",
                   Convolution{
                       .channels = context_width, .kernel = {3}, .pad_begin = {1}, .pad_end = {1}},
                   {columns});
         return b.add("rows", Transpose{{0, 2, 1}}, {y});
       }},
      {"shifted (slice",
       [](SequenceBuilder& b, TensorId x) {
         return b.add("shifted", Slice{.axes = {1}, .begin = {1}, .end = {b.seq()}, .step = {}},
                      {x});
       }},
      {"join (concat",
       [](SequenceBuilder& b, TensorId x) {
         return b.add("join", Concat{1}, {b.stored("token", {2, 1, context_width}), x});
       }},
      {"weights (softmax",
       [](SequenceBuilder& b, TensorId x) { return b.add("weights", Softmax{1}, {x}); }},
      {"scores (matmul",
       [](SequenceBuilder& b, TensorId x) {
         return b.add("again", MatMul{}, {b.add("scores", MatMul{.transpose_b = true}, {x, x}), x});
       }},
  };
  for (const auto& [name, layer] : mixing) {
    const std::string text = context_refusal(attention_and(layer), 4);
    EXPECT_NE(text.find(name), std::string::npos) << name << ": " << text;
  }
}

TEST(ContextSplit, ranks_divide_the_length_and_twice_where_attention_is_causal) {
  EXPECT_EQ(context_refusal(attention_and(nothing_more), 4, 60), "");
  EXPECT_NE(context_refusal(attention_and(nothing_more), 8, 60).find("that 8 divides, got 60"),
            std::string::npos);
  EXPECT_EQ(context_refusal(attention_and(nothing_more, true), 4, 64), "");
  EXPECT_NE(context_refusal(attention_and(nothing_more, true), 4, 60)
                .find("that 8 divides (causal attention is balanced"),
            std::string::npos);
}

// All positions of a head are on one rank: causal attention is balanced, and heads are not cut.
TEST(ContextSplit, ranks_that_exchange_heads_divide_them) {
  const auto heads = ContextExchange::all_to_all;
  EXPECT_EQ(context_refusal(attention_and(nothing_more, true), 4, 60, heads), "");
  EXPECT_NE(context_refusal(attention_and(nothing_more), 8, 64, heads)
                .find("attention has 4 heads on a rank, which 8 does not divide"),
            std::string::npos);
  EXPECT_EQ(context_refusal(attention_and(nothing_more), 8, 64), "");
}

TEST(ContextSplit, fixed_lengths_and_networks_without_attention_are_refused) {
  GraphBuilder fixed("fixed");
  const TensorId x = fixed.input("x", {2, 16, context_width});
  fixed.add("attention", Attention{.heads = 4}, {x, x, x});
  const Graph graph = std::move(fixed).finish();
  EXPECT_THROW(
      try { split_context(graph, {}, 2); } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("is fixed"), std::string::npos);
        throw;
      },
      Error);
  SequenceBuilder words("words", 2, 16);
  words.output(words.linear("head", words.features("x", 8), 4));
  EXPECT_NE(context_refusal(std::move(words).finish(), 2).find("has no attention"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
