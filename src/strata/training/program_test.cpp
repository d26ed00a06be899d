// SPDX-License-Identifier: Apache-2.0
#include "strata/training/program.hpp"

#include "strata/base/error.hpp"
#include "strata/graph/builder.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

constexpr TrainingOptions plain{.optimizer = Optimizer::none, .loss = Loss::none};

/// A step as one line: "conv backward: reads x, dy; writes dw".
std::string line(const Program& program, StepId id) {
  std::string reads, writes;
  for (const Use& use : program.uses_of(id)) {
    const std::string name = value_name(program, use.value);
    if (use.reads) reads += (reads.empty() ? "" : ", ") + name;
    if (use.writes) writes += (writes.empty() ? "" : ", ") + name;
  }
  return fmt::format("{}: {} -> {}", name_of(program, id), reads, writes);
}

std::vector<std::string> lines(const Program& program) {
  std::vector<std::string> all;
  for (StepId id = 0; id < program.steps.size(); ++id) all.push_back(line(program, id));
  return all;
}

using Lines = std::vector<std::string>;

struct Net {
  GraphBuilder builder{"net"};
  Graph graph;
  BoundGraph bound;

  const BoundGraph& finish(std::optional<DType> dtype = std::nullopt) {
    graph = std::move(builder).finish();
    bound = bind_graph(graph, {}, dtype);
    return bound;
  }
};

TensorId add_perceptron(Net& net) {
  const TensorId x = net.builder.input("x", {8, 4});
  const TensorId hidden = net.builder.add("fc1", Linear{.features = 6}, {x});
  const TensorId active = net.builder.add("relu", Unary{}, {hidden});
  return net.builder.add("fc2", Linear{.features = 2, .bias = false}, {active});
}

TEST(Program, of_a_chain_is_what_one_writes_by_hand) {
  Net net;
  add_perceptron(net);
  const Program program = make_program(net.finish(), plain);
  const Lines expected = {
      "fc1 forward: x, fc1.weight, fc1.bias -> fc1",
      "relu forward: fc1 -> relu",
      "fc2 forward: relu, fc2.weight -> fc2",
      "fc2 backward: gradient of fc2, fc2.weight, relu -> gradient of relu, gradient of fc2.weight",
      "relu backward: gradient of relu, relu -> gradient of fc1",
      "fc1 backward: gradient of fc1, x -> gradient of fc1.weight, gradient of fc1.bias",
  };
  EXPECT_EQ(lines(program), expected);
  EXPECT_EQ(program.samples, 8);
  EXPECT_EQ(program.steps[3].flop, 2 * 2 * 8 * 6 * 2);  // two products
  EXPECT_EQ(program.steps[3].mac, 2 * 8 * 6 * 2);
}

TEST(Program, knows_what_is_given_and_what_is_a_result) {
  Net net;
  add_perceptron(net);
  const Program program = make_program(net.finish(), plain);
  for (ValueId id = 0; id < program.values.size(); ++id) {
    const Value& value = program.values[id];
    const std::string name = value_name(program, id);
    const bool is_stored = value.kind == ValueKind::weight || value.kind == ValueKind::input;
    EXPECT_EQ(value.is_given, is_stored || name == "gradient of fc2") << name;
    EXPECT_EQ(value.is_result, value.kind == ValueKind::weight_gradient) << name;
  }
}

TEST(Program, of_inference_ends_with_the_outputs) {
  Net net;
  add_perceptron(net);
  const Program program = make_program(net.finish(), {.inference = true});
  ASSERT_EQ(program.steps.size(), 3U);
  for (ValueId id = 0; id < program.values.size(); ++id)
    EXPECT_EQ(program.values[id].is_result, value_name(program, id) == "fc2");
}

TEST(Program, rows_are_the_least_that_streams) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 3, 8, 5});
  net.builder.add("conv", Convolution{.channels = 4, .kernel = {3, 3}}, {x});
  const Program program = make_program(net.finish(), plain);
  const auto value = [&](const std::string& name) {
    for (ValueId id = 0; id < program.values.size(); ++id) {
      if (value_name(program, id) == name) return program.values[id];
    }
    return Value{};
  };
  EXPECT_EQ(value("x").row_bytes, 4 * 3 * 5);  // one row of one sample, all channels
  EXPECT_EQ(value("conv").row_bytes, 4 * 4 * 3);
  EXPECT_EQ(value("gradient of conv").row_bytes, 4 * 4 * 3);
  EXPECT_EQ(value("conv.weight").row_bytes, 4 * 3 * 3 * 3);  // what makes one channel
  EXPECT_EQ(value("conv.bias").row_bytes, 4);
}

TEST(Program, separates_backward_when_asked) {
  Net net;
  add_perceptron(net);
  TrainingOptions options = plain;
  options.separate_backward = true;
  const Program program = make_program(net.finish(), options);
  const Lines expected = {
      "fc2 backward_input: gradient of fc2, fc2.weight -> gradient of relu",
      "fc2 backward_weight: gradient of fc2, relu -> gradient of fc2.weight",
      "relu backward_input: gradient of relu, relu -> gradient of fc1",
      "fc1 backward_weight: gradient of fc1, x -> gradient of fc1.weight, gradient of fc1.bias",
  };
  const Lines all = lines(program);
  EXPECT_EQ(Lines(all.begin() + 3, all.end()), expected);
}

// y = fc2(h) + h: the sum's backward is no step, h gets its gradient in one addition.
TEST(Program, adds_the_gradients_of_what_several_read) {
  Net net;
  const TensorId x = net.builder.input("x", {8, 4});
  const TensorId h = net.builder.add("fc1", Linear{.features = 4, .bias = false}, {x});
  const TensorId z = net.builder.add("fc2", Linear{.features = 4, .bias = false}, {h});
  net.builder.add("add", Elementwise{}, {z, h});
  const Program program = make_program(net.finish(), plain);
  const Lines expected = {
      "fc1 forward: x, fc1.weight -> fc1",
      "fc2 forward: fc1, fc2.weight -> fc2",
      "add forward: fc2, fc1 -> add",
      "fc2 backward: gradient of add, fc2.weight, fc1 -> gradient of fc1, gradient of fc2.weight",
      "sum for gradient of fc1: gradient of add, gradient of fc1 -> gradient of fc1",
      "fc1 backward: gradient of fc1, x -> gradient of fc1.weight",
  };
  EXPECT_EQ(lines(program), expected);
  EXPECT_EQ(program.steps[4].flop, 8 * 4);
  EXPECT_TRUE(program.steps[4].is_gradient_sum);
  EXPECT_EQ(program.steps[4].layer_class, LayerClass::pointwise);
}

TEST(Program, gives_memory_under_two_names_one_value) {
  Net net;
  const TensorId x = net.builder.input("x", {8, 2, 2});
  const TensorId h = net.builder.add("fc1", Linear{.features = 3, .bias = false}, {x});
  const TensorId flat = net.builder.add("flat", Flatten{}, {h});
  net.builder.add("fc2", Linear{.features = 5, .bias = false}, {flat});
  const Program program = make_program(net.finish(), plain);
  const Lines expected = {
      "fc1 forward: x, fc1.weight -> fc1",
      "fc2 forward: fc1, fc2.weight -> fc2",
      "fc2 backward: gradient of fc2, fc2.weight, fc1 -> gradient of fc1, gradient of fc2.weight",
      "fc1 backward: gradient of fc1, x -> gradient of fc1.weight",
  };
  EXPECT_EQ(lines(program), expected);
}

TEST(Program, adds_to_the_gradient_of_a_shared_weight) {
  Net net;
  const TensorId x = net.builder.input("x", {8, 4});
  const TensorId h = net.builder.add("fc1", Linear{.features = 4, .bias = false}, {x});
  const TensorId weight = net.builder.own_of(h);
  net.builder.add_node("fc2", Linear{.features = 4, .bias = false}, std::vector{h},
                       std::vector{weight});
  const Program program = make_program(net.finish(), plain);
  const Lines expected = {
      "fc2 backward: gradient of fc2, fc1.weight, fc1 -> gradient of fc1, gradient of fc1.weight",
      "fc1 backward: gradient of fc1, x, gradient of fc1.weight -> gradient of fc1.weight",
  };
  const Lines all = lines(program);
  EXPECT_EQ(Lines(all.begin() + 2, all.end()), expected);
}

// A parameter whose gradient is another value's under its name must not be added to in place.
TEST(Program, does_not_add_to_a_gradient_that_others_read) {
  Net net;
  const TensorId x = net.builder.input("x", {8, 4});
  const TensorId table = net.builder.stored("table", {8, 4});
  const TensorId h = net.builder.add("fc", Linear{.features = 4, .bias = false}, {x});
  const TensorId once = net.builder.add("once", Elementwise{}, {h, table});
  net.builder.add("twice", Elementwise{}, {once, table});
  const Program program = make_program(net.finish(), plain);
  EXPECT_EQ(problems_of(program), Lines{});
  const Lines expected = {
      "sum for gradient of table: gradient of twice -> gradient of table",  // both terms are one
      "fc backward: gradient of twice, x -> gradient of fc.weight",
  };
  const Lines all = lines(program);
  EXPECT_EQ(Lines(all.begin() + 3, all.end()), expected);
}

TEST(Program, looks_rows_up_beside_the_table) {
  Net net;
  const TensorId words = net.builder.input("words", {2, 3}, DType::int64);
  net.builder.add("table", Embedding{.vocabulary = 1000, .width = 4}, {words});
  const Program program =
      make_program(net.finish(), {.optimizer = Optimizer::sgd, .loss = Loss::none});
  ASSERT_EQ(program.steps.size(), 3U);
  std::vector<std::int64_t> bytes;
  for (StepId id = 0; id < 3; ++id) {
    for (const Use& use : program.uses_of(id)) bytes.push_back(program.values[use.value].bytes);
  }
  const std::vector<std::int64_t> expected = {
      2 * 3 * 8,     2 * 3 * 4 * 4, 2 * 3 * 4 * 4,  // words, rows, output
      2 * 3 * 4 * 4, 2 * 3 * 8,     4000 * 4,  // gradient, words, the dense gradient of the table
      4000 * 4,      4000 * 4,                 // table and gradient in the update
  };
  EXPECT_EQ(bytes, expected);
}

TEST(Program, moves_running_statistics_on_once) {
  Net net;
  const TensorId x = net.builder.input("x", {2, 3, 4, 4});
  const TensorId y = net.builder.add("conv", Convolution{.channels = 4, .kernel = {1, 1}}, {x});
  net.builder.add("norm", BatchNorm{}, {y});
  const Program program = make_program(net.finish(), plain);
  std::size_t moved = 0;
  for (const Use& use : program.uses) {
    const Value& value = program.values[use.value];
    if (value.kind != ValueKind::state) continue;
    EXPECT_TRUE(use.reads && use.writes && value.is_given && value.is_result);
    ++moved;
  }
  EXPECT_EQ(moved, 2U);
}

TEST(Program, max_pooling_keeps_indices_or_input_and_output) {
  for (const bool keeps_input : {false, true}) {
    Net net;
    const TensorId x = net.builder.input("x", {2, 3, 4, 4});
    const TensorId y = net.builder.add("conv", Convolution{.channels = 4, .kernel = {1, 1}}, {x});
    net.builder.add("pool", Pool{.kernel = {2, 2}, .stride = {2, 2}}, {y});
    TrainingOptions options = plain;
    options.pool_keeps_input = keeps_input;
    const Program program = make_program(net.finish(), options);
    const Lines all = lines(program);
    EXPECT_EQ(all[1], keeps_input ? "pool forward: conv -> pool"
                                  : "pool forward: conv -> pool, saved of pool");
    EXPECT_EQ(all[2], keeps_input
                          ? "pool backward: gradient of pool, conv, pool -> gradient of conv"
                          : "pool backward: gradient of pool, saved of pool -> gradient of conv");
  }
}

TEST(Program, loss_is_a_step_each_way) {
  Net net;
  add_perceptron(net);
  const Program program = make_program(net.finish(), {.optimizer = Optimizer::none});
  const Lines all = lines(program);
  EXPECT_EQ(all[3], "loss forward: fc2, targets of fc2 -> fc2[1], saved of fc2");
  EXPECT_EQ(all[4], "loss backward: targets of fc2, saved of fc2 -> gradient of fc2");
  EXPECT_EQ(program.steps[3].flop, 5 * 16 + 3 * 8 + 1);
  EXPECT_EQ(program.steps[4].flop, 16 + 8 + 1);
  const Value& loss = program.values[program.uses_of(3)[2].value];
  EXPECT_EQ(loss.bytes, 4);
  EXPECT_TRUE(loss.is_result);
}

TEST(Program, squared_error_reads_the_output_again) {
  Net net;
  add_perceptron(net);
  const Program program =
      make_program(net.finish(), {.optimizer = Optimizer::none, .loss = Loss::squared_error});
  EXPECT_EQ(line(program, 3), "loss forward: fc2, targets of fc2 -> fc2[1]");
  EXPECT_EQ(line(program, 4), "loss backward: targets of fc2, fc2 -> gradient of fc2");
  EXPECT_EQ(program.steps[3].flop, 3 * 16 + 1);
  EXPECT_EQ(program.steps[4].flop, 2 * 16 + 2);
}

TEST(Program, a_network_with_a_loss_gets_no_other) {
  Net net;
  const TensorId logits = add_perceptron(net);
  const TensorId targets = net.builder.input("targets", {8}, DType::int64);
  net.builder.add("loss", SoftmaxCrossEntropy{}, {logits, targets});
  const Program program = make_program(net.finish(), {.optimizer = Optimizer::none});
  EXPECT_EQ(program.steps.size(), 8U);
  for (const Step& step : program.steps) EXPECT_NE(step.node, no_node);
  EXPECT_TRUE(program.values[program.uses_of(3)[2].value].is_result);  // the loss, a scalar
}

TEST(Program, several_outputs_get_their_gradients_from_outside) {
  Net net;
  const TensorId h = add_perceptron(net);
  const TensorId left = net.builder.add("left", Unary{UnaryKind::tanh}, {h});
  const TensorId right = net.builder.add("right", Unary{UnaryKind::sigmoid}, {h});
  net.builder.output(left);
  net.builder.output(right);
  const Program program = make_program(net.finish(), {});
  std::size_t given = 0;
  for (const Value& value : program.values)
    given += value.kind == ValueKind::gradient && value.is_given;
  EXPECT_EQ(given, 2U);
  for (const Step& step : program.steps) EXPECT_NE(step.node, no_node);
}

TEST(Program, updates_come_last_with_their_states) {
  for (const auto& [optimizer, states] :
       {std::pair{Optimizer::sgd, 0U}, {Optimizer::momentum, 1U}, {Optimizer::adam, 2U}}) {
    Net net;
    add_perceptron(net);
    const Program program = make_program(net.finish(), {.optimizer = optimizer});
    const std::size_t updates = program.steps.size() - 8;
    ASSERT_EQ(updates, 3U);
    for (StepId id = 8; id < program.steps.size(); ++id) {
      EXPECT_EQ(program.steps[id].pass, Pass::update);
      const auto uses = program.uses_of(id);
      ASSERT_EQ(uses.size(), 2 + states);
      EXPECT_TRUE(uses[0].reads && uses[0].writes);
      EXPECT_TRUE(program.values[uses[0].value].is_result);
      EXPECT_EQ(program.values[uses[1].value].kind, ValueKind::weight_gradient);
      EXPECT_FALSE(program.values[uses[1].value].is_result);
      for (std::size_t i = 2; i < uses.size(); ++i)
        EXPECT_EQ(program.values[uses[i].value].kind, ValueKind::state);
    }
  }
}

TEST(Program, master_weights_are_what_learns) {
  Net net;
  add_perceptron(net);
  const BoundGraph& bound = net.finish(DType::bf16);
  const Program program =
      make_program(bound, {.optimizer = Optimizer::momentum, .master_weights = true});
  const auto uses = program.uses_of(8);  // of fc1.weight: 24 numbers
  ASSERT_EQ(uses.size(), 4U);
  std::vector<std::int64_t> bytes;
  for (const Use& use : uses) bytes.push_back(program.values[use.value].bytes);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{48, 48, 96, 96}));  // dW, W; master, momentum
  for (const Use& use : uses) {
    const ValueKind kind = program.values[use.value].kind;
    EXPECT_EQ(use.reads, kind != ValueKind::weight);
    EXPECT_EQ(use.writes, kind != ValueKind::weight_gradient);
  }
  const Program same =
      make_program(net.bound, {.optimizer = Optimizer::momentum, .master_weights = false});
  EXPECT_EQ(same.uses_of(8).size(), 3U);
}

TEST(Program, micro_batches_share_weights_and_add_gradients) {
  Net net;
  add_perceptron(net);
  const BoundGraph& bound = net.finish();
  const Program once = make_program(bound, {});
  const Program program = make_program(bound, {.micro_batches = 3});
  EXPECT_EQ(program.samples, 24);
  EXPECT_EQ(program.steps.size(), 3 * 8 + 3U);
  EXPECT_EQ(once.steps.size(), 8 + 3U);
  EXPECT_EQ(problems_of(program), Lines{});
  std::size_t weights = 0, gradients = 0, features = 0, adds = 0;
  for (const Value& value : program.values) {
    weights += value.kind == ValueKind::weight;
    gradients += value.kind == ValueKind::weight_gradient;
    features += value.kind == ValueKind::feature;
  }
  for (const Use& use : program.uses)
    adds += use.reads && use.writes && program.values[use.value].kind == ValueKind::weight_gradient;
  EXPECT_EQ(weights, 3U);
  EXPECT_EQ(gradients, 3U);
  EXPECT_EQ(features, 3 * 4U);  // and the loss
  EXPECT_EQ(adds, 2 * 3U);
  EXPECT_THROW(make_program(bound, {.micro_batches = 0}), Error);
}

}  // namespace
}  // namespace strata
