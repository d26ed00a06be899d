// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/cost.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/naive_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using naive::Role;
using naive::Source;
using naive::Subject;

std::string kept_text(const Operator& op, const std::vector<Source>& sources,
                      Mode mode = Mode::training) {
  const Subject subject(op, sources, {});
  return kept_for_backward(subject.bound, subject.node, cost_of(subject.bound, subject.node, mode))
      .text;
}

const Source image{{2, 4, 6, 6}};
const Source rows{{3, 4}};

TEST(Kept, says_what_backward_needs) {
  const Convolution convolution{.channels = 2, .kernel = {3, 3}};
  EXPECT_EQ(kept_text(convolution, {image}), "input");
  EXPECT_EQ(kept_text(Linear{.features = 5}, {rows}), "input");
  EXPECT_EQ(kept_text(Unary{UnaryKind::relu}, {image}), "output");
  EXPECT_EQ(kept_text(Unary{UnaryKind::gelu}, {image}), "input");
  EXPECT_EQ(kept_text(Unary{UnaryKind::negate}, {image}), "nothing");
  EXPECT_EQ(kept_text(Softmax{}, {rows}), "output");
  EXPECT_EQ(kept_text(BatchNorm{}, {image}), "input + statistics");
  EXPECT_EQ(kept_text(LayerNorm{}, {rows}), "input + statistics");
  EXPECT_EQ(kept_text(Dropout{}, {rows}), "mask");
  EXPECT_EQ(kept_text(Pool{.kernel = {2, 2}}, {image}), "indices");
  EXPECT_EQ(kept_text(Pool{.kind = PoolKind::average, .kernel = {2, 2}}, {image}), "nothing");
  EXPECT_EQ(kept_text(Elementwise{}, {rows, rows}), "nothing");
  EXPECT_EQ(kept_text(Elementwise{ElementwiseKind::maximum}, {rows, rows}), "input + output");
  EXPECT_EQ(kept_text(Flatten{}, {image}), "nothing");
  EXPECT_EQ(kept_text(Attention{.heads = 2}, {{{2, 3, 4}}, {{2, 3, 4}}, {{2, 3, 4}}}),
            "input + output + statistics");
  EXPECT_EQ(kept_text(SoftmaxCrossEntropy{}, {rows, {{3}, Role::network_input, DType::int64}}),
            "indices + probabilities");
  EXPECT_EQ(kept_text(Elementwise{ElementwiseKind::select},
                      {{{3, 4}, Role::network_input, DType::boolean}, rows, rows}),
            "condition");
  EXPECT_EQ(kept_text(Recurrent{.cell = CellKind::lstm, .hidden = 3, .layers = 2}, {{{2, 5, 4}}}),
            "input + output + gates + cells + hidden");
  // What one backward pass leaves for the other was not kept from forward.
  EXPECT_EQ(kept_text(Recurrent{.cell = CellKind::rnn_tanh, .hidden = 3}, {{{2, 5, 4}}}),
            "input + output");
}

TEST(Kept, is_nothing_without_a_backward_pass) {
  EXPECT_EQ(kept_text(Unary{UnaryKind::relu}, {image}, Mode::inference), "nothing");
  EXPECT_EQ(kept_text(BatchNorm{}, {image}, Mode::inference), "nothing");
  // A layer before the first weights: training goes through it forward only.
  EXPECT_EQ(kept_text(Pool{.kernel = {2, 2}}, {{{2, 4, 6, 6}, Role::network_input}}), "nothing");
}

TEST(Kept, counts_a_tensor_once_and_no_weights) {
  const Subject subject(Elementwise{ElementwiseKind::multiply},
                        {rows, {.shape = {3, 4}, .same_as = 0}}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(kept_for_backward(subject.bound, subject.node, cost).bytes, 3 * 4 * 4);

  const Subject linear(Linear{.features = 5}, {rows}, {});
  EXPECT_EQ(kept_for_backward(linear.bound, linear.node, cost_of(linear.bound, linear.node)).bytes,
            3 * 4 * 4);
}

TEST(Cost, of_all_nodes_is_in_graph_order) {
  GraphBuilder builder("two");
  const TensorId x = builder.input("x", {builder.symbols().parameter("batch", 8), 4});
  builder.add("relu", Unary{}, {builder.add("linear", Linear{.features = 5, .bias = false}, {x})});
  const Graph graph = std::move(builder).finish();
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}});
  const std::vector<NodeCost> costs = costs_of(bound);
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_EQ(costs[0].forward.mac, 2 * 4 * 5);
  EXPECT_FALSE(costs[0].backward_input.exists());
  EXPECT_EQ(costs[1].forward.flop, 2 * 5);
  EXPECT_TRUE(costs[1].backward_input.exists());

  for (const NodeCost& cost : costs_of(bound, Mode::inference)) {
    EXPECT_FALSE(cost.backward_input.exists());
    EXPECT_FALSE(cost.backward_weight.exists());
    EXPECT_TRUE(cost.saved.empty());
  }
}

TEST(Cost, of_whole_numbers_has_no_backward) {
  const Source indices{{3, 4}, Role::parameter, DType::int64};
  const Subject subject(Elementwise{}, {indices, indices}, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(cost.forward.flop, 12);
  EXPECT_EQ(cost.forward.read_bytes(), 2 * 12 * 8);
  EXPECT_FALSE(cost.backward_input.exists());
  EXPECT_FALSE(cost.backward_weight.exists());
}

// The tensors fit in 64 bits, the multiply-adds do not.
TEST(Cost, beyond_64_bits_is_an_input_error_that_names_the_node) {
  const std::int64_t large = std::int64_t{1} << 24;
  const Subject subject(Linear{.features = large}, {{{large, large}}}, {});
  try {
    cost_of(subject.bound, subject.node);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("node 'node'"), std::string::npos) << error.what();
  }
}

// Thousands of inputs must not cost their square in time.
TEST(Cost, of_a_very_wide_node) {
  const std::size_t inputs = 50'000;
  const std::vector<Source> sources(inputs, Source{{1, 1}, Role::parameter});
  const Subject subject(Concat{}, sources, {});
  const NodeCost cost = cost_of(subject.bound, subject.node);
  EXPECT_EQ(cost.forward.read_bytes(), static_cast<std::int64_t>(inputs) * 4);
  EXPECT_EQ(cost.backward_weight.read_bytes(), static_cast<std::int64_t>(inputs) * 4);
}

}  // namespace
}  // namespace strata
