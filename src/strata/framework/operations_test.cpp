// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/operations.hpp"

#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

/// One convolution of every kind, behind each other: 8 × 8 pixels, 4 × 4 after the second.
void add_convolutions(Net& net) {
  GraphBuilder& b = net.builder;
  TensorId x = b.input("x", {2, 3, 8, 8});
  x = b.add("first",
            Convolution{.channels = 16, .kernel = {3, 3}, .pad_begin = {1, 1}, .pad_end = {1, 1}},
            {x});
  x = b.add("relu", Unary{}, {x});
  x = b.add("dense",
            Convolution{.channels = 32,
                        .kernel = {3, 3},
                        .stride = {2, 2},
                        .pad_begin = {1, 1},
                        .pad_end = {1, 1},
                        .bias = false},
            {x});
  x = b.add("depthwise",
            Convolution{.channels = 32,
                        .kernel = {3, 3},
                        .pad_begin = {1, 1},
                        .pad_end = {1, 1},
                        .groups = 32,
                        .bias = false},
            {x});
  x = b.add("grouped", Convolution{.channels = 64, .kernel = {1, 1}, .groups = 4, .bias = false},
            {x});
  x = b.add("pool", AdaptivePool{}, {x});
  x = b.add("flatten", Flatten{}, {x});
  b.add("fc", Linear{.features = 10}, {x});
}

TEST(Operations, of_a_convolutional_network_are_what_one_counts_by_hand) {
  Net net;
  add_convolutions(net);
  net.finish();
  const Lines expected = {
      "first.forward fp32 2 3 16 64 64 9 1", "channels.add_bias fp32 2048",
      "relu.forward fp32 2048", "convolution.forward fp32 2 16 32 64 16 9 1",
      "depthwise.forward fp32 2 32 32 16 16 9 32", "grouped.forward fp32 2 32 64 16 16 1 4",
      "global_pool.forward fp32 128 16", "linear.forward fp32 1 2 10 64",
      "cross_entropy.forward fp32 2 10", "cross_entropy.backward fp32 2 10",
      "linear.backward_input fp32 1 2 64 10", "linear.backward_weight fp32 1 10 64 2",
      "column_sum fp32 2 10", "global_pool.backward fp32 128 16",
      "grouped.backward_input fp32 2 32 64 16 16 1 4",
      "grouped.backward_weight fp32 2 32 64 16 16 1 4",
      "depthwise.backward_input fp32 2 32 32 16 16 9 32",
      "depthwise.backward_weight fp32 2 32 32 16 16 9 32",
      "convolution.backward_input fp32 2 16 32 64 16 9 1",
      "convolution.backward_weight fp32 2 16 32 64 16 9 1", "relu.backward fp32 2048",
      "first.backward_weight fp32 2 3 16 64 64 9 1",  // nobody wants the gradient of the image
      "channels.sum_to_channels fp32 2048",
      // 7 tensors: 3·16·9 + 16, 16·32·9, 32·9, 8·64, 64·10 + 10 numbers.
      "update.momentum fp32 7 6506"};
  EXPECT_EQ(net.lines(), expected);
  EXPECT_TRUE(net.operations.unknown.empty());
}

TEST(Operations, a_kernel_that_nobody_learns_has_no_weight_gradient) {
  Net net;
  GraphBuilder& b = net.builder;
  TensorId x = b.input("x", {2, 4, 8, 8});
  const Convolution first{.channels = 4, .kernel = {1, 1}, .bias = false};
  const Convolution blur{.channels = 4, .kernel = {3, 3}, .groups = 4, .bias = false};
  x = b.add("first", first, {x});
  const TensorId kernel = b.stored("kernel", {4, 1, 3, 3}, TensorKind::constant);
  b.add_node("blur", blur, std::array{x}, std::array{kernel});
  net.finish();
  const Lines lines = net.lines();
  const auto count = [&lines](std::string_view name) {
    return std::count_if(lines.begin(), lines.end(),
                         [name](const std::string& line) { return line.starts_with(name); });
  };
  EXPECT_EQ(count("depthwise.forward"), 1);
  EXPECT_EQ(count("depthwise.backward_input"), 1);
  EXPECT_EQ(count("depthwise.backward_weight"), 0);
}

TEST(Operations, a_call_of_the_host_is_an_operator_and_a_view_is_none) {
  Net net;
  add_convolutions(net);
  net.finish();
  // Forward 7 without the view, the loss twice, backward 7, one update.
  ASSERT_EQ(net.operations.calls.size(), 7U + 2U + 7U + 1U);
  std::uint32_t first = 0;
  for (const HostCall& call : net.operations.calls) {
    EXPECT_GE(call.first, first);
    EXPECT_LT(call.first, net.operations.operations.size());
    EXPECT_EQ(call.step, net.operations.operations[call.first].step);
    first = call.first + 1;
  }
  const HostCall& update = net.operations.calls.back();
  EXPECT_TRUE(update.is_update);
  EXPECT_EQ(update.tensors, 7);
}

TEST(Operations, channels_last_has_classes_of_its_own) {
  Net net;
  add_convolutions(net);
  net.finish({.channels_last = true});
  EXPECT_EQ(net.lines("first forward").front(), "first_nhwc.forward fp32 2 3 16 64 64 9 1");
  EXPECT_EQ(net.lines("dense forward"), Lines{"convolution_nhwc.forward fp32 2 16 32 64 16 9 1"});
  EXPECT_EQ(net.lines("depthwise backward"),
            (Lines{"depthwise_nhwc.backward_input fp32 2 32 32 16 16 9 32",
                   "depthwise_nhwc.backward_weight fp32 2 32 32 16 16 9 32"}));
  EXPECT_EQ(net.lines("grouped forward"), Lines{"grouped_nhwc.forward fp32 2 32 64 16 16 1 4"});
}

TEST(Operations, a_transposed_convolution_is_the_adjoint_of_a_convolution) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 3, 4, 4});
  const TensorId y = net.builder.add("conv", Convolution{.channels = 16, .kernel = {1, 1}}, {x});
  net.builder.add(
      "up",
      Convolution{
          .channels = 8, .kernel = {2, 2}, .stride = {2, 2}, .bias = false, .transposed = true},
      {y});
  net.finish();
  // As the gradients of a convolution from 8 channels of 8 × 8 pixels to 16 of 4 × 4.
  EXPECT_EQ(net.lines("up forward"), Lines{"convolution.backward_input fp32 2 8 16 64 16 4 1"});
  EXPECT_EQ(net.lines("up backward"), (Lines{"convolution.forward fp32 2 8 16 64 16 4 1",
                                             "convolution.backward_weight fp32 2 8 16 64 16 4 1"}));
}

TEST(Operations, tf32_is_how_products_multiply) {
  Net net;
  const TensorId x = net.builder.input("x", {4, 8});
  net.builder.add("fc", Linear{.features = 6, .bias = false}, {x});
  net.finish({}, {}, DType::tf32);
  EXPECT_EQ(net.lines("fc forward"), Lines{"linear.forward_no_bias tf32 1 4 6 8"});
}

TEST(Operations, a_linear_layer_multiplies_all_rows_of_its_input) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 5, 8});
  const TensorId y = net.builder.add("fc1", Linear{.features = 6}, {x});
  net.builder.add("fc2", Linear{.features = 4, .bias = false}, {y});
  net.finish();
  EXPECT_EQ(net.lines("fc1 forward"), Lines{"linear.forward fp32 1 10 6 8"});
  EXPECT_EQ(net.lines("fc1 backward"),
            (Lines{"linear.backward_weight fp32 1 6 8 10", "column_sum fp32 10 6"}));
  EXPECT_EQ(net.lines("fc2 forward"), Lines{"linear.forward_no_bias fp32 1 10 4 6"});
  EXPECT_EQ(net.lines("fc2 backward"),
            (Lines{"linear.backward_input fp32 1 10 6 4", "linear.backward_weight fp32 1 4 6 10"}));
}

TEST(Operations, a_product_with_a_matrix_is_a_linear_layer) {
  for (const bool is_transposed : {false, true}) {
    Net net;
    const TensorId x = net.builder.input("x", {2, 5, 8});
    const TensorId y = net.builder.add("fc", Linear{.features = 8}, {x});
    const TensorId w = net.builder.stored("w", is_transposed ? Shape{6, 8} : Shape{8, 6});
    net.builder.add("product", MatMul{.transpose_b = is_transposed}, {y, w});
    net.finish();
    EXPECT_EQ(net.lines("product forward"), Lines{"linear.forward_no_bias fp32 1 10 6 8"});
    EXPECT_EQ(net.lines("product backward"), (Lines{"linear.backward_input fp32 1 10 8 6",
                                                    "linear.backward_weight fp32 1 6 8 10"}));
  }
}

TEST(Operations, batched_products_have_their_extents_whatever_is_transposed) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Net net;
      const TensorId a =
          net.builder.stored("a", transpose_a ? Shape{2, 3, 8, 5} : Shape{2, 3, 5, 8});
      const TensorId c =
          net.builder.stored("b", transpose_b ? Shape{2, 3, 7, 8} : Shape{2, 3, 8, 7});
      net.builder.add("product", MatMul{transpose_a, transpose_b}, {a, c});
      net.finish();
      EXPECT_EQ(net.lines("product forward"), Lines{"batched.nn fp32 6 5 7 8"});
      EXPECT_EQ(net.lines("product backward"),
                (Lines{"batched.nt fp32 6 5 8 7", "batched.tn fp32 6 8 7 5"}));
    }
  }
}

TEST(Operations, batch_norm_counts_batches_with_one_number) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 3, 8, 8});
  const TensorId y =
      net.builder.add("conv", Convolution{.channels = 16, .kernel = {1, 1}, .bias = false}, {x});
  net.builder.add("bn", BatchNorm{}, {y});
  net.finish();
  EXPECT_EQ(net.lines("bn forward"),
            (Lines{"stream.add_ fp32 1", "batch_norm.forward fp32 16 128"}));
  EXPECT_EQ(net.lines("bn backward"), Lines{"batch_norm.backward fp32 16 128"});
}

TEST(Operations, norms_have_rows_and_columns) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 4, 3, 5});
  TensorId y = net.builder.add("conv", Convolution{.channels = 6, .kernel = {1, 1}}, {x});
  y = net.builder.add("group", GroupNorm{.groups = 3}, {y});
  y = net.builder.add("layer", LayerNorm{.axis = 2}, {y});
  net.builder.add("softmax", Softmax{.axis = 1}, {y});
  net.finish({}, {.loss = Loss::none});
  EXPECT_EQ(net.lines("group forward"), Lines{"group_norm.forward fp32 6 30"});
  EXPECT_EQ(net.lines("layer forward"), Lines{"layer_norm.forward fp32 12 15"});
  EXPECT_EQ(net.lines("layer backward"), Lines{"layer_norm.backward fp32 12 15"});
  // Over 6 channels, for each of 2·3·5 places.
  EXPECT_EQ(net.lines("softmax forward"), Lines{"softmax.forward fp32 30 6"});
}

void add_attention(Net& net, bool is_causal = false) {
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {2, 5, 12});
  const TensorId q = b.add("q", Linear{.features = 12}, {x});
  const TensorId k = b.add("k", Linear{.features = 12}, {x});
  const TensorId v = b.add("v", Linear{.features = 12}, {x});
  b.add("attention", Attention{.heads = 3, .causal = is_causal}, {q, k, v});
}

TEST(Operations, fused_attention_is_one_kernel_and_backward_copies_of_heads) {
  for (const bool is_causal : {false, true}) {
    Net net;
    add_attention(net, is_causal);
    net.finish({.attention = AttentionKernels::fused});
    const std::string dims = fmt::format("fp32 2 3 5 5 4 {}", is_causal ? 2 : 1);
    const std::string copy = "heads.permute_contiguous fp32 120";
    // Its result lies as the next layer reads it; the gradients of q, k and v are put together.
    EXPECT_EQ(net.lines("attention forward"), Lines{"attention.forward " + dims});
    EXPECT_EQ(net.lines("attention backward"),
              (Lines{"attention.backward " + dims, copy, copy, copy}));
  }
}

TEST(Operations, attention_written_out_makes_the_scores) {
  Net net;
  add_attention(net);
  net.finish({.attention = AttentionKernels::eager});
  // Scores: 2 samples, 3 heads, 5 × 5; heads of 4 features.
  const std::string copy = "heads.permute_contiguous fp32 120";
  EXPECT_EQ(net.lines("attention forward"),
            (Lines{copy, copy, "batched.nt fp32 6 5 5 4", "heads.scores_scale fp32 150",
                   "heads.add_mask fp32 150", "softmax.forward fp32 30 5",
                   "dropout.forward fp32 150", copy, "batched.nn fp32 6 5 4 5", copy}));
  const Lines backward = net.lines("attention backward");
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "softmax.backward fp32 30 5"), 1);
  EXPECT_EQ(std::count_if(backward.begin(), backward.end(),
                          [](const std::string& line) { return line.starts_with("batched."); }),
            4);
}

TEST(Operations, attention_of_a_module_copies_its_packed_operands) {
  Net net;
  add_attention(net);
  net.finish({.attention = AttentionKernels::module});
  const Lines forward = net.lines("attention forward");
  EXPECT_EQ(forward,
            (Lines{"heads.permute_contiguous fp32 120", "heads.permute_contiguous fp32 360",
                   "channels.add_bias fp32 360", "attention.forward fp32 2 3 5 5 4 1",
                   "heads.permute_contiguous fp32 120",
                   // Both layer norms copy what comes out, which lies with the sequence first.
                   "heads.permute_contiguous fp32 120", "heads.permute_contiguous fp32 120"}));
  EXPECT_GT(net.lines("attention backward").size(), 15U);
}

TEST(Operations, networks_of_torchvision_have_attention_as_a_module) {
  for (const bool is_torchvision : {true, false}) {
    Net net;
    add_attention(net);
    net.builder.graph().source = is_torchvision ? "torchvision 0.20" : "elsewhere";
    net.finish();
    EXPECT_EQ(net.lines("attention forward").size(), is_torchvision ? 7U : 1U);
  }
}

TEST(Operations, a_tensor_that_two_nodes_read_has_its_gradients_added) {
  Net net;
  const TensorId x = net.builder.input("x", {4, 8});
  const TensorId y = net.builder.add("fc", Linear{.features = 6}, {x});
  const TensorId z = net.builder.add("relu", Unary{}, {y});
  net.builder.add("join", Elementwise{}, {y, z});
  net.finish();
  EXPECT_EQ(net.lines_of_class("stream.add"),
            (Lines{"stream.add fp32 24", "stream.add fp32 24"}));  // forward, and the sum
  EXPECT_EQ(net.lines("join backward"), Lines{});                  // passes its gradient on
}

TEST(Operations, an_addition_that_broadcasts_sums_its_gradient) {
  Net net;
  const TensorId x = net.builder.input("x", {4, 8});
  const TensorId y = net.builder.add("fc", Linear{.features = 6}, {x});
  const TensorId bias = net.builder.stored("bias", {6});
  net.builder.add("shift", Elementwise{}, {y, bias});
  net.finish();
  EXPECT_EQ(net.lines("shift forward"), Lines{"channels.add_bias fp32 24"});
  EXPECT_EQ(net.lines("shift backward"), Lines{"column_sum fp32 4 6"});
}

TEST(Operations, are_the_same_when_the_two_backward_passes_are_apart) {
  std::vector<Lines> all;
  for (const bool is_separate : {false, true}) {
    Net net;
    GraphBuilder& b = net.builder;
    const TensorId tokens = b.input("tokens", {4, 7}, DType::int64);
    TensorId x = b.add("table", Embedding{.vocabulary = 100, .width = 12}, {tokens});
    x = b.add("norm", LayerNorm{}, {x});
    x = b.add("fc", Linear{.features = 6}, {x});
    b.add("product", MatMul{}, {x, b.stored("w", {6, 5})});
    net.finish({}, {.separate_backward = is_separate});
    all.push_back(net.lines());
    std::sort(all.back().begin(), all.back().end());
  }
  EXPECT_EQ(all[0], all[1]);
}

TEST(Operations, of_a_network_whose_output_is_one_number) {
  Net net;
  const TensorId x = net.builder.input("x", {4, 8});
  const TensorId y = net.builder.add("fc", Linear{.features = 6}, {x});
  net.builder.add("mean", Reduce{.kind = ReduceKind::mean}, {y});
  net.finish();
  EXPECT_EQ(net.lines("mean forward"), Lines{"global_pool.forward fp32 1 24"});
}

TEST(Operations, an_embedding_looks_up_and_a_recurrent_layer_is_one_call) {
  Net net;
  const TensorId tokens = net.builder.input("tokens", {4, 7}, DType::int64);
  const TensorId x = net.builder.add("table", Embedding{.vocabulary = 100, .width = 12}, {tokens});
  const NodeId lstm = net.builder.add_node(
      "lstm", Recurrent{.hidden = 16, .layers = 2, .bidirectional = true}, std::vector{x});
  net.builder.output(net.builder.output_of(lstm));
  net.finish();
  EXPECT_EQ(net.lines("table forward"), Lines{"embedding.forward fp32 28 100 12"});
  EXPECT_EQ(net.lines("table backward"), Lines{"embedding.backward fp32 28 100 12"});
  EXPECT_EQ(net.lines("lstm forward"), Lines{"lstm.forward fp32 4 7 12 16 4"});
}

TEST(Operations, the_loss_of_images_has_classes_on_the_second_axis) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 3, 4, 5});
  net.builder.add("conv", Convolution{.channels = 7, .kernel = {1, 1}}, {x});
  net.finish();
  EXPECT_EQ(net.lines_of_class("cross_entropy.forward"), Lines{"cross_entropy.forward fp32 40 7"});
}

TEST(Operations, the_update_takes_the_kernels_of_its_optimizer) {
  for (const auto& [optimizer, name] :
       {std::pair{Optimizer::sgd, "update.sgd"}, std::pair{Optimizer::momentum, "update.momentum"},
        std::pair{Optimizer::adam, "update.adam"}}) {
    Net net;
    const TensorId x = net.builder.input("x", {4, 8});
    net.builder.add("fc", Linear{.features = 6}, {x});
    net.finish({}, {.optimizer = optimizer});
    EXPECT_EQ(net.lines().back(), fmt::format("{} fp32 2 54", name));
  }
  Net net;
  const TensorId x = net.builder.input("x", {4, 8});
  net.builder.add("fc", Linear{.features = 6}, {x});
  net.finish({}, {.optimizer = Optimizer::none});
  EXPECT_EQ(net.lines().back(), "column_sum fp32 4 6");
}

TEST(Operations, what_has_no_rule_is_named_once) {
  Net net;
  TensorId x = net.builder.input("x", {2, 3, 8, 8});
  x = net.builder.add("conv", Convolution{.channels = 85, .kernel = {1, 1}}, {x});
  x = net.builder.add("yolo1", Yolo{.boxes = 1}, {x});
  net.builder.add("yolo2", Yolo{.boxes = 1}, {x});
  net.finish();
  EXPECT_EQ(net.operations.unknown, Lines{"yolo"});
}

// As nn.LSTM with three layers: one call, which each layer has a third of.
TEST(Operations, layers_of_one_size_that_feed_one_another_are_one_operation) {
  Net net;
  TensorId x = net.builder.input("x", {4, 5, 8});
  for (const char* name : {"one", "two", "three"})
    x = net.builder.output_of(net.builder.add_node(name, Recurrent{.hidden = 8}, std::array{x}), 0);
  net.builder.add("fc", Linear{.features = 2}, {x});
  net.finish();
  double shares = 0;
  for (const FrameworkOperation& one : net.operations.operations) {
    if (name_of(one.kernel_class) == "lstm.forward") shares += one.share;
  }
  EXPECT_NEAR(shares, 1, 1e-12);
  const std::string whole = "lstm.forward fp32 4 5 8 8 3";
  EXPECT_EQ(net.lines_of_class("lstm.forward"), (Lines{whole, whole, whole}));
}

TEST(Operations, layers_of_several_sizes_are_apart) {
  Net net;
  TensorId x = net.builder.input("x", {4, 5, 8});
  for (const std::int64_t hidden : {8, 16})
    x = net.builder.output_of(net.builder.add_node(fmt::format("of_{}", hidden),
                                                   Recurrent{.hidden = hidden}, std::array{x}),
                              0);
  net.finish();
  EXPECT_EQ(net.lines_of_class("lstm.forward"),
            (Lines{"lstm.forward fp32 4 5 8 8 1", "lstm.forward fp32 4 5 8 16 1"}));
}

TEST(Operations, of_inference_drop_nothing_and_normalise_by_what_is_stored) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 4, 8, 8});
  const TensorId y = net.builder.add("norm", BatchNorm{}, {x});
  net.builder.add("drop", Dropout{.probability = 0.5}, {y});
  net.finish({}, {.inference = true});
  EXPECT_EQ(net.lines(), Lines{"batch_norm.inference fp32 8 64"});
}

TEST(Operations, of_batch_norm_go_by_the_layout_of_its_images) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 4, 8, 8});
  net.builder.add("norm", BatchNorm{}, {x});
  net.finish({.channels_last = true});
  EXPECT_EQ(net.lines_of_class("batch_norm_nhwc.forward"),
            Lines{"batch_norm_nhwc.forward fp32 4 128"});
}

TEST(Operations, updates_of_lists_launch_by_their_sizes) {
  Net net;
  TensorId x = net.builder.input("x", {1, 4800});
  for (int i = 0; i < 2; ++i)
    x = net.builder.add("linear" + std::to_string(i), Linear{.features = 4800}, {x});
  net.finish();
  // 352 pieces of 65,536 numbers each: 320 fit into one kernel, of three operations.
  EXPECT_EQ(net.operations.operations.back().kernels, 9);
}

// A file shows whether attention is one call or written out; flags go before it.
TEST(Operations, attention_that_is_written_out_runs_as_it_is_written) {
  const auto kinds = [](bool written_out, AttentionKernels asked) {
    Net net;
    const TensorId x = net.builder.input("x", {2, 8, 16});
    const TensorId q = net.builder.add("q", Linear{.features = 16}, {x});
    net.builder.add("attention", Attention{.heads = 2, .written_out = written_out}, {q, q, q});
    net.finish({.attention = asked});
    return net.lines_of_class("attention.forward").size();
  };
  EXPECT_EQ(kinds(false, AttentionKernels::automatic), 1U);
  EXPECT_EQ(kinds(true, AttentionKernels::automatic), 0U);
  EXPECT_EQ(kinds(true, AttentionKernels::fused), 1U);
}

// Two branches of a selective kernel are added up where they are, not row by row.
TEST(Operations, sums_of_few_numbers_stream) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 2, 4, 8});
  net.builder.add("sum", Reduce{.kind = ReduceKind::sum, .axes = {1}}, {x});
  net.finish();
  EXPECT_EQ(net.lines("sum forward"), Lines{"stream.copy fp32 128"});
}
}  // namespace
}  // namespace strata
