// SPDX-License-Identifier: Apache-2.0
#include "strata/operations/aten_work.hpp"

#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/graph/builder.hpp"
#include "strata/operations/one_operation_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

RecordedOperation counted(const OneOperation& one) {
  RecordedOperations recording = one.recording();
  count_work(recording);
  return recording.operations.front();
}

/// Multiply-adds of a product, one by one.
std::int64_t looped_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::int64_t count = 0;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t inner = 0; inner < k; ++inner) ++count;
  return count;
}

TEST(AtenWork, of_products_is_that_of_their_loops) {
  const RecordedOperation mm =
      counted(OneOperation("aten::mm").reads({3, 5}).reads({5, 7}).writes({3, 7}));
  EXPECT_EQ(mm.mac, looped_product(1, 3, 7, 5));
  EXPECT_EQ(mm.flop, 2 * mm.mac);
  const RecordedOperation bmm =
      counted(OneOperation("aten::bmm").reads({2, 3, 5}).reads({2, 5, 7}).writes({2, 3, 7}));
  EXPECT_EQ(bmm.mac, looped_product(2, 3, 7, 5));
  const RecordedOperation addmm =
      counted(OneOperation("aten::addmm").reads({7}).reads({3, 5}).reads({5, 7}).writes({3, 7}));
  EXPECT_EQ(addmm.flop, 2 * looped_product(1, 3, 7, 5) + 3 * 7);
  EXPECT_EQ(addmm.kind, RecordedOperation::Kind::dense);
}

/// The same convolution as an operator of a network has this cost.
NodeCost cost_of_convolution(const Convolution& op, const Shape& input) {
  GraphBuilder builder("one");
  const TensorId x = builder.input("x", input);
  const TensorId before = builder.add("before", Unary{}, {x});  // so that its gradient is wanted
  const TensorId weight = builder.stored("p", {Dim(1)});
  builder.output(builder.add("c", op, {builder.add("sum", Elementwise{}, {before, weight})}));
  const Graph graph = std::move(builder).finish();
  return cost_of(bind_graph(graph, {}), 2);
}

TEST(AtenWork, of_convolutions_is_that_of_the_operator) {
  const Convolution op{.channels = 6,
                       .kernel = {3, 3},
                       .stride = {2, 2},
                       .pad_begin = {1, 1},
                       .pad_end = {1, 1},
                       .groups = 2};
  const NodeCost cost = cost_of_convolution(op, {Dim(2), Dim(4), Dim(9), Dim(9)});
  const RecordedOperation forward = counted(OneOperation("aten::convolution")
                                                .reads({2, 4, 9, 9})
                                                .reads({6, 2, 3, 3})
                                                .reads({6})
                                                .with("groups", {2})
                                                .with("transposed", {0})
                                                .writes({2, 6, 5, 5}));
  EXPECT_EQ(forward.mac, cost.forward.mac);
  EXPECT_EQ(forward.flop, cost.forward.flop);
  const RecordedOperation backward = counted(OneOperation("aten::convolution_backward")
                                                 .reads({2, 6, 5, 5})
                                                 .reads({2, 4, 9, 9})
                                                 .reads({6, 2, 3, 3})
                                                 .with("groups", {2})
                                                 .with("transposed", {0})
                                                 .with("output_mask", {1, 1, 1})
                                                 .writes({2, 4, 9, 9})
                                                 .writes({6, 2, 3, 3})
                                                 .writes({6}));
  EXPECT_EQ(backward.mac, cost.backward_input.mac + cost.backward_weight.mac);
  EXPECT_EQ(backward.flop, cost.backward_input.flop + cost.backward_weight.flop);
}

TEST(AtenWork, of_a_gradient_that_nobody_wants_is_none) {
  const RecordedOperation weight_alone = counted(OneOperation("aten::convolution_backward")
                                                     .reads({1, 2, 4, 4})
                                                     .reads({1, 3, 4, 4})
                                                     .reads({2, 3, 1, 1})
                                                     .with("output_mask", {0, 1, 0})
                                                     .writes({2, 3, 1, 1}));
  EXPECT_EQ(weight_alone.mac, 1 * 2 * 16 * 3);
}

TEST(AtenWork, of_causal_attention_counts_the_pairs_it_sees) {
  const auto attention = [](double is_causal) {
    return counted(OneOperation("aten::_scaled_dot_product_cudnn_attention")
                       .reads({1, 2, 3, 8})
                       .reads({1, 2, 5, 8})
                       .reads({1, 2, 5, 8})
                       .with("is_causal", {is_causal})
                       .writes({1, 2, 3, 8}));
  };
  std::int64_t seen = 0;
  for (int query = 0; query < 3; ++query)
    for (int key = 0; key < 5; ++key) seen += key <= query + 5 - 3 ? 1 : 0;
  EXPECT_EQ(attention(1).mac, 2 * seen * (8 + 8));
  EXPECT_EQ(attention(0).mac, 2 * 3 * 5 * (8 + 8));
}

TEST(AtenWork, of_batch_norm_is_that_of_the_operator) {
  const RecordedOperation norm = counted(OneOperation("aten::native_batch_norm")
                                             .reads({2, 4, 3, 3})
                                             .reads({4})
                                             .reads({4})
                                             .with("training", {1})
                                             .writes({2, 4, 3, 3}));
  EXPECT_EQ(norm.flop, (6 + 2) * 2 * 4 * 9 + 11 * 4);  // docs/costs.md
}

TEST(AtenWork, of_views_and_allocations_is_none_and_launches_nothing) {
  for (const char* name : {"aten::view", "aten::t", "aten::empty.memory_format"}) {
    const RecordedOperation view = counted(OneOperation(name).reads({4, 5}).writes({5, 4}));
    EXPECT_EQ(view.flop, 0) << name;
    EXPECT_FALSE(view.launches) << name;
    EXPECT_TRUE(view.is_known) << name;
  }
}

TEST(AtenWork, of_what_the_table_does_not_know_is_said) {
  const RecordedOperation unknown =
      counted(OneOperation("mylib::attention").reads({4, 5}).writes({4, 5}));
  EXPECT_FALSE(unknown.is_known);
  EXPECT_TRUE(unknown.launches);
  EXPECT_EQ(unknown.flop, 0);
}

TEST(AtenWork, that_does_not_fit_in_64_bits_is_an_error) {
  const std::int64_t large = std::int64_t{1} << 31;
  RecordedOperations recording =
      OneOperation("aten::mm").reads({large, 2}).reads({2, large}).writes({1}).recording();
  recording.tensors[0].shape = {large, large};
  recording.tensors[1].shape = {large, large};
  EXPECT_THROW(count_work(recording), Error);
}

}  // namespace
}  // namespace strata
