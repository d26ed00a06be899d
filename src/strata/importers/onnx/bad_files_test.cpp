// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/cost/cost.hpp"
#include "strata/importers/onnx/graph_questions_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>

// Files that are broken, by accident or on purpose: refused, with the place and the reason.
namespace strata::onnx::test {
namespace {

WrittenModel relu_model() {
  WrittenModel model;
  model.input("x", {2, 4}).node({"Relu", {"x"}, {"y"}, {}, "r"}).output("y");
  return model;
}

// A network with a bit of everything, so that what mutations hit is worth hitting.
std::string rich_text() {
  WrittenModel model;
  model.input("image", {"N", 3, 16, 16})
      .store(weight("w", {4, 3, 3, 3}))
      .store(weight("b", {4}))
      .store(weight("fc", {4, 10}))
      .store(integers("first", {0}))
      .store(integers("rest", {-1}))
      .node({"Conv",
             {"image", "w", "b"},
             {"a"},
             {{"pads", Integers{1, 1, 1, 1}}, {"auto_pad", "NOTSET"}}})
      .node({"Act", {"a"}, {"c"}, {{"alpha", 0.5F}}, "act", "f"})
      .node({"MaxPool",
             {"c"},
             {"d"},
             {{"kernel_shape", Integers{2, 2}}, {"strides", Integers{2, 2}}}})
      .node({"GlobalAveragePool", {"d"}, {"e"}})
      .node({"Shape", {"e"}, {"s"}})
      .node({"Gather", {"s", "first"}, {"n"}})
      .node({"Concat", {"n", "rest"}, {"t"}, {{"axis", std::int64_t{0}}}})
      .node({"Reshape", {"e", "t"}, {"g"}})
      .node({"MatMul", {"g", "fc"}, {"h"}})
      .node({"Softmax", {"h"}, {"y"}})
      .value("a", {"N", 4, 16, 16})
      .output("y", {"N", 10});
  model.function("f", "Act", {"v"}, {"o"}, {{"Sigmoid", {"v"}, {"g"}}, {"Mul", {"v", "g"}, {"o"}}});
  return model.text();
}

TEST(OnnxBadFiles, nothing_and_noise) {
  EXPECT_EQ(problem_with_text(""), "input: model.onnx: not an ONNX model: it has no graph");
  EXPECT_EQ(problem_with_text("hello, this is not protobuf"),
            "input: model.onnx: not a complete ONNX model: broken protobuf (unknown pbf field type "
            "exception)");
  EXPECT_EQ(problem_with(WrittenModel()), "input: model.onnx: its graph has no nodes");
}

TEST(OnnxBadFiles, a_missing_file) {
  try {
    read_onnx("no/such/file.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_STREQ(error.what(), "no/such/file.onnx: cannot be opened: No such file or directory");
  }
}

TEST(OnnxBadFiles, a_cycle) {
  WrittenModel model;
  model.input("x", {2, 4})
      .node({"Add", {"x", "b"}, {"a"}, {}, "first"})
      .node({"Relu", {"a"}, {"b"}, {}, "second"})
      .output("b");
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'first' (Add): needs its own result: the graph has a cycle "
            "through 'a'");
}

TEST(OnnxBadFiles, a_value_made_twice) {
  WrittenModel model = relu_model();
  model.node({"Tanh", {"x"}, {"y"}, {}, "t"});
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 't' (Tanh): makes 'y', which is made by another node as well; "
            "in ONNX every value is made once");
}

TEST(OnnxBadFiles, a_value_made_by_nobody) {
  WrittenModel model;
  model.input("x", {2, 4}).node({"Add", {"x", "ghost"}, {"y"}, {}, "sum"}).output("y");
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'sum' (Add): input 'ghost' is made by no node");
}

TEST(OnnxBadFiles, an_output_made_by_nobody) {
  WrittenModel model = relu_model();
  model.output("ghost");
  EXPECT_EQ(problem_with(model), "input: model.onnx: output 'ghost' is made by no node");
}

TEST(OnnxBadFiles, a_missing_operand) {
  WrittenModel model;
  model.input("x", {2, 4}).node({"MatMul", {"x"}, {"y"}, {}, "m"}).output("y");
  EXPECT_EQ(problem_with(model), "input: model.onnx: node 'm' (MatMul): input 1 is missing");
}

TEST(OnnxBadFiles, extents_that_cannot_be) {
  WrittenModel negative;
  negative.input("x", {2, -7}).node({"Relu", {"x"}, {"y"}}).output("y");
  EXPECT_EQ(problem_with(negative), "input: model.onnx: input 'x': extent -7 of axis 1");

  WrittenModel stored = relu_model();
  stored.store(weight("w", {4, -4}));
  EXPECT_EQ(problem_with(stored),
            "input: model.onnx: initializer 'w': an extent must not be negative, got -4");

  WrittenModel huge = relu_model();
  huge.store(weight("w", {std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_TRUE(problem_with(huge).starts_with("input: model.onnx: initializer 'w': "))
      << problem_with(huge);

  WrittenModel deep;
  deep.input("x", {1, 1, 1, 1, 1, 1, 1, 1, 1}).node({"Relu", {"x"}, {"y"}}).output("y");
  EXPECT_EQ(problem_with(deep),
            "unsupported: model.onnx: input 'x': a tensor with more than 8 axes");
}

TEST(OnnxBadFiles, a_weight_that_does_not_fit) {
  WrittenModel model;
  model.input("x", {"N", 5, 8, 8})
      .store(weight("w", {4, 3, 3, 3}))
      .node({"Conv", {"x", "w"}, {"y"}, {}, "conv"})
      .output("y");
  EXPECT_EQ(problem_with(model),
            "input: model.onnx: node 'conv' (Conv): weight is 4×3×3×3, expected 4×5×3×3");
}

TEST(OnnxBadFiles, an_input_without_a_shape) {
  std::string text;
  {
    pbf_writer graph(text);
    graph.add_message(1, NodeText{"Relu", {"x"}, {"y"}}.text());
    pbf_writer value(graph, 11);
    value.add_string(1, "x");
    pbf_writer type(value, 2);
    pbf_writer tensor(type, 1);
    tensor.add_int32(1, fp32);
  }
  {
    pbf_writer graph(text);
    pbf_writer output(graph, 12);
    output.add_string(1, "y");
  }
  std::string file;
  pbf_writer(file).add_message(7, text);
  EXPECT_EQ(
      problem_with_text(file),
      "input: model.onnx: input 'x': the file does not say its shape; --input name=shape does");
  EXPECT_EQ(problem_with_text(file, {.input_shapes = {{"x", {3, 4}}}}), "no problem");
}

TEST(OnnxBadFiles, text_tensors) {
  WrittenModel model;
  model.input("x", {2}, 8).node({"StringNormalizer", {"x"}, {"y"}}).output("y");
  EXPECT_EQ(problem_with(model), "unsupported: model.onnx: input 'x': a tensor of texts");
}

TEST(OnnxBadFiles, parts_that_run_or_not) {
  WrittenModel model;
  model.input("x", {1}, boolean).node({"If", {"x"}, {"y"}, {}, "choice"}).output("y");
  EXPECT_EQ(
      problem_with(model),
      "unsupported: model.onnx: node 'choice' (If): If chooses or repeats part of the network "
      "while it runs, so its cost is not one number; export the network unrolled, or traced "
      "with fixed inputs");
}

// Processor time to read a chain of additions of one stored vector: the least of three, as others
// on the machine only add to it.
double seconds_to_add_at_many_nodes(std::int64_t vector_size) {
  constexpr int nodes = 20'000;
  WrittenModel model;
  model.input("x0", {1, vector_size});
  model.store({"b", fp32, {vector_size}, {}, std::vector<float>(vector_size, 0), false});
  for (int i = 0; i < nodes; ++i) {
    model.node({"Add", {fmt::format("x{}", i), "b"}, {fmt::format("x{}", i + 1)}});
  }
  model.output(fmt::format("x{}", nodes));
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const std::clock_t start = std::clock();
    EXPECT_EQ(problem_with(model), "no problem");
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

// What is searched for every node is bounded, and what is looked through is so once. Were the
// vector looked through at every node, that would be five billion numbers.
TEST(OnnxBadFiles, a_long_vector_at_many_nodes) {
  const double with_short_vector = seconds_to_add_at_many_nodes(16);
  EXPECT_LT(seconds_to_add_at_many_nodes(262'144), 0.5 + 3 * with_short_vector);
}

TEST(OnnxBadFiles, a_long_attribute_in_a_function_of_many_calls) {
  WrittenModel model;
  model.input("x0", {4, 4});
  model.function("f", "Act", {"v"}, {"o"},
                 {{"Softmax", {"v"}, {"o"}, {{"axis", Integers(50'000, 1)}}}});
  for (int i = 0; i < 2000; ++i) {
    model.node({"Act", {fmt::format("x{}", i)}, {fmt::format("x{}", i + 1)}, {}, "", "f"});
  }
  EXPECT_NE(problem_with(model.output("x2000"))
                .find("more than 20000000 entries of attributes once functions are inlined"),
            std::string::npos);
}

TEST(OnnxBadFiles, a_node_of_many_attributes) {
  WrittenModel model;
  model.input("x", {4, 4}).node({"Relu", {"x"}, {"y"}, std::vector<Attribute>(65, {"a", 1.0F})});
  EXPECT_EQ(problem_with(model.output("y")),
            "input: model.onnx: more than 64 attributes of one node");
}

TEST(OnnxBadFiles, names_are_cut) {
  const std::string name(100'000, 'n');
  WrittenModel model;
  model.input(name, {4, 4})
      .store(weight(name + ".weight", {4, 4}))
      .node({"MatMul", {name, name + ".weight"}, {"y"}, {}, name, "", "['', '" + name + "', 'f']"})
      .output("y");
  const Graph graph = model.read();
  for (const Tensor& tensor : graph.tensors) EXPECT_LT(tensor.name.size(), 1100U);
  EXPECT_LT(graph.nodes[0].name.size(), 1100U);
}

TEST(OnnxBadFiles, names_that_are_no_text_do_not_reach_the_graph) {
  WrittenModel model;
  model.input("x\x1B[31m", {2, 4})
      .node({"Relu", {"x\x1B[31m"}, {"\xFF\xFE"}, {}, ""})
      .output("\xFF\xFE");
  const Graph graph = model.read();
  EXPECT_EQ(graph.tensors[graph.inputs[0]].name, "x\\u{1b}[31m");
  EXPECT_EQ(graph.nodes[0].name, "\\x{ff}\\x{fe}");
}

// Whatever is cut off or changed: a graph, or an error that blames the file.
void expect_an_answer(const std::string& text) {
  try {
    costs_of(bind_graph(read_onnx_text(text, "model.onnx"), {}));
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported)
        << error.what();
  }
}

TEST(OnnxBadFiles, every_truncation_has_an_answer) {
  const std::string text = rich_text();
  ASSERT_EQ(problem_with_text(text), "no problem");
  for (std::size_t length = 0; length < text.size(); ++length) {
    expect_an_answer(text.substr(0, length));
  }
}

TEST(OnnxBadFiles, every_flipped_bit_has_an_answer) {
  const std::string text = rich_text();
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    expect_an_answer(flipped);
  }
}

TEST(OnnxBadFiles, scrambled_bytes_have_an_answer) {
  const std::string text = rich_text();
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string scrambled = text;
    for (int change = 0; change < 4; ++change) {
      scrambled[random() % scrambled.size()] = static_cast<char>(random());
    }
    expect_an_answer(scrambled);
  }
}

}  // namespace
}  // namespace strata::onnx::test
