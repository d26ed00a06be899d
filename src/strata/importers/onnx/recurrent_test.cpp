// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

namespace strata::onnx::test {
namespace {

constexpr std::int64_t hidden = 6, features = 4;

void store_weights(WrittenModel& model, const std::string& prefix, std::int64_t gates,
                   std::int64_t directions, std::int64_t inputs) {
  model.store(weight(prefix + "W", {directions, gates * hidden, inputs}))
      .store(weight(prefix + "R", {directions, gates * hidden, hidden}))
      .store(weight(prefix + "B", {directions, 2 * gates * hidden}));
}

TEST(OnnxRecurrent, time_first_becomes_batch_first) {
  WrittenModel model;
  model.input("x", {7, 3, features});
  store_weights(model, "", 4, 1, features);
  model.node({"LSTM", {"x", "W", "R", "B"}, {"y", "h", "c"}, {{"hidden_size", hidden}}, "lstm"})
      .output("h");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "lstm");
  EXPECT_EQ(shape_text(graph, graph.inputs[0]), "batch×7×4");
  EXPECT_EQ(output_shape(graph), "1×batch×6");
  EXPECT_EQ(graph.symbols.parameters()[0].default_value, 3);
  EXPECT_EQ(parameters_of(graph), 4 * hidden * (features + hidden + 2));
}

// As PyTorch exports nn.LSTM(batch_first=True): transposed on the way in and on the way out.
TEST(OnnxRecurrent, transposes_around_it_vanish) {
  WrittenModel model;
  model.input("x", {"N", 7, features}).store(integers("axes", {1}));
  store_weights(model, "", 4, 1, features);
  model.node({"Transpose", {"x"}, {"t"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"LSTM", {"t", "W", "R", "B"}, {"y"}, {{"hidden_size", hidden}}, "lstm"})
      .node({"Squeeze", {"y", "axes"}, {"s"}})
      .node({"Transpose", {"s"}, {"u"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"Relu", {"u"}, {"z"}})
      .output("z");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "lstm relu");
  EXPECT_EQ(output_shape(graph), "batch×7×6");
}

TEST(OnnxRecurrent, so_do_those_between_two) {
  WrittenModel model;
  model.input("x", {"N", 7, features}).store(integers("target", {0, 0, -1}));
  store_weights(model, "a", 4, 2, features);
  store_weights(model, "b", 4, 2, 2 * hidden);
  const Attribute both = {"direction", "bidirectional"};
  model.node({"Transpose", {"x"}, {"t"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"LSTM", {"t", "aW", "aR", "aB"}, {"y"}, {{"hidden_size", hidden}, both}, "first"})
      .node({"Transpose", {"y"}, {"y1"}, {{"perm", Integers{0, 2, 1, 3}}}})
      .node({"Reshape", {"y1", "target"}, {"y2"}})
      .node({"LSTM", {"y2", "bW", "bR", "bB"}, {"z"}, {{"hidden_size", hidden}, both}, "second"})
      .node({"Transpose", {"z"}, {"z1"}, {{"perm", Integers{2, 0, 1, 3}}}})
      .node({"Reshape", {"z1", "target"}, {"z2"}})
      .output("z2");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "lstm lstm");
  EXPECT_EQ(output_shape(graph), "batch×7×12");
  EXPECT_EQ(parameters_of(graph),
            2 * 4 * hidden * (features + hidden + 2) + 2 * 4 * hidden * (2 * hidden + hidden + 2));
}

TEST(OnnxRecurrent, gru_and_rnn) {
  WrittenModel gru;
  gru.input("x", {7, 3, features});
  store_weights(gru, "", 3, 1, features);
  gru.node({"GRU", {"x", "W", "R", "B"}, {"", "h"}, {{"hidden_size", hidden}}}).output("h");
  EXPECT_EQ(operators_of(gru.read()), "gru");

  WrittenModel rnn;
  rnn.input("x", {7, 3, features});
  store_weights(rnn, "", 1, 1, features);
  rnn.node({"RNN", {"x", "W", "R", "B"}, {"", "h"}, {{"hidden_size", hidden}}}).output("h");
  EXPECT_EQ(rnn.read().nodes[0].op,
            Operator(Recurrent{.cell = CellKind::rnn_tanh, .hidden = hidden}));
}

TEST(OnnxRecurrent, without_a_bias_it_has_none) {
  WrittenModel model;
  model.input("x", {7, 3, features})
      .store(weight("W", {1, 4 * hidden, features}))
      .store(weight("R", {1, 4 * hidden, hidden}))
      .node({"LSTM", {"x", "W", "R"}, {"", "h"}})
      .output("h");
  EXPECT_EQ(parameters_of(model.read()), 4 * hidden * (features + hidden));
}

TEST(OnnxRecurrent, batch_first_layout) {
  WrittenModel model;
  model.input("x", {3, 7, features});
  store_weights(model, "", 4, 1, features);
  model.node({"LSTM", {"x", "W", "R", "B"}, {"y"}, {{"layout", std::int64_t{1}}}, "lstm"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(output_shape(graph), "batch×7×1×6");
  EXPECT_EQ(count_of(graph, "transpose"), 0);
}

TEST(OnnxRecurrent, stored_states_are_no_inputs_and_others_are) {
  WrittenModel model;
  model.input("x", {7, 3, features})
      .input("h0", {1, 3, hidden})
      .store(weight("c0", {1, 3, hidden}));
  store_weights(model, "", 4, 1, features);
  model.node({"LSTM", {"x", "W", "R", "B", "", "h0", "c0"}, {"", "h"}, {}, "lstm"}).output("h");
  const Graph graph = model.read();
  EXPECT_EQ(node_named(graph, "lstm").first_own, 2U);
}

TEST(OnnxRecurrent, peepholes_are_said_to_be_left_out) {
  WrittenModel model;
  model.input("x", {7, 3, features}).store(weight("P", {1, 3 * hidden}));
  store_weights(model, "", 4, 1, features);
  model.node({"LSTM", {"x", "W", "R", "B", "", "", "", "P"}, {"", "h"}, {}, "lstm"}).output("h");
  EXPECT_EQ(warnings_of(model.read()),
            "part-ignored: node 'lstm' (LSTM): its peephole connections are not counted\n");
}

TEST(OnnxRecurrent, weights_that_do_not_fit_are_refused) {
  WrittenModel model;
  model.input("x", {7, 3, features})
      .store(weight("W", {1, 4 * hidden + 1, features}))
      .store(weight("R", {1, 4 * hidden, hidden}))
      .node({"LSTM", {"x", "W", "R"}, {"", "h"}, {}, "lstm"})
      .output("h");
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'lstm' (LSTM): input 1 is 1×25×4, expected 1×24×4");
}

}  // namespace
}  // namespace strata::onnx::test
