// SPDX-License-Identifier: Apache-2.0
#include "strata/report/model_summary.hpp"

#include "strata/graph/builder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

using Shape64 = std::vector<std::int64_t>;

/// tokens → embedding → linear (block "body") → flatten → scores with the embedding's table: a
/// weight used twice, a view, a block, an integer input.
Graph tied_network() {
  GraphBuilder builder("tied");
  const Dim batch = builder.symbols().parameter("batch", 4);
  const Dim seq = builder.symbols().parameter("seq", 6);
  const TensorId tokens = builder.input("tokens", {batch, seq}, DType::int64);
  const TensorId rows = builder.add("embedding", Embedding{.vocabulary = 10, .width = 8}, {tokens});
  TensorId hidden = rows;
  {
    const GraphBuilder::Scope scope(builder, "body");
    hidden = builder.add("linear", Linear{.features = 8}, {rows});
    hidden = builder.add("relu", Unary{UnaryKind::relu}, {hidden});
  }
  const TensorId data[] = {hidden};
  const TensorId table[] = {builder.own_of(rows)};
  const NodeId scores =
      builder.add_node("scores", Linear{.features = 10, .bias = false}, data, table);
  builder.output(builder.add("flatten", Flatten{}, {builder.output_of(scores)}));
  return std::move(builder).finish();
}

TEST(ModelSummary, describes_the_network) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {{"batch", 2}}, DType::bf16));
  EXPECT_EQ(summary.name, "tied");
  EXPECT_EQ(summary.title, "tied") << "without a title the name is one";
  EXPECT_EQ(summary.dtype, "bf16") << "integers do not count";
  EXPECT_EQ(summary.dim("batch"), 2);
  EXPECT_EQ(summary.dim("seq"), 6);
  EXPECT_EQ(summary.dim("heads"), std::nullopt);
  ASSERT_EQ(summary.layers.size(), 5U);
  const LayerSummary& linear = summary.layers[1];
  EXPECT_EQ(linear.name, "body.linear");
  EXPECT_EQ(linear.block, "body");
  EXPECT_EQ(linear.op, "linear");
  EXPECT_EQ(linear.inputs, std::vector<std::string>{"embedding"});
  EXPECT_EQ(linear.output_shape, (Shape64{2, 6, 8}));
  EXPECT_EQ(summary.layers[0].inputs, std::vector<std::string>{"tokens"});
}

TEST(ModelSummary, a_shared_weight_counts_once_and_belongs_to_its_first_user) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {}));
  EXPECT_EQ(summary.layers[0].counts.parameters, 80);
  EXPECT_EQ(summary.layers[3].counts.parameters, 0);
  EXPECT_EQ(summary.totals.parameters, 80 + 8 * 8 + 8);
  EXPECT_EQ(summary.parameter_bytes, 4 * summary.totals.parameters);
}

TEST(ModelSummary, a_view_takes_no_memory) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {}));
  EXPECT_EQ(summary.layers[4].op, "flatten");
  EXPECT_EQ(summary.layers[4].counts.activation_bytes, 0);
  EXPECT_EQ(summary.layers[3].counts.activation_bytes, 4 * 6 * 10 * 4);
}

// Backward of `linear` reads its input, backward of `relu` its output, and that of `scores` the
// same tensor again.
TEST(ModelSummary, what_two_layers_keep_counts_once) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {}));
  const std::int64_t hidden_bytes = 4 * 6 * 8 * 4;
  const std::int64_t tokens_bytes = 4 * 6 * 8;
  EXPECT_EQ(summary.layers[1].kept, "input");
  EXPECT_EQ(summary.layers[1].kept_bytes, hidden_bytes);
  EXPECT_EQ(summary.layers[3].kept_bytes, hidden_bytes);
  EXPECT_EQ(summary.kept_bytes, tokens_bytes + hidden_bytes + hidden_bytes);
}

TEST(ModelSummary, inference_keeps_nothing_and_has_no_backward) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {}), Mode::inference);
  EXPECT_EQ(summary.kept_bytes, 0);
  EXPECT_EQ(summary.totals.backward_flop(), 0);
  EXPECT_GT(summary.totals.forward.flop, 0);
  for (const LayerSummary& layer : summary.layers) EXPECT_EQ(layer.kept, "nothing");
}

TEST(ModelSummary, groups_add_up_to_the_total) {
  const Graph graph = tied_network();
  const ModelSummary summary = summarize(bind_graph(graph, {}));
  for (const auto* groups : {&summary.types, &summary.blocks}) {
    LayerCounts sum;
    for (const GroupSummary& group : *groups) sum += group.counts;
    EXPECT_EQ(sum.nodes, summary.totals.nodes);
    EXPECT_EQ(sum.flop(), summary.totals.flop());
    EXPECT_EQ(sum.parameters, summary.totals.parameters);
    EXPECT_EQ(sum.forward.read_bytes, summary.totals.forward.read_bytes);
  }
  EXPECT_EQ(summary.types.front().name, "linear") << "most FLOP first";
  EXPECT_EQ(summary.types.front().counts.nodes, 2);
  ASSERT_EQ(summary.blocks.size(), 4U);
  EXPECT_EQ(summary.blocks[1].name, "body");
  EXPECT_EQ(summary.blocks[1].counts.nodes, 2);
  EXPECT_EQ(summary.blocks[2].name, "scores") << "a layer outside any block is one of its own";
}

TEST(ModelSummary, an_input_called_like_a_layer_is_told_apart) {
  GraphBuilder builder("names");
  const TensorId data = builder.input("x", {2, 3});
  const TensorId twice = builder.add("x", Elementwise{ElementwiseKind::add}, {data, data});
  builder.output(builder.add("y", Elementwise{ElementwiseKind::add}, {twice, data}));
  const Graph graph = std::move(builder).finish();
  const ModelSummary summary = summarize(bind_graph(graph, {}));
  EXPECT_EQ(summary.layers[1].inputs, (std::vector<std::string>{"x", "x (input)"}));
}

TEST(ModelSummary, mixed_and_missing_data_types_are_said) {
  GraphBuilder builder("mixed");
  const TensorId half = builder.input("half", {2, 3}, DType::fp16);
  const TensorId full = builder.add("cast", Cast{DType::fp32}, {half});
  builder.output(full);
  const Graph mixed = std::move(builder).finish();
  EXPECT_EQ(summarize(bind_graph(mixed, {})).dtype, "mixed");

  GraphBuilder integers("integers");
  const TensorId ids = integers.input("ids", {2}, DType::int64);
  integers.output(integers.add("add", Elementwise{ElementwiseKind::add}, {ids, ids}));
  const Graph graph = std::move(integers).finish();
  EXPECT_EQ(summarize(bind_graph(graph, {})).dtype, "none");
}

}  // namespace
}  // namespace strata
