// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

#include <cmath>

// Which stored tensors are parameters.
namespace strata::onnx::test {
namespace {

// y = op(x, stored), behind a layer so that there is something to learn.
std::int64_t parameters_with(const std::string& op, const TensorText& stored,
                             const std::string& signature = {}) {
  WrittenModel model;
  model.input("x", {4, 6, 8})
      .store(weight("fc.weight", {8, 8}))
      .store(stored)
      .node({"MatMul", {"x", "fc.weight"}, {"h"}})
      .node({op, {"h", stored.name}, {"y"}})
      .output("y");
  if (!signature.empty()) model.signature(signature);
  return parameters_of(model.read()) - 8 * 8;
}

TEST(OnnxConstants, position_embeddings_and_factors_per_channel_are_learnt) {
  EXPECT_EQ(parameters_with("Add", weight("pos_embedding", {1, 6, 8})), 48);
  EXPECT_EQ(parameters_with("Mul", weight("gamma", {8})), 8);
  EXPECT_EQ(parameters_with("Mul", weight("gamma", {6, 1})), 6);
}

TEST(OnnxConstants, a_table_of_factors_is_not_learnt_unless_its_name_says_so) {
  EXPECT_EQ(parameters_with("Mul", weight("val_12", {6, 8})), 0) << "cosines of rotary positions";
  EXPECT_EQ(parameters_with("Mul", weight("filter.weight", {6, 8})), 48);
}

TEST(OnnxConstants, the_exporters_signature_decides) {
  const std::string text =
      "# inputs\n"
      "p_scale: PARAMETER target='scale'\n"
      "b_table: BUFFER target='table' persistent=False\n"
      "c_lifted: CONSTANT_TENSOR target='lifted'\n"
      "x: USER_INPUT\n";
  EXPECT_EQ(parameters_with("Mul", weight("scale", {6, 8}), text), 48);
  EXPECT_EQ(parameters_with("Add", weight("table", {6, 8}), text), 0);
  EXPECT_EQ(parameters_with("Add", weight("lifted", {6, 8}), text), 0);
  EXPECT_EQ(parameters_with("Add", weight("other", {6, 8}), text), 48) << "nothing is said of it";
}

TEST(OnnxConstants, a_table_of_two_numbers_is_a_mask) {
  Reals mask(48, 0.0F);
  mask[40] = mask[47] = -100.0F;
  EXPECT_EQ(parameters_with("Add", table("attn_mask", {6, 8}, mask)), 0);
  mask[3] = 0.5F;
  EXPECT_EQ(parameters_with("Add", table("attn_mask", {6, 8}, mask)), 48);
  EXPECT_EQ(parameters_with("Add", table("zeros", {6, 8}, Reals(48, 0.0F))), 48)
      << "a fresh parameter";
}

TEST(OnnxConstants, sines_and_cosines_of_positions_are_not_learnt) {
  Reals positions;
  for (int row = 0; row < 6; ++row) {
    for (int column = 0; column < 8; ++column) {
      const float angle = static_cast<float>(row) / static_cast<float>(1 + column / 2);
      positions.push_back(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  EXPECT_EQ(parameters_with("Add", table("pe", {1, 6, 8}, positions)), 0);
  positions[0] = 0.25F;
  EXPECT_EQ(parameters_with("Add", table("pe", {1, 6, 8}, positions)), 48);
}

// Llama's angles: cosines and sines of a stored table meet the queries.
TEST(OnnxConstants, angles_have_no_gradient) {
  WrittenModel model;
  model.input("x", {4, 6, 8})
      .store(weight("fc.weight", {8, 8}))
      .store(weight("concat", {1, 6, 4}))
      .store(integers("halves", {1, 6, 4}))
      .node({"MatMul", {"x", "fc.weight"}, {"h"}})
      .node({"Concat", {"concat", "concat"}, {"angles"}, {{"axis", std::int64_t{2}}}})
      .node({"Cos", {"angles"}, {"cos"}})
      .node({"Sin", {"angles"}, {"sin"}})
      .node({"Mul", {"h", "cos"}, {"a"}})
      .node({"Mul", {"h", "sin"}, {"b"}})
      .node({"Add", {"a", "b"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(parameters_of(graph), 8 * 8);
  EXPECT_EQ(operators_of(graph), "linear multiply multiply add") << "made of constants: stored";
}

TEST(OnnxConstants, constants_of_pytorch_are_written_at_nodes) {
  const auto parameters = [](const std::string& producer) {
    WrittenModel model;
    model.producer(producer)
        .input("x", {4, 6, 8})
        .store(weight("fc.weight", {8, 8}))
        .node({"MatMul", {"x", "fc.weight"}, {"h"}})
        .node({"Constant", {}, {"c"}, {{"value", weight("", {6, 8})}}})
        .node({"Add", {"h", "c"}, {"y"}})
        .output("y");
    return parameters_of(model.read());
  };
  EXPECT_EQ(parameters("pytorch"), 64);
  EXPECT_EQ(parameters("CNTK"), 64 + 48) << "keeps parameters there";
}

TEST(OnnxConstants, what_a_scatter_writes_into_is_a_canvas) {
  WrittenModel model;
  model.input("x", {4, 6, 8})
      .store(weight("fc.weight", {8, 8}))
      .store(weight("val_3", {6, 8}))
      .store({"places", int64, {1, 1}, {2}, {}, false})
      .store(weight("val_4", {1, 8}))
      .node({"MatMul", {"x", "fc.weight"}, {"h"}})
      .node({"ScatterND", {"val_3", "places", "val_4"}, {"mask"}})
      .node({"Add", {"h", "mask"}, {"y"}})
      .output("y");
  EXPECT_EQ(parameters_of(model.read()), 64);
}

TEST(OnnxConstants, a_class_token_of_zeros_that_is_repeated_stays_learnt) {
  WrittenModel model;
  model.input("x", {2, 6, 8})
      .store(weight("fc.weight", {8, 8}))
      .store(table("class_token", {1, 1, 8}, Reals(8, 0.0F)))
      .store(integers("shape", {2, 1, 8}))
      .node({"MatMul", {"x", "fc.weight"}, {"h"}})
      .node({"Expand", {"class_token", "shape"}, {"tokens"}})
      .node({"Concat", {"tokens", "h"}, {"y"}, {{"axis", std::int64_t{1}}}})
      .output("y");
  EXPECT_EQ(parameters_of(model.read()), 64 + 8);
}

// Scores of 2 heads over n places, with a stored bias.
WrittenModel scores_with(const TensorText& bias, std::int64_t n) {
  WrittenModel model;
  model.input("q", {4, 2, n, 8})
      .input("k", {4, 2, 8, n})
      .input("v", {4, 2, n, 8})
      .store(bias)
      .node({"MatMul", {"q", "k"}, {"s"}})
      .node({"Add", {"s", bias.name}, {"t"}})
      .node({"Softmax", {"t"}, {"p"}, {{"axis", std::int64_t{-1}}}})
      .node({"MatMul", {"p", "v"}, {"y"}})
      .output("y");
  return model;
}

TEST(OnnxConstants, what_is_added_to_all_heads_is_a_mask) {
  EXPECT_EQ(parameters_of(scores_with(weight("val_5", {1, 1, 6, 6}), 6).read()), 0);
  EXPECT_EQ(parameters_of(scores_with(weight("val_5", {1, 2, 6, 6}), 6).read()), 2 * 36);
}

TEST(OnnxConstants, an_expanded_position_bias_becomes_its_table_again) {
  Reals numbers;  // relative positions on a line of 5: 9 of them, for 2 heads
  for (int head = 0; head < 2; ++head) {
    for (int row = 0; row < 5; ++row) {
      for (int column = 0; column < 5; ++column) {
        numbers.push_back(static_cast<float>(100 * head + row - column) / 7);
      }
    }
  }
  const Graph graph = scores_with(table("onnx::Add_7", {1, 2, 5, 5}, numbers), 5).read();
  EXPECT_EQ(parameters_of(graph), 9 * 2);
  EXPECT_EQ(count_of(graph, "embedding"), 1);
  EXPECT_EQ(warnings_of(graph),
            "value-assumed: the export stores 1 position bias expanded to all pairs of places; the "
            "learnt table behind it is put back\n");
}

TEST(OnnxConstants, a_position_bias_whose_numbers_are_elsewhere_is_taken_for_a_windows) {
  const Graph graph = scores_with(weight("val_5", {1, 2, 49, 49}), 49).read();
  EXPECT_EQ(parameters_of(graph), 13 * 13 * 2);
  EXPECT_TRUE(warns(graph, WarningCode::value_assumed));
  const Graph own = scores_with(weight("attention.bias", {1, 2, 49, 49}), 49).read();
  EXPECT_EQ(parameters_of(own), 49 * 49 * 2) << "stored as the network has it";
}

TEST(OnnxConstants, an_output_layer_with_the_numbers_of_the_embedding_is_tied_to_it) {
  const auto parameters = [](float last) {
    Reals rows, columns;
    for (int i = 0; i < 12; ++i) rows.push_back(static_cast<float>(i));
    for (int column = 0; column < 4; ++column) {
      for (int row = 0; row < 3; ++row) columns.push_back(static_cast<float>(row * 4 + column));
    }
    columns.back() = last;
    WrittenModel model;
    model.input("ids", {2, 5}, int64)
        .store(table("shared.weight", {3, 4}, rows))
        .store(table("onnx::MatMul_9", {4, 3}, columns))
        .node({"Gather", {"shared.weight", "ids"}, {"h"}})
        .node({"MatMul", {"h", "onnx::MatMul_9"}, {"y"}})
        .output("y");
    return parameters_of(model.read());
  };
  EXPECT_EQ(parameters(11), 12);
  EXPECT_EQ(parameters(12), 24);
}

}  // namespace
}  // namespace strata::onnx::test
