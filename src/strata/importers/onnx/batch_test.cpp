// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

// The batch stays a parameter through shape arithmetic, and through numbers that carry the batch of
// the export.
namespace strata::onnx::test {
namespace {

// x [N, 4, 6] reshaped by a target that is computed from its shape.
TEST(OnnxBatch, survives_shape_arithmetic) {
  WrittenModel model;
  model.input("x", {"N", 4, 6})
      .store(integers("first", {0}))
      .store(integers("rest", {-1}))
      .node({"Shape", {"x"}, {"shape"}})
      .node({"Gather", {"shape", "first"}, {"n"}})
      .node({"Concat", {"n", "rest"}, {"target"}, {{"axis", std::int64_t{0}}}})
      .node({"Reshape", {"x", "target"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "reshape");
  EXPECT_EQ(output_shape(graph), "batch×24");
}

// Slice, Cast, Mul, Div, Unsqueeze, Where and Equal on the way, as TorchScript writes a view.
TEST(OnnxBatch, survives_longer_arithmetic) {
  WrittenModel model(12);
  model.input("x", {"N", "seq", 8})
      .store(integers("zero", {0}))
      .store(integers("one", {1}))
      .store(integers("two", {2}))
      .store(integers("minus_one", {-1}))
      .store(integers("wanted", {-1, -1, 4}))
      .node({"Shape", {"x"}, {"shape"}})
      .node({"Slice", {"shape", "zero", "one", "zero"}, {"n"}})
      .node({"Slice", {"shape", "one", "two", "zero"}, {"t"}})
      .node({"Mul", {"n", "t"}, {"rows"}})
      .node({"Mul", {"rows", "two"}, {"twice"}})
      .node({"Div", {"twice", "t"}, {"batch_twice"}})
      .node({"Concat", {"batch_twice", "t", "minus_one"}, {"target"}, {{"axis", std::int64_t{0}}}})
      .node({"Equal", {"wanted", "minus_one"}, {"is_open"}})
      .node({"Where", {"is_open", "target", "wanted"}, {"final"}})
      .node({"Reshape", {"x", "final"}, {"y"}})
      .output("y");
  EXPECT_EQ(output_shape(model.read()), "2·batch×seq×4");
}

TEST(OnnxBatch, ranges_as_long_as_a_dimension_are_constants) {
  WrittenModel model;
  model.input("tokens", {"N", "seq"}, int64)
      .store(weight("words", {100, 8}))
      .store(weight("places", {64, 8}))
      .store({"zero", int64, {}, {0}})
      .store({"one", int64, {}, {1}})
      .node({"Gather", {"words", "tokens"}, {"w"}})
      .node({"Shape", {"tokens"}, {"shape"}})
      .node({"Gather", {"shape", "one"}, {"length"}})
      .node({"Range", {"zero", "length", "one"}, {"positions"}})
      .node({"Gather", {"places", "positions"}, {"p"}})
      .node({"Add", {"w", "p"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "embedding embedding add");
  EXPECT_EQ(output_shape(graph), "batch×seq×8");
}

// ---- exported for one batch ---------------------------------------------------------------------

Graph reshaped(std::vector<Extent> from, Integers target) {
  WrittenModel model;
  model.input("x", std::move(from))
      .store(integers("target", std::move(target)))
      .node({"Reshape", {"x", "target"}, {"a"}})
      .node({"Relu", {"a"}, {"y"}})
      .output("y");
  return model.read();
}

TEST(OnnxBatch, a_target_with_the_files_batch_follows) {
  EXPECT_EQ(output_shape(reshaped({1, 4, 6}, {1, 24})), "batch×24");
  EXPECT_EQ(output_shape(reshaped({1, 4, 6}, {1, -1})), "batch×24");
  EXPECT_EQ(output_shape(reshaped({1, 4, 6}, {-1, 24})), "batch×24");
  EXPECT_EQ(output_shape(reshaped({8, 4, 6}, {8, 24})), "batch×24");
  EXPECT_EQ(output_shape(reshaped({8, 4, 6}, {32, 6})), "4·batch×6");
  EXPECT_EQ(output_shape(reshaped({1, 4, 6}, {4, 6})), "4·batch×6");
  EXPECT_EQ(output_shape(reshaped({1, 196, 768}, {1, 196, 12, 64})), "batch×196×12×64");
}

TEST(OnnxBatch, merged_and_split_again_it_is_where_it_was) {
  WrittenModel model;
  model.input("x", {1, 5, 8})
      .store(integers("rows", {5, 8}))
      .store(integers("back", {5, 1, 8}))
      .store(weight("w", {8, 8}))
      .node({"Transpose", {"x"}, {"a"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"Reshape", {"a", "rows"}, {"b"}})
      .node({"MatMul", {"b", "w"}, {"c"}})
      .node({"Reshape", {"c", "back"}, {"d"}})
      .node({"Transpose", {"d"}, {"e"}, {{"perm", Integers{1, 0, 2}}}})
      .node({"Add", {"e", "x"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(output_shape(graph), "batch×5×8");
  EXPECT_EQ(operators_of(graph), "linear add");
  EXPECT_NO_THROW(bind_graph(graph, {{"batch", 9}}));
}

TEST(OnnxBatch, a_token_before_every_sample_is_repeated) {
  WrittenModel model;
  model.input("x", {1, 196, 768})
      .store(weight("token", {1, 1, 768}))
      .node({"Concat", {"token", "x"}, {"y"}, {{"axis", std::int64_t{1}}}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(operators_of(graph), "expand concat");
  EXPECT_EQ(output_shape(graph), "batch×197×768");
  EXPECT_EQ(parameters_of(graph), 768);
}

TEST(OnnxBatch, a_batch_that_cannot_be_opened_stays_a_number) {
  WrittenModel model;
  model.input("x", {8, 4})
      .store(weight("one_row_per_sample", {8, 4}))
      .node({"Add", {"x", "one_row_per_sample"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_TRUE(graph.symbols.parameters().empty());
  EXPECT_EQ(output_shape(graph), "8×4");
  EXPECT_EQ(warnings_of(graph),
            "batch-fixed-in-file: the file fixes its batch, and other batches cannot be chosen "
            "(node 'y' needs batch = 8); export with a dynamic first axis\n");
}

TEST(OnnxBatch, a_squeezed_batch_stays_a_number) {
  WrittenModel model;
  model.input("x", {1, 4, 6})
      .store(integers("axes", {0}))
      .node({"Squeeze", {"x", "axes"}, {"y"}})
      .output("y");
  const Graph graph = model.read();
  EXPECT_EQ(output_shape(graph), "4×6");
  EXPECT_TRUE(warns(graph, WarningCode::batch_fixed_in_file));
}

TEST(OnnxBatch, inputs_that_differ_in_their_first_axis_have_none) {
  WrittenModel model;
  model.input("a", {3, 5}).input("b", {5, 4}).node({"MatMul", {"a", "b"}, {"y"}}).output("y");
  const Graph graph = model.read();
  EXPECT_TRUE(graph.symbols.parameters().empty());
  EXPECT_TRUE(graph.warnings.empty());
}

}  // namespace
}  // namespace strata::onnx::test
