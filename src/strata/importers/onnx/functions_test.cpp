// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/graph_questions_test.hpp"
#include "strata/importers/onnx/limits.hpp"

#include <gtest/gtest.h>

// Local functions: PyTorch's newer exporter writes modules as such.
namespace strata::onnx::test {
namespace {

constexpr const char* domain = "my.domain";

WrittenModel call_of(const std::string& function, std::vector<Attribute> attributes = {}) {
  WrittenModel model;
  model.input("x", {2, 4})
      .node({function, {"x"}, {"y"}, std::move(attributes), "call", domain})
      .output("y");
  return model;
}

TEST(OnnxFunctions, a_call_becomes_the_body) {
  WrittenModel model = call_of("Silu");
  model.function(domain, "Silu", {"v"}, {"out"},
                 {{"Sigmoid", {"v"}, {"gate"}}, {"Mul", {"v", "gate"}, {"out"}}});
  const Graph graph = model.read({.fuse = false});
  EXPECT_EQ(operators_of(graph), "sigmoid multiply");
  EXPECT_EQ(graph.nodes[0].name, "call.gate");
  EXPECT_EQ(graph.nodes[0].block, "call");
  EXPECT_EQ(operators_of(model.read()), "silu");
}

TEST(OnnxFunctions, attributes_of_the_call_reach_the_body) {
  WrittenModel model = call_of("Soft", {{"over", std::int64_t{0}}});
  model.function(domain, "Soft", {"v"}, {"out"},
                 {{"Softmax", {"v"}, {"out"}, {{"axis", Reference{"over"}}}}}, {"over"});
  EXPECT_EQ(model.read().nodes[0].op, Operator(Softmax{0, false}));
}

TEST(OnnxFunctions, functions_call_functions) {
  WrittenModel model = call_of("Outer", {{"over", std::int64_t{0}}});
  model.function(domain, "Outer", {"v"}, {"out"},
                 {{"Inner", {"v"}, {"out"}, {{"axis", Reference{"over"}}}, "inner", domain}},
                 {"over"});
  model.function(domain, "Inner", {"w"}, {"r"},
                 {{"Softmax", {"w"}, {"r"}, {{"axis", Reference{"axis"}}}}}, {"axis"});
  const Graph graph = model.read();
  EXPECT_EQ(graph.nodes[0].op, Operator(Softmax{0, false}));
  EXPECT_EQ(graph.nodes[0].block, "call.inner");
}

TEST(OnnxFunctions, an_input_may_be_handed_through) {
  WrittenModel model = call_of("Nothing");
  model.function(domain, "Nothing", {"v"}, {"v"}, {});
  model.node({"Relu", {"y"}, {"z"}}).output("z");
  EXPECT_EQ(operators_of(model.read()), "relu");
}

TEST(OnnxFunctions, a_function_that_calls_itself_is_refused) {
  WrittenModel model = call_of("Loop");
  model.function(domain, "Loop", {"v"}, {"out"}, {{"Loop", {"v"}, {"out"}, {}, "again", domain}});
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'call' (Loop): functions call functions more than 32 deep");
}

// Each function calls the next one twice: 2³⁰ nodes from thirty lines.
TEST(OnnxFunctions, a_billion_laughs_are_refused) {
  WrittenModel model = call_of("f0");
  for (int i = 0; i < 30; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    model.function(
        domain, "f" + std::to_string(i), {"v"}, {"out"},
        {{next, {"v"}, {"half"}, {}, "a", domain}, {next, {"half"}, {"out"}, {}, "b", domain}});
  }
  model.function(domain, "f30", {"v"}, {"out"}, {{"Relu", {"v"}, {"out"}}});
  EXPECT_EQ(
      problem_with(model),
      "input: model.onnx: node 'call' (f0): more than 100000 nodes once functions are inlined");
}

TEST(OnnxFunctions, a_call_with_too_many_inputs_is_refused) {
  WrittenModel model;
  model.input("x", {2, 4}).node({"F", {"x", "x"}, {"y"}, {}, "call", domain}).output("y");
  model.function(domain, "F", {"v"}, {"out"}, {{"Relu", {"v"}, {"out"}}});
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'call' (F): the function 'F' has 1 inputs and 1 outputs, the "
            "call 2 and 1");
}

}  // namespace
}  // namespace strata::onnx::test
