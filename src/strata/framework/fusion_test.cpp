// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/fusion.hpp"

#include "strata/framework/small_network_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace strata {
namespace {

using small_network::Lines;
using small_network::Net;

constexpr TrainingOptions only_forward{.inference = true};

Net compiled_net() {
  Net net;
  net.framework = "pytorch-compile";
  return net;
}

/// Operations of a call.
std::span<const FrameworkOperation> operations_in(const Net& net, std::size_t call) {
  const FrameworkOperations& all = net.operations;
  const std::size_t first = all.calls[call].first;
  const std::size_t end =
      call + 1 < all.calls.size() ? all.calls[call + 1].first : all.operations.size();
  return std::span(all.operations).subspan(first, end - first);
}

/// Each call: "linear.forward_no_bias 1 4 6 8: fc1 forward", a fused kernel with all its steps.
Lines kernels_of(const Net& net) {
  Lines all;
  for (std::size_t call = 0; call < net.operations.calls.size(); ++call) {
    std::vector<std::string> steps;
    std::string kernel;
    for (const FrameworkOperation& one : operations_in(net, call)) {
      if (kernel.empty()) kernel = small_network::line_of(one);
      const std::string step = name_of(net.program, one.step);
      if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(step);
    }
    all.push_back(fmt::format("{}: {}", kernel, fmt::join(steps, " + ")));
  }
  return all;
}

TensorId linear(Net& net, std::string_view name, std::int64_t features, TensorId x) {
  return net.builder.add(name, Linear{.features = features, .bias = false}, {x});
}

TEST(Fusion, joins_a_chain_of_point_wise_operators_in_one_kernel) {
  Net net = compiled_net();
  TensorId y = linear(net, "fc1", 6, net.builder.input("x", {4, 8}));
  y = net.builder.add("relu", Unary{}, {y});
  y = net.builder.add("sigmoid", Unary{UnaryKind::sigmoid}, {y});
  y = net.builder.add("tanh", Unary{UnaryKind::tanh}, {y});
  linear(net, "fc2", 3, y);
  net.finish({}, only_forward);
  // 4 × 6 numbers are read and written once, by a kernel that takes what a copy of 24 takes.
  EXPECT_EQ(kernels_of(net),
            (Lines{"linear.forward_no_bias fp32 1 4 6 8: fc1 forward",
                   "stream.copy fp32 24: relu forward + sigmoid forward + tanh forward",
                   "linear.forward_no_bias fp32 1 4 3 6: fc2 forward"}));
  for (const FrameworkOperation& one : operations_in(net, 1)) EXPECT_DOUBLE_EQ(one.share, 1.0 / 3);
}

TEST(Fusion, leaves_kernels_of_libraries_alone) {
  Net compiled = compiled_net(), eager;
  for (Net* net : {&compiled, &eager}) {
    TensorId y = linear(*net, "fc1", 6, net->builder.input("x", {4, 8}));
    y = linear(*net, "fc2", 6, y);
    net->finish({}, {.optimizer = Optimizer::sgd});
  }
  EXPECT_EQ(compiled.lines(), eager.lines());
}

TEST(Fusion, puts_point_wise_work_into_the_reduction_behind_it) {
  Net net = compiled_net();
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {2, 3, 8, 8});
  TensorId y = b.add("conv", Convolution{.channels = 4, .kernel = {1, 1}, .bias = false}, {x});
  y = b.add("relu", Unary{}, {y});
  y = b.add("pool", AdaptivePool{}, {y});
  y = b.add("flatten", Flatten{}, {y});
  linear(net, "fc", 10, y);
  net.finish({}, only_forward);
  // It reads 2 × 4 × 64 numbers and writes 2 × 4.
  EXPECT_EQ(kernels_of(net), (Lines{"first.forward fp32 2 3 4 64 64 1 1: conv forward",
                                    "stream.sum fp32 520: relu forward + pool forward",
                                    "linear.forward_no_bias fp32 1 2 10 4: fc forward"}));
}

TEST(Fusion, makes_two_kernels_of_batch_norm_and_joins_the_second_with_what_follows) {
  Net net = compiled_net();
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {2, 3, 8, 8});
  const Convolution one_by_one{.channels = 4, .kernel = {1, 1}, .bias = false};
  TensorId y = b.add("conv1", one_by_one, {x});
  y = b.add("norm", BatchNorm{}, {y});
  y = b.add("relu", Unary{}, {y});
  b.add("conv2", one_by_one, {y});
  net.finish({}, {.optimizer = Optimizer::none});
  const Lines kernels = kernels_of(net);
  ASSERT_GE(kernels.size(), 4U);
  EXPECT_EQ(kernels[1], "stream.sum fp32 512: norm forward");
  EXPECT_TRUE(kernels[2].ends_with(": norm forward + relu forward")) << kernels[2];
  // Beside the features only statistics of 4 channels.
  EXPECT_NEAR(operations_in(net, 2).front().dims[0], 512, 8);
  // The counter of batches and the last stage of the sum are launches of their own.
  const auto single = net.lines_of_class("stream.add_");
  EXPECT_EQ(single.size(), 3U);
}

TEST(Fusion, computes_what_only_a_later_kernel_reads_there) {
  Net net = compiled_net();
  GraphBuilder& b = net.builder;
  const TensorId x = b.input("x", {4, 8});
  const TensorId beside = b.add("sigmoid", Unary{UnaryKind::sigmoid}, {linear(net, "side", 6, x)});
  TensorId y = b.add("relu", Unary{}, {linear(net, "fc1", 6, x)});
  y = linear(net, "fc2", 6, y);
  y = b.add("join", Elementwise{}, {y, beside});
  linear(net, "fc3", 2, y);
  net.finish({}, only_forward);
  const Lines kernels = kernels_of(net);
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(),
                       "stream.copy fp32 36: sigmoid forward + join forward"),
            1)
      << fmt::format("{}", fmt::join(kernels, "\n"));
}

TEST(Fusion, casts_nothing_but_inputs_and_weights) {
  Net net = compiled_net();
  TensorId y = linear(net, "fc1", 6, net.builder.input("x", {4, 8}));
  y = net.builder.add("relu", Unary{}, {y});
  y = net.builder.add("norm", LayerNorm{}, {y});
  linear(net, "fc2", 3, y);
  net.finish({.autocast = DType::bf16}, only_forward);
  EXPECT_EQ(net.lines_of_class("stream.cast"),
            (Lines{"stream.cast fp32 32", "stream.cast fp32 48", "stream.cast fp32 18"}));
  // 24 numbers in 16 bits are read, and 24 written.
  EXPECT_EQ(net.lines("norm forward"), Lines{"stream.copy fp32 12"});
}

TEST(Fusion, takes_time_for_random_numbers) {
  const auto elements = [](bool drops) {
    Net net = compiled_net();
    TensorId y = linear(net, "fc1", 6, net.builder.input("x", {4, 8}));
    y = net.builder.add("relu", Unary{}, {y});
    if (drops) y = net.builder.add("drop", Dropout{}, {y});
    linear(net, "fc2", 3, y);
    net.finish({}, {.optimizer = Optimizer::none});
    return net.operations.operations[1].dims[0];
  };
  EXPECT_GT(elements(true), elements(false) + 24);
}

/// What crosses the border of a kernel by definition: the values that its steps read and none of
/// them makes, and those that they make and somebody else reads.
double bytes_by_definition(const Program& program, const std::set<StepId>& members) {
  std::map<ValueId, std::set<StepId>> readers, makers;
  for (StepId step = 0; step < program.steps.size(); ++step) {
    for (const Use& use : program.uses_of(step)) {
      if (use.reads) readers[use.value].insert(step);
      if (use.writes) makers[use.value].insert(step);
    }
  }
  const auto has_member = [&](const std::set<StepId>& steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](StepId step) { return members.contains(step); });
  };
  const auto has_other = [&](const std::set<StepId>& steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [&](StepId step) { return !members.contains(step); });
  };
  double bytes = 0;
  for (ValueId value = 0; value < program.values.size(); ++value) {
    const bool is_made = has_member(makers[value]);
    if (is_made ? has_other(readers[value]) : has_member(readers[value]))
      bytes += static_cast<double>(program.values[value].bytes);
  }
  return bytes;
}

TEST(Fusion, moves_what_a_count_over_all_steps_says) {
  Net net = compiled_net();
  GraphBuilder& b = net.builder;
  const TensorId first = linear(net, "fc1", 8, b.input("x", {4, 8}));
  const TensorId relu = b.add("relu", Unary{}, {first});
  const TensorId stream = b.add("join1", Elementwise{}, {relu, first});
  TensorId y = b.add("gelu", Unary{UnaryKind::gelu}, {stream});
  y = linear(net, "fc2", 8, y);
  y = b.add("join2", Elementwise{}, {y, stream});
  y = b.add("sigmoid", Unary{UnaryKind::sigmoid}, {y});
  y = b.add("times", Elementwise{ElementwiseKind::multiply}, {y, stream});
  linear(net, "fc3", 2, y);
  net.finish({}, {.optimizer = Optimizer::none});
  std::set<StepId> fused;
  std::size_t kernels = 0;
  for (std::size_t call = 0; call < net.operations.calls.size(); ++call) {
    std::set<StepId> members;
    double shares = 0;
    for (const FrameworkOperation& one : operations_in(net, call)) {
      if (name_of(one.kernel_class) != "stream.copy") continue;
      EXPECT_TRUE(fused.insert(one.step).second) << "in two kernels";
      members.insert(one.step);
      shares += one.share;
    }
    if (members.empty()) continue;
    ++kernels;
    EXPECT_NEAR(shares, 1, 1e-12);
    EXPECT_DOUBLE_EQ(8 * operations_in(net, call).front().dims[0],
                     bytes_by_definition(net.program, members));
  }
  EXPECT_GE(kernels, 4U);
  for (StepId id = 0; id < net.program.steps.size(); ++id) {
    const Step& step = net.program.steps[id];
    if (step.node == no_node && !step.is_gradient_sum) continue;
    const bool is_product =
        !step.is_gradient_sum && std::holds_alternative<Linear>(net.graph.nodes[step.node].op);
    // Backward of an addition hands its gradient on.
    const bool launches = step.is_gradient_sum || step.pass == Pass::forward ||
                          !std::holds_alternative<Elementwise>(net.graph.nodes[step.node].op) ||
                          net.graph.nodes[step.node].name == "times";
    EXPECT_EQ(fused.contains(id), !is_product && launches) << name_of(net.program, id);
  }
}

TEST(Fusion, pads_products_of_16_bits_whose_rows_begin_at_odd_elements) {
  for (const bool is_compiled : {true, false}) {
    Net net;
    if (is_compiled) net.framework = "pytorch-compile";
    linear(net, "odd", 11, net.builder.input("x", {4, 8}));
    net.finish({}, only_forward, DType::bf16);
    EXPECT_EQ(net.lines("odd forward"),
              Lines{is_compiled ? "linear.forward_no_bias bf16 1 4 16 8"
                                : "linear.forward_no_bias bf16 1 4 11 8"});
  }
  Net even = compiled_net();  // its rows begin at whole 4 bytes, and it stays
  linear(even, "even", 10, even.builder.input("x", {4, 8}));
  even.finish({}, only_forward, DType::bf16);
  EXPECT_EQ(even.lines("even forward"), Lines{"linear.forward_no_bias bf16 1 4 10 8"});
  Net wide = compiled_net();  // vector units do not mind
  linear(wide, "odd", 11, wide.builder.input("x", {4, 8}));
  wide.finish({}, only_forward);
  EXPECT_EQ(wide.lines("odd forward"), Lines{"linear.forward_no_bias fp32 1 4 11 8"});
}

TEST(Fusion, never_stores_what_stays_inside_a_kernel) {
  Net net = compiled_net();
  TensorId y = linear(net, "fc1", 6, net.builder.input("x", {4, 8}));
  const TensorId inside = y = net.builder.add("relu", Unary{}, {y});
  const TensorId read = y = net.builder.add("tanh", Unary{UnaryKind::tanh}, {y});
  linear(net, "fc2", 3, y);
  net.finish({}, only_forward);
  for (ValueId id = 0; id < net.program.values.size(); ++id) {
    const Value& value = net.program.values[id];
    if (value.kind != ValueKind::feature) continue;
    if (value.tensor == inside || value.tensor == read) {
      EXPECT_EQ(net.operations.never_stored[id], value.tensor == inside);
    }
  }
}

}  // namespace
}  // namespace strata
