// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/naive_check_test.hpp"
#include "strata/training/program.hpp"
#include "strata/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace strata {
namespace {

using naive::Random;
using naive::Role;
using naive::Source;

struct Work {
  std::int64_t flop = 0, mac = 0;
  friend bool operator==(const Work&, const Work&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Work& work) {
    return out << work.flop << " FLOP, " << work.mac << " multiply-adds";
  }
  void add(std::int64_t more_flop, std::int64_t more_mac) { flop += more_flop, mac += more_mac; }
};

std::map<Pass, Work> work_of(const Program& program, NodeId node) {
  std::map<Pass, Work> work;
  for (const Step& step : program.steps) {
    if (step.node == node && !step.is_gradient_sum) work[step.pass].add(step.flop, step.mac);
  }
  return work;
}

Recurrent any_layer(Random& random) {
  Recurrent op;
  op.cell = random.pick(
      {CellKind::lstm, CellKind::lstm, CellKind::gru, CellKind::rnn_tanh, CellKind::rnn_relu});
  op.hidden = random.between(1, 5);
  op.layers = random.between(1, 3);
  op.bidirectional = random.coin();
  op.projection = op.cell == CellKind::lstm && op.hidden > 1 && random.rarely(3)
                      ? random.between(1, op.hidden - 1)
                      : 0;
  op.biases = random.between(0, 2);
  op.fused_gates = random.coin();
  return op;
}

std::vector<Source> any_sources(Random& random, const Recurrent& op) {
  const std::int64_t batch = random.between(1, 3);
  const std::int64_t cells = op.layers * (op.bidirectional ? 2 : 1);
  std::vector<Source> sources{
      {{batch, random.between(1, 5), random.between(1, 4)}, naive::any_role(random)}};
  if (random.coin()) return sources;
  const std::int64_t width = op.projection > 0 ? op.projection : op.hidden;
  sources.push_back({{cells, batch, width}, naive::any_role(random)});
  if (op.cell == CellKind::lstm)
    sources.push_back({{cells, batch, op.hidden}, naive::any_role(random)});
  return sources;
}

// The cost of the node is counted by naive loops in cost/; here its steps must come to the same.
TEST(Recurrent, steps_do_exactly_the_work_of_the_layer) {
  naive::for_random_cases(400, [](Random& random) {
    const Recurrent op = any_layer(random);
    naive::Options options;
    options.used_outputs = {random.coin(), random.coin(), random.coin()};
    options.used_outputs.resize(op.cell == CellKind::lstm ? 3 : 2);
    if (!options.used_outputs[0] && !options.used_outputs[1]) options.used_outputs[0] = true;
    options.dtype = naive::any_dtype(random);
    const naive::Subject subject(op, any_sources(random, op), options);

    TrainingOptions training;
    training.separate_backward = random.coin();
    const Program program = make_program(subject.bound, training);
    EXPECT_EQ(problems_of(program), std::vector<std::string>{});
    const NodeCost cost = cost_of(subject.bound, subject.node);
    std::map<Pass, Work> expected;
    expected[Pass::forward].add(cost.forward.flop, cost.forward.mac);
    const PassCost &input = cost.backward_input, &weight = cost.backward_weight;
    const bool is_apart = training.separate_backward;
    if (input.exists())
      expected[is_apart ? Pass::backward_input : Pass::backward].add(input.flop, input.mac);
    if (weight.exists())
      expected[is_apart ? Pass::backward_weight : Pass::backward].add(weight.flop, weight.mac);
    std::map<Pass, Work> work = work_of(program, subject.node);
    work.erase(Pass::update);
    EXPECT_EQ(work, expected);
  });
}

TEST(Recurrent, every_time_step_reads_the_same_weights_and_adds_to_their_gradients) {
  const Graph graph = build_network("lstm");
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}, {"seq", 7}});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  std::map<ValueId, int> reads, adds, writes;
  for (const Use& use : program.uses) {
    const ValueKind kind = program.values[use.value].kind;
    if (kind == ValueKind::weight) reads[use.value] += use.reads;
    if (kind == ValueKind::weight_gradient) ++(use.reads ? adds[use.value] : writes[use.value]);
  }
  EXPECT_EQ(reads.size(), 4U);  // W_ih, W_hh and two biases
  for (const auto& [value, count] : reads) {
    const bool is_matrix = program.values[value].bytes > 4 * 64;
    const bool meets_input = program.values[value].bytes == 4 * 64 * 32;
    // Forward reads all of them; backward the matrices, and W_ih only where dX is wanted.
    EXPECT_EQ(count, is_matrix && !meets_input ? 14 : 7);
  }
  EXPECT_EQ(adds.size(), 4U);
  for (const auto& [value, count] : adds) EXPECT_EQ(count, 6);
  for (const auto& [value, count] : writes) EXPECT_EQ(count, 1);
}

std::vector<std::string> order_of_products(const std::string& network) {
  const Graph graph = build_network(network);
  const BoundGraph bound = bind_graph(graph, {{"batch", 2}, {"seq", 2}});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  std::vector<std::string> names;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    if (program.steps[id].layer_class == LayerClass::dense) names.push_back(name_of(program, id));
  }
  return names;
}

TEST(Recurrent, layer_major_ends_a_layer_before_the_next) {
  const std::vector<std::string> expected = {
      "lstm.0 forward t=1 gates",  "lstm.0 forward t=2 gates",  "lstm.1 forward t=1 gates",
      "lstm.1 forward t=2 gates",  "lstm.1 backward t=2 gates", "lstm.1 backward t=1 gates",
      "lstm.0 backward t=2 gates", "lstm.0 backward t=1 gates"};
  EXPECT_EQ(order_of_products("lstm_stack:layers=2,hidden=4,features=4"), expected);
}

TEST(Recurrent, time_major_ends_a_time_step_before_the_next) {
  const std::vector<std::string> expected = {
      "lstm.0 forward t=1 gates",  "lstm.1 forward t=1 gates",  "lstm.0 forward t=2 gates",
      "lstm.1 forward t=2 gates",  "lstm.1 backward t=2 gates", "lstm.0 backward t=2 gates",
      "lstm.1 backward t=1 gates", "lstm.0 backward t=1 gates"};
  EXPECT_EQ(order_of_products("lstm_stack:layers=2,hidden=4,features=4,order=time"), expected);
}

// The keys of the attention wait for the whole encoder; the decoder's first layer, which could run
// at once, runs with the rest of the decoder.
TEST(Recurrent, time_major_waits_for_what_needs_the_whole_sequence) {
  const std::vector<std::string> names =
      order_of_products("gnmt_thesis:layers=3,hidden=4,directions=2");
  const auto place = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  const std::string first = "encoder.rnn_layers.0.lstm forward",
                    second = "encoder.rnn_layers.1.lstm forward",
                    third = "encoder.rnn_layers.2.lstm forward";
  EXPECT_LT(place(first + " t=2 gates"), place(second + " t=1 gates"));  // both directions first
  EXPECT_LT(place(second + " t=1 gates"), place(third + " t=1 gates"));
  EXPECT_LT(place(third + " t=1 gates"), place(second + " t=2 gates"));
  const auto decoder = place("decoder.att_rnn.rnn forward t=1 gates");
  EXPECT_LT(place(third + " t=2 gates"), decoder);
  EXPECT_LT(decoder, place("decoder.att_rnn.attn.score forward t=1"));
  EXPECT_LT(place("decoder.rnn_layers.1.lstm forward t=1 gates"),
            place("decoder.att_rnn.rnn forward t=2 gates"));
  EXPECT_LT(place("decoder.rnn_layers.1.lstm forward t=2 gates"),
            static_cast<std::ptrdiff_t>(names.size()));
}

// The published size: "about 30,000 steps".
TEST(Recurrent, gnmt_of_8_and_8_layers_has_about_30000_steps) {
  const Graph graph = build_network("gnmt_thesis:layers=8");
  const BoundGraph bound = bind_graph(graph, {});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  EXPECT_GT(program.steps.size(), 25000U);
  EXPECT_LT(program.steps.size(), 33000U);
}

// One gate's weights for [x, context, h] and their gradient are 24 MB; beside them a row of each
// feature.
TEST(Recurrent, gnmt_of_the_thesis_needs_a_little_more_than_24_mb) {
  const Graph graph = build_network("gnmt_thesis");
  const BoundGraph bound = bind_graph(graph, {});
  const Program program = make_program(bound, {.optimizer = Optimizer::none, .loss = Loss::none});
  std::int64_t most = 0;
  for (StepId id = 0; id < program.steps.size(); ++id) {
    std::int64_t least = 0;
    for (const Use& use : program.uses_of(id)) {
      const Value& value = program.values[use.value];
      const bool is_weight =
          value.kind == ValueKind::weight || value.kind == ValueKind::weight_gradient;
      least += is_weight && program.steps[id].layer_class == LayerClass::dense ? value.bytes
                                                                               : value.row_bytes;
    }
    most = std::max(most, least);
  }
  const std::int64_t weights = std::int64_t{4} * 1024 * (2 * (2048 + 1024) + 1);  // W, dW and db
  EXPECT_EQ(most, weights + 4 * (2 * 2048 + 3 * 1024));  // rows of x, dx, h, dh and the gate
}

TEST(Recurrent, can_stay_one_step_per_layer) {
  const Graph graph = build_network("gnmt");
  const BoundGraph bound = bind_graph(graph, {{"seq", 3}});
  const Program program = make_program(bound, {.unroll_recurrent = false});
  EXPECT_EQ(problems_of(program), std::vector<std::string>{});
  for (const Step& step : program.steps) EXPECT_EQ(step.time, 0U);
}

}  // namespace
}  // namespace strata
