// SPDX-License-Identifier: Apache-2.0
#include "strata/cost/cost.hpp"
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace strata::onnx::test {
namespace {

constexpr std::int64_t heads = 2, head_width = 4, width = heads * head_width;

std::int64_t multiply_adds(const Graph& graph) {
  std::int64_t total = 0;
  for (const NodeCost& cost : costs_of(bind_graph(graph, {}))) total += cost.forward.mac;
  return total;
}

/// Self-attention of [N, S, width] as BERT exports have it; tests add what stands between.
class AttentionModel {
 public:
  explicit AttentionModel(std::int64_t batch = 2) {
    model_.input("x", {batch, 5, width})
        .store(integers("split", {batch, 5, heads, head_width}))
        .store(integers("join", {batch, 5, width}))
        .store(scalar("scale", 0.5F));
    for (const std::string name : {"q", "k", "v"}) {
      model_.store(weight("w" + name, {width, width}))
          .node({"MatMul", {"x", "w" + name}, {name}})
          .node({"Reshape", {name, "split"}, {name + "_split"}});
    }
    model_.node({"Transpose", {"q_split"}, {"q_heads"}, {{"perm", Integers{0, 2, 1, 3}}}})
        .node({"Transpose", {"k_split"}, {"k_heads"}, {{"perm", Integers{0, 2, 3, 1}}}})
        .node({"Transpose", {"v_split"}, {"v_heads"}, {{"perm", Integers{0, 2, 1, 3}}}});
  }

  /// From "scores" to "masked" is the test's.
  WrittenModel& model() { return model_; }

  void start() { model_.node({"MatMul", {"q_heads", "k_heads"}, {"scores"}}); }

  Graph finish(const ImportOptions& options = {}) {
    model_.node({"Softmax", {"masked"}, {"p"}, {{"axis", std::int64_t{-1}}}})
        .node({"MatMul", {"p", "v_heads"}, {"context"}})
        .node({"Transpose", {"context"}, {"c"}, {{"perm", Integers{0, 2, 1, 3}}}})
        .node({"Reshape", {"c", "join"}, {"y"}})
        .output("y");
    return model_.read(options);
  }

 private:
  WrittenModel model_;
};

TEST(OnnxAttention, is_recognised_with_its_transposes) {
  AttentionModel attention;
  attention.start();
  attention.model().node({"Mul", {"scores", "scale"}, {"masked"}});
  const Graph graph = attention.finish();
  EXPECT_EQ(operators_of(graph), "linear linear linear attention");
  EXPECT_EQ(graph.nodes.back().op, Operator(Attention{heads, 0, false, true}));
  EXPECT_EQ(output_shape(graph), "batch×5×8");
}

TEST(OnnxAttention, kept_apart_it_multiplies_as_much) {
  AttentionModel one;
  one.start();
  one.model().node({"Mul", {"scores", "scale"}, {"masked"}});
  AttentionModel two;
  two.start();
  two.model().node({"Mul", {"scores", "scale"}, {"masked"}});
  const Graph fused = one.finish();
  const Graph apart = two.finish({.fuse = false});
  EXPECT_EQ(count_of(apart, "matmul"), 2);
  EXPECT_EQ(count_of(apart, "softmax"), 1);
  EXPECT_EQ(count_of(apart, "attention"), 0);
  EXPECT_EQ(multiply_adds(fused), multiply_adds(apart));
}

TEST(OnnxAttention, a_mask_is_its_fourth_input) {
  AttentionModel attention;
  attention.start();
  attention.model()
      .input("mask", {2, 1, 1, 5})
      .node({"Div", {"scores", "scale"}, {"scaled"}})
      .node({"Add", {"scaled", "mask"}, {"masked"}});
  const Graph graph = attention.finish();
  ASSERT_EQ(count_of(graph, "attention"), 1);
  EXPECT_EQ(graph.nodes.back().inputs.size(), 4U);
}

TEST(OnnxAttention, a_selected_mask_is_one_too) {
  AttentionModel attention;
  attention.start();
  attention.model()
      .input("mask", {2, 1, 1, 5}, boolean)
      .store(scalar("minus_infinity", -3.4e38F))
      .node({"Where", {"mask", "scores", "minus_infinity"}, {"masked"}});
  const Graph graph = attention.finish();
  ASSERT_EQ(count_of(graph, "attention"), 1);
  EXPECT_EQ(graph.nodes.back().inputs.size(), 4U);
}

TEST(OnnxAttention, a_triangular_table_makes_it_causal) {
  AttentionModel attention;
  attention.start();
  TensorText table{"table", fp32, {1, 1, 5, 5}};
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 5; ++column) {
      table.reals.push_back(column <= row ? 0.0F : -1e9F);
    }
  }
  attention.model().store(table).node({"Add", {"scores", "table"}, {"masked"}});
  const Graph graph = attention.finish();
  ASSERT_EQ(count_of(graph, "attention"), 1);
  EXPECT_EQ(graph.nodes.back().op, Operator(Attention{heads, 0, true, true}));
  EXPECT_EQ(graph.nodes.back().inputs.size(), 3U);
}

TEST(OnnxAttention, dropout_and_casts_do_not_hide_it) {
  AttentionModel attention;
  attention.start();
  attention.model()
      .node({"Cast", {"scores"}, {"wide"}, {{"to", std::int64_t{11}}}})
      .node({"Mul", {"wide", "scale"}, {"masked"}})
      .node({"Softmax", {"masked"}, {"p"}})
      .node({"Dropout", {"p"}, {"dropped"}})
      .node({"Cast", {"dropped"}, {"narrow"}, {{"to", std::int64_t{1}}}})
      .node({"MatMul", {"narrow", "v_heads"}, {"y"}})
      .output("y");
  const Graph graph = attention.model().read();
  EXPECT_EQ(count_of(graph, "attention"), 1);
  EXPECT_EQ(output_shape(graph), "batch×2×5×4");
}

TEST(OnnxAttention, scores_that_others_read_keep_it_apart) {
  AttentionModel attention;
  attention.start();
  attention.model().node({"Mul", {"scores", "scale"}, {"masked"}}).output("masked");
  EXPECT_EQ(count_of(attention.finish(), "attention"), 0);
}

TEST(OnnxAttention, repeated_key_heads_are_grouped) {
  WrittenModel model;
  model.input("q", {2, 4, 5, 8}).input("k", {2, 2, 5, 8}).input("v", {2, 2, 5, 8});
  model.store(integers("five", {2, 2, 1, 5, 8}))
      .store(integers("wide", {2, 2, 2, 5, 8}))
      .store(integers("four", {2, 4, 5, 8}));
  for (const std::string name : {"k", "v"}) {
    model.node({"Reshape", {name, "five"}, {name + "5"}})
        .node({"Expand", {name + "5", "wide"}, {name + "_wide"}})
        .node({"Reshape", {name + "_wide", "four"}, {name + "_many"}});
  }
  model
      .node({"FusedMatMul",
             {"q", "k_many"},
             {"s"},
             {{"transB", std::int64_t{1}}},
             "",
             "com.microsoft"})
      .node({"Softmax", {"s"}, {"p"}})
      .node({"MatMul", {"p", "v_many"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  ASSERT_EQ(count_of(graph, "attention"), 1);
  for (const Node& node : graph.nodes) {
    if (const auto* op = std::get_if<Attention>(&node.op)) {
      EXPECT_EQ(*op, (Attention{4, 2, false, true}));
    }
  }
}

// What PyTorch's exporter makes of scaled_dot_product_attention with a mask.
TEST(OnnxAttention, of_two_scaled_operands_was_one_call) {
  AttentionModel attention;
  attention.model()
      .input("mask", {2, 1, 1, 5})
      .store(scalar("zero", 0.0F))
      .node({"Mul", {"q_heads", "scale"}, {"q_scaled"}})
      .node({"Mul", {"k_heads", "scale"}, {"k_scaled"}})
      .node({"MatMul", {"q_scaled", "k_scaled"}, {"scores"}})
      .node({"Add", {"scores", "mask"}, {"masked"}})
      .node({"Softmax", {"masked"}, {"p"}, {{"axis", std::int64_t{-1}}}})
      .node({"IsNaN", {"p"}, {"is_nan"}})
      .node({"Where", {"is_nan", "zero", "p"}, {"finite"}})
      .node({"MatMul", {"finite", "v_heads"}, {"y"}})
      .output("y");
  const Graph graph = attention.model().read();
  ASSERT_EQ(count_of(graph, "attention"), 1);
  for (const Node& node : graph.nodes) {
    if (const auto* op = std::get_if<Attention>(&node.op)) {
      EXPECT_FALSE(op->written_out);
    }
  }
}

// Blocks of an image are an axis more: sequences that do not see one another.
TEST(OnnxAttention, of_more_leading_axes_is_one_of_as_many_sequences) {
  const auto read = [](bool has_mask) {
    WrittenModel model;
    model.input("q", {2, 3, 4, 5, 8}).input("k", {2, 3, 4, 8, 5}).input("v", {2, 3, 4, 5, 8});
    model.store(scalar("root", 0.6F)).store(weight("mask", {4, 5, 5}));
    model.node({"Mul", {"q", "root"}, {"qs"}})
        .node({"Mul", {"k", "root"}, {"ks"}})
        .node({"MatMul", {"qs", "ks"}, {"scores"}});
    if (has_mask) model.node({"Add", {"scores", "mask"}, {"masked"}});
    model.node({"Softmax", {has_mask ? "masked" : "scores"}, {"p"}, {{"axis", std::int64_t{-1}}}})
        .node({"MatMul", {"p", "v"}, {"y"}})
        .output("y");
    return model.read({});
  };
  const Graph graph = read(false);
  const auto attention = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& one) {
    return std::holds_alternative<Attention>(one.op);
  });
  ASSERT_NE(attention, graph.nodes.end());
  EXPECT_EQ(attention->op, Operator(Attention{1, 0, false, false}));
  const BoundGraph bound = bind_graph(graph, {});
  EXPECT_EQ(bound.tensors[attention->outputs.front()].elements, 2 * 3 * 4 * 5 * 8);
  using Extents = decltype(bound.tensors.front().shape);
  EXPECT_EQ(bound.tensors[attention->inputs.front()].shape, (Extents{24, 5, 8}));
  EXPECT_EQ(bound.tensors[graph.outputs.front()].shape, (Extents{2, 3, 4, 5, 8}));
  EXPECT_EQ(operators_of(read(true)).find("attention"), std::string::npos);
}

TEST(OnnxAttention, another_number_instead_of_nan_keeps_it_apart) {
  AttentionModel attention;
  attention.start();
  attention.model()
      .store(scalar("one", 1.0F))
      .node({"Softmax", {"scores"}, {"p"}, {{"axis", std::int64_t{-1}}}})
      .node({"IsNaN", {"p"}, {"is_nan"}})
      .node({"Where", {"is_nan", "one", "p"}, {"finite"}})
      .node({"MatMul", {"finite", "v_heads"}, {"y"}})
      .output("y");
  EXPECT_EQ(count_of(attention.model().read(), "attention"), 0);
}

// ---- as one operator ----------------------------------------------------------------------------

TEST(OnnxAttention, opset_23) {
  WrittenModel model(23);
  model.input("q", {"N", 6, 8})
      .input("k", {"N", 9, 4})
      .input("v", {"N", 9, 4})
      .node({"Attention",
             {"q", "k", "v"},
             {"y"},
             {{"q_num_heads", std::int64_t{4}},
              {"kv_num_heads", std::int64_t{2}},
              {"is_causal", std::int64_t{1}}}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(graph.nodes[0].op, Operator(Attention{4, 2, true}));
  EXPECT_EQ(output_shape(graph), "batch×6×8");
}

TEST(OnnxAttention, opset_23_with_heads_first) {
  WrittenModel model(23);
  model.input("q", {"N", 4, 6, 8})
      .input("k", {"N", 4, 9, 8})
      .input("v", {"N", 4, 9, 8})
      .node({"Attention", {"q", "k", "v"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(count_of(graph, "attention"), 1);
  EXPECT_EQ(output_shape(graph), "batch×4×6×8");
}

TEST(OnnxAttention, onnx_runtimes_packed_form) {
  WrittenModel model;
  model.input("x", {"N", 6, 8})
      .input("lengths", {"N"}, int32)
      .store(weight("w", {8, 24}))
      .store(weight("b", {24}))
      .node({"Attention",
             {"x", "w", "b", "lengths"},
             {"y"},
             {{"num_heads", std::int64_t{2}}},
             "",
             "com.microsoft"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "linear split attention");
  EXPECT_EQ(parameters_of(graph), 8 * 24 + 24);
}

TEST(OnnxAttention, group_query_attention_with_rotary) {
  WrittenModel model;
  model.input("q", {"N", 6, 32})
      .input("k", {"N", 6, 16})
      .input("v", {"N", 6, 16})
      .node({"GroupQueryAttention",
             {"q", "k", "v"},
             {"y"},
             {{"num_heads", std::int64_t{4}},
              {"kv_num_heads", std::int64_t{2}},
              {"do_rotary", std::int64_t{1}}},
             "",
             "com.microsoft"})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "rotary_embedding rotary_embedding attention");
}

TEST(OnnxAttention, rotary_embedding_of_opset_23) {
  WrittenModel model(23);
  model.input("x", {"N", 4, 6, 8})
      .store(weight("cos", {50, 4}))
      .store(weight("sin", {50, 4}))
      .node({"RotaryEmbedding", {"x", "cos", "sin"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(count_of(graph, "rotary_embedding"), 1);
  EXPECT_EQ(output_shape(graph), "batch×4×6×8");
}

}  // namespace
}  // namespace strata::onnx::test
