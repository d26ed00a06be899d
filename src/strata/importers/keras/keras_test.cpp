// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/keras.hpp"

#include "strata/importers/keras/built_test.hpp"

#include <chrono>

namespace strata::keras {
namespace {

const std::string dense = layer("Dense", R"("units": 3)");

// ---- what a document is -------------------------------------------------------------------------

TEST(KerasFile, reads_a_sequential_model) {
  const Built net(sequential("[null, 4]", {dense}));
  EXPECT_EQ(net.graph.name, "net");
  EXPECT_EQ(net.graph.title, "net");
  EXPECT_EQ(net.graph.source, "Keras file net.json");
  EXPECT_EQ(net.output_shape(), (Extent{2, 3}));
  EXPECT_EQ(net.parameters(), 4 * 3 + 3);
  EXPECT_EQ(net.graph.tensors[net.graph.inputs[0]].name, "input");
}

TEST(KerasFile, keras_1_lists_layers_without_a_name) {
  const Built net(
      R"({"class_name": "Sequential", "keras_version": "1.2.2", "config": [
        {"class_name": "Dense", "config": {"name": "dense_1", "output_dim": 5, "bias": false,
          "batch_input_shape": [null, 7], "activation": "relu", "input_dim": 7}},
        {"class_name": "Dense", "config": {"name": "dense_2", "output_dim": 2}}]})");
  EXPECT_EQ(net.parameters(), 7 * 5 + 5 * 2 + 2);
  EXPECT_EQ(net.graph.tensors[net.graph.inputs[0]].name, "dense_1_input");
  EXPECT_EQ(net.op<Unary>("dense_1/relu").kind, UnaryKind::relu);
}

TEST(KerasFile, the_batch_of_the_file_is_the_default) {
  const Built stated(sequential("[25, 4]", {dense}), {});
  EXPECT_EQ(stated.output_shape(), (Extent{25, 3}));
  const Built open(sequential("[null, 4]", {dense}), {});
  EXPECT_EQ(open.output_shape(), (Extent{32, 3}));
}

TEST(KerasFile, tensorflow_js_wraps_the_model) {
  const std::string model = sequential("[null, 4]", {dense});
  for (const std::string& topology :
       {model, R"({"keras_version": "2.1.6", "model_config": )" + model + "}"}) {
    const Built net(R"({"modelTopology": )" + topology + R"(, "weightsManifest": []})");
    EXPECT_EQ(net.parameters(), 15);
  }
}

TEST(KerasFile, a_graph_model_is_refused_with_its_reason) {
  EXPECT_EQ(complaint(R"({"format": "graph-model", "modelTopology": {"node": []}})"),
            "unsupported: net.json: a TensorFlow.js graph model: TensorFlow operations with layers "
            "dissolved and normalisation folded, made for inference; give the layers model (format "
            "'layers-model') or the Keras file that it was converted from");
}

TEST(KerasFile, tuples_may_be_dressed_as_objects) {
  const std::string shape = R"({"class_name": "__tuple__", "items": [null, 8, 8, 3]})";
  const std::string conv = layer(
      "Conv2D",
      R"("filters": 4, "kernel_size": {"class_name": "__tuple__", "items": [3, 3]}, "use_bias": false)");
  const Built net(sequential(shape, {conv}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 6, 6}));
}

// ---- functional models --------------------------------------------------------------------------

TEST(KerasFile, a_layer_called_twice_shares_its_weights) {
  const Built net(functional(
      {input_entry("a", "[null, 4]"), input_entry("b", "[null, 4]"),
       entry("Dense", "shared", R"("units": 3)", R"([["a", 0, 0, {}]], [["b", 0, 0, {}]])"),
       entry("Add", "sum", "", R"([["shared", 0, 0, {}], ["shared", 1, 0, {}]])")},
      R"(["a", 0, 0], ["b", 0, 0])", R"(["sum", 0, 0])"));
  EXPECT_EQ(net.parameters(), 15);
  EXPECT_EQ(net.count<Linear>(), 2U);
  EXPECT_EQ(net.mac(), 2 * (2 * 4 * 3));
}

TEST(KerasFile, layers_may_stand_in_any_order) {
  const Built net(functional({entry("Dense", "last", R"("units": 2)", R"([["first", 0, 0, {}]])"),
                              entry("Dense", "first", R"("units": 3)", R"([["a", 0, 0, {}]])"),
                              input_entry("a", "[null, 4]")},
                             R"(["a", 0, 0])", R"(["last", 0, 0])"));
  EXPECT_EQ(net.graph.nodes[0].name, "first");
  EXPECT_EQ(net.output_shape(), (Extent{2, 2}));
}

// Keras counts the call that made a nested model: others begin at 1.
std::string nested(int first_call) {
  const std::string inside = fmt::format(
      R"("layers": [{}, {}], "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]])",
      input_entry("i", "[null, 4]"), entry("Dense", "d", R"("units": 4)", R"([["i", 0, 0, {}]])"));
  return functional(
      {input_entry("a", "[null, 4]"),
       entry("Functional", "model", inside,
             fmt::format(R"([["a", 0, 0, {{}}]], [["model", {}, 0, {{}}]])", first_call)),
       entry("Activation", "end", R"("activation": "relu")",
             fmt::format(R"([["model", {}, 0, {{}}]])", first_call + 1))},
      R"(["a", 0, 0])", R"(["end", 0, 0])");
}

TEST(KerasFile, a_nested_model_is_laid_out_in_a_block) {
  for (const int first_call : {0, 1}) {
    const Built net(nested(first_call));
    EXPECT_EQ(net.parameters(), 20) << "called twice, stored once";
    EXPECT_EQ(net.count<Linear>(), 2U);
    ASSERT_NE(net.find("model.d"), nullptr);
    EXPECT_EQ(net.find("model.d")->block, "model");
  }
}

TEST(KerasFile, keras_3_says_where_tensors_come_from) {
  const auto tensor = [](std::string_view name) {
    return fmt::format(
        R"({{"class_name": "__keras_tensor__", "config": {{"shape": [null, 4], "dtype": "float32", "keras_history": ["{}", 0, 0]}}}})",
        name);
  };
  const std::string text = fmt::format(
      R"({{"module": "keras.src.models.functional", "class_name": "Functional", "config": {{
        "name": "net", "layers": [
          {{"module": "keras.layers", "class_name": "InputLayer", "name": "a", "inbound_nodes": [],
            "config": {{"batch_shape": [null, 4], "dtype": "float32", "name": "a"}}}},
          {{"module": "keras.layers", "class_name": "Dense", "name": "d", "config": {{"name": "d",
            "units": 4, "dtype": {{"module": "keras", "class_name": "DTypePolicy", "config":
            {{"name": "float32"}}}}}}, "inbound_nodes": [{{"args": [{}], "kwargs": {{}}}}]}},
          {{"module": "keras.src.ops.numpy", "class_name": "Multiply", "name": "m", "config":
            {{"name": "m"}}, "inbound_nodes": [{{"args": [{}, 0.5], "kwargs": {{}}}}]}},
          {{"module": "keras.layers", "class_name": "Add", "name": "s", "config": {{"name": "s"}},
            "inbound_nodes": [{{"args": [[{}, {}]], "kwargs": {{}}}}]}}],
        "input_layers": ["a", 0, 0], "output_layers": ["s", 0, 0]}}}})",
      tensor("a"), tensor("d"), tensor("m"), tensor("a"));
  const Built net(text);
  EXPECT_EQ(net.parameters(), 20);
  EXPECT_EQ(net.op<Elementwise>("m").kind, ElementwiseKind::multiply);
  EXPECT_EQ(net.op<Elementwise>("s").kind, ElementwiseKind::add);
}

TEST(KerasFile, weights_that_are_not_trained_are_buffers) {
  const Built net(sequential("[null, 4]", {layer("Dense", R"("units": 3, "trainable": false)")}));
  EXPECT_EQ(net.parameters(), 0);
  EXPECT_EQ(net.buffers(), 15);
  EXPECT_FALSE(net.costs.back().backward_weight.exists());
}

// ---- extents that stay open ---------------------------------------------------------------------

TEST(KerasFile, open_extents_become_dimensions) {
  const std::string conv = layer("Conv2D", R"("filters": 4, "kernel_size": 3, "strides": 2,
                                              "padding": "same")");
  const std::string text = sequential("[null, null, null, 3]", {conv});
  const Built usual(text, {});
  EXPECT_EQ(usual.output_shape(), (Extent{32, 4, 112, 112}));
  ASSERT_EQ(usual.graph.warnings.size(), 2U);
  EXPECT_EQ(usual.graph.warnings[0].message,
            "input 'input': height is left open; 224 is assumed (choose with --dim height=N)");
  const Built chosen(text, {{"batch", 1}, {"height", 301}, {"width", 200}});
  EXPECT_EQ(chosen.output_shape(), (Extent{1, 4, 151, 100}));
}

TEST(KerasFile, an_open_extent_is_what_it_is_joined_with) {
  const Built net(functional(
      {input_entry("a", "[null, null, 6]"), input_entry("b", "[null, 10, 2]"),
       entry("Concatenate", "c", R"("axis": -1)", R"([["a", 0, 0, {}], ["b", 0, 0, {}]])")},
      R"(["a", 0, 0], ["b", 0, 0])", R"(["c", 0, 0])"));
  EXPECT_EQ(net.output_shape(), (Extent{2, 10, 8}));
  EXPECT_TRUE(net.graph.warnings.empty());
}

TEST(KerasFile, an_input_can_be_given_its_shape) {
  ImportOptions options;
  options.input_shapes["input"] = {4, 64, 48, 3};
  const std::string text = sequential("[null, null, null, 3]", {layer("Flatten")});
  const Built net(text, {}, options);
  EXPECT_EQ(net.output_shape(), (Extent{4, 64 * 48 * 3}));
  options.input_shapes["inputs"] = {1};
  EXPECT_EQ(complaint(text, options),
            "usage: net.json: the network has no input 'inputs'; did you mean input?");
}

TEST(KerasFile, a_model_without_input_shape_asks_for_one) {
  const std::string text =
      R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense", "config": {"name": "d", "units": 3}}]}})";
  EXPECT_EQ(complaint(text),
            "unsupported: net.json: input 'd_input': the file does not say what shape the input "
            "has; give it with --input d_input=Nx…");
  ImportOptions options;
  options.input_shapes["d_input"] = {8, 5};
  EXPECT_EQ(Built(text, {}, options).output_shape(), (Extent{8, 3}));
}

// ---- what is wrong with a file ------------------------------------------------------------------

struct Bad {
  std::string text;
  std::string complaint;
};

TEST(KerasFile, bad_files_are_refused_with_place_and_reason) {
  const std::string in = input_entry("a", "[null, 4]");
  const auto model = [&](const std::string& more, const std::string& output = "d") {
    return functional({in, more}, R"(["a", 0, 0])", fmt::format(R"(["{}", 0, 0])", output));
  };
  const std::vector<Bad> cases = {
      {"",
       "input: net.json: not valid JSON: line 1, column 1: syntax error while parsing value - "
       "unexpected end of input; expected '[', '{', or a literal"},
      {"[]", "input: net.json: expected an object for 'the model', got an empty list"},
      {"{}",
       "input: net.json: expected a Keras model: an object with 'class_name' and 'config', as "
       "model.to_json() writes it"},
      {R"({"class_name": "MyNet", "config": {}})",
       "unsupported: net.json: 'MyNet' is neither a Sequential nor a Functional model: its layers "
       "are made by Python code, which the file does not hold; save it as a Functional model"},
      {R"({"class_name": "Sequential", "config": 1})",
       "input: net.json: expected an object for 'config', got 1"},
      {R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Sequential"}]}})",
       "input: net.json: layer 'Sequential_1': expected an object for 'config', got nothing"},
      {sequential("[null, 4]", {layer("Dense")}),
       "input: net.json: layer 'x': expected a whole number for 'units', got nothing"},
      {sequential("[null, 4]", {layer("Dense", R"("units": "many")")}),
       "input: net.json: layer 'x': expected a whole number for 'units', got the text 'many'"},
      {sequential("[null, 4]", {layer("Dense", R"("units": -3)")}),
       "input: net.json: layer 'x': features must be at least 1, got -3"},
      {sequential("[null, 4]", {layer("Dense", R"("units": 2.5)")}),
       "input: net.json: layer 'x': expected a whole number for 'units', got 2.5"},
      {sequential("[null, 4, 4, 3]",
                  {layer("Conv2D", R"("filters": 2, "kernel_size": [3, 3, 3])")}),
       "input: net.json: layer 'x': expected 2 numbers for 'kernel_size', got 3"},
      {sequential("[null, 4, 4, 3]", {layer("Conv2D", R"("filters": 2, "kernel_size": 9)")}),
       "input: net.json: layer 'x': kernel 9 (dilation 1) is larger than its padded input, 4 + 0"},
      {sequential("[null, 4, 4, 3]",
                  {layer("Conv2D", R"("filters": 2, "kernel_size": 3, "padding": "some")")}),
       "input: net.json: layer 'x': expected same, valid or causal for 'padding', got 'some'"},
      {sequential("[null, 4, 4, 3]",
                  {layer("Conv2D", R"("filters": 2, "kernel_size": 3, "data_format": "nhwc")")}),
       "input: net.json: layer 'x': expected channels_first or channels_last for 'data_format', "
       "got 'nhwc'"},
      {sequential("[null, 0]", {dense}),
       "input: net.json: input 'input': extents must be at least 1, got 0"},
      {sequential("[null, 4]", {layer("Reshape", R"("target_shape": [3, -1])")}),
       "input: net.json: layer 'x': batch×4 does not reshape into 3×-1"},
      {sequential("[null, 4]", {layer("MyLayer")}),
       "unsupported: net.json: layer 'x': class 'MyLayer' is unknown to Strata, and the file does "
       "not tell the shape of its output"},
      {model(entry("Dense", "d", R"("units": 3)", R"([["b", 0, 0, {}]])")),
       "input: net.json: layer 'd': reads from 'b', which is no layer of the model"},
      {model(entry("Dense", "d", R"("units": 3)", R"([["d", 0, 0, {}]])")),
       "input: net.json: layer 'd' needs its own output"},
      {model(entry("Dense", "d", R"("units": 3)", R"([["a", 1, 0, {}]])")),
       "input: net.json: call 1 of layer 'a' is read, which is called 1 times"},
      {model(entry("Dense", "d", R"("units": 3)", R"([["a", 0, 2, {}]])")),
       "input: net.json: layer 'd': output 2 of layer 'a' is read, which has 1"},
      {model(entry("Dense", "d", R"("units": 3)", R"([["a", -1, 0, {}]])")),
       "input: net.json: layer 'd': expected a call or an output of a layer for 'inbound_nodes', "
       "got -1"},
      {model(in), "input: net.json: two layers are named 'a'"},
  };
  for (const Bad& bad : cases) EXPECT_EQ(complaint(bad.text), bad.complaint) << bad.text;
}

TEST(KerasFile, strict_reading_refuses_what_is_not_counted) {
  const std::string text =
      sequential("[null, 4]", {layer("Activation", R"("activation": "sparsemax")")});
  const Built net(text);
  ASSERT_EQ(net.graph.warnings.size(), 1U);
  EXPECT_EQ(net.graph.warnings[0].code, WarningCode::operator_not_counted);
  EXPECT_EQ(net.graph.warnings[0].message,
            "layer 'x': activation 'sparsemax' is unknown to Strata: it is not counted");
  ImportOptions strict;
  strict.strict = true;
  EXPECT_EQ(complaint(text, strict),
            "unsupported: net.json: layer 'x': activation 'sparsemax' is unknown to Strata: it is "
            "not counted");
}

// ---- hostile files ------------------------------------------------------------------------------

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(KerasFile, deep_nesting_is_refused) {
  EXPECT_EQ(complaint(repeated("[", 1'000'000)), "input: net.json: nested deeper than 96 levels");
  EXPECT_EQ(complaint(repeated(R"({"config":)", 100'000)),
            "input: net.json: nested deeper than 96 levels");
}

TEST(KerasFile, many_values_are_refused) {
  EXPECT_EQ(complaint("[" + repeated("0,", 2'000'000)), "input: net.json: more than 500000 values");
}

// Every model calls the next one twice: a text of two pages that means 2^24 layers.
TEST(KerasFile, models_that_multiply_are_refused_in_time) {
  std::string inside = layer("Dense", R"("units": 4)", "d0");
  for (int depth = 1; depth <= 24; ++depth) {
    const std::string copy = inside;
    inside = functional({input_entry("a", "[null, 4]"), copy}, R"(["a", 0, 0])",
                        fmt::format(R"(["d{}", 1, 0])", depth - 1));
    // The copy becomes an entry of the model around it, called twice in a row.
    const std::size_t end = inside.find(copy) + copy.size();
    inside.insert(
        end - 1,
        fmt::format(
            R"(, "name": "d{0}", "inbound_nodes": [[["a", 0, 0, {{}}]], [["d{0}", 0, 0, {{}}]]])",
            depth - 1));
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = complaint(inside);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_NE(message.find("shared models laid out"), std::string::npos) << message;
}

TEST(KerasFile, huge_extents_are_refused) {
  EXPECT_NE(complaint(sequential("[null, 9223372036854775807, 9223372036854775807, 3]",
                                 {layer("Flatten")})),
            "nothing");
  EXPECT_NE(complaint(sequential("[null, 18446744073709551615]", {dense})), "nothing");
  EXPECT_NE(
      complaint(sequential("[null, 4, 4, 3]",
                           {layer("Conv2D", R"("filters": 2, "kernel_size": 9223372036854775807,
                                    "padding": "same", "dilation_rate": 9223372036854775807)")})),
      "nothing");
}

// Whatever is cut off or turned around, the answer is a graph or a blameless error.
TEST(KerasFile, damaged_texts_are_never_blamed_on_strata) {
  const std::string text = nested(1);
  const auto expect_blameless = [](const std::string& damaged) {
    const std::string message = complaint(damaged);
    EXPECT_TRUE(message == "nothing" || message.starts_with("input: ") ||
                message.starts_with("unsupported: "))
        << message;
  };
  for (std::size_t length = 0; length < text.size(); length += 3) {
    expect_blameless(text.substr(0, length));
  }
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 7)));
    expect_blameless(damaged);
  }
}

}  // namespace
}  // namespace strata::keras
