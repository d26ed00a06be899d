// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"

namespace strata::keras {
namespace {

const std::string sequence = "[null, 10, 8]";

TEST(KerasRecurrent, parameters_are_kerass) {
  const auto parameters = [](std::string_view name, std::string_view arguments) {
    return Built(sequential(sequence, {layer(name, arguments)})).parameters();
  };
  EXPECT_EQ(parameters("LSTM", R"("units": 5)"), 4 * (5 * (8 + 5) + 5));
  EXPECT_EQ(parameters("LSTM", R"("output_dim": 5)"), 4 * (5 * (8 + 5) + 5));
  EXPECT_EQ(parameters("LSTM", R"("units": 5, "use_bias": false)"), 4 * 5 * (8 + 5));
  EXPECT_EQ(parameters("GRU", R"("units": 5)"), 3 * (5 * (8 + 5) + 5));
  EXPECT_EQ(parameters("GRU", R"("units": 5, "reset_after": true)"), 3 * (5 * (8 + 5) + 2 * 5));
  EXPECT_EQ(parameters("SimpleRNN", R"("units": 5)"), 5 * (8 + 5) + 5);
  EXPECT_EQ(parameters("CuDNNLSTM", R"("units": 5)"), 4 * (5 * (8 + 5) + 2 * 5));
  EXPECT_EQ(parameters("RNN", R"("cell": {"class_name": "StackedRNNCells", "config": {"cells": [
      {"class_name": "LSTMCell", "config": {"units": 5}},
      {"class_name": "GRUCell", "config": {"units": 3}}]}})"),
            4 * (5 * (8 + 5) + 5) + 3 * (3 * (5 + 3) + 3));
}

TEST(KerasRecurrent, answers_with_the_last_step_or_with_all) {
  const Built last(sequential(sequence, {layer("LSTM", R"("units": 5)")}));
  EXPECT_EQ(last.output_shape(), (Extent{2, 5}));
  const Built all(sequential(sequence, {layer("LSTM", R"("units": 5, "return_sequences": true)")}));
  EXPECT_EQ(all.output_shape(), (Extent{2, 10, 5}));
}

TEST(KerasRecurrent, states_are_passed_on) {
  const Built net(functional(
      {input_entry("a", sequence), input_entry("b", "[null, 4, 8]"),
       entry("LSTM", "encoder", R"("units": 5, "return_state": true)", R"([["a", 0, 0, {}]])"),
       entry("LSTM", "decoder", R"("units": 5, "return_sequences": true)",
             R"([["b", 0, 0, {}], ["encoder", 0, 1, {}], ["encoder", 0, 2, {}]])")},
      R"(["a", 0, 0], ["b", 0, 0])", R"(["decoder", 0, 0])"));
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 5}));
  ASSERT_NE(net.find("decoder"), nullptr);
  EXPECT_EQ(net.find("decoder")->first_own, 3U) << "x, h and c";
  EXPECT_EQ(complaint(functional(
                {input_entry("a", sequence), input_entry("h", "[null, 5]"),
                 entry("LSTM", "l", R"("units": 5)", R"([["a", 0, 0, {}], ["h", 0, 0, {}]])")},
                R"(["a", 0, 0], ["h", 0, 0])", R"(["l", 0, 0])")),
            "input: net.json: layer 'l': expected 2 initial states, got 1");
}

TEST(KerasRecurrent, both_directions) {
  const auto bidirectional = [](std::string_view mode, bool sequences) {
    return Built(sequential(
        sequence, {layer("Bidirectional",
                         fmt::format(R"("merge_mode": {}, "layer": {{"class_name": "LSTM", "config":
                              {{"name": "l", "units": 5, "return_sequences": {}}}}})",
                                     mode, sequences))}));
  };
  const std::int64_t parameters = 2 * 4 * (5 * (8 + 5) + 5);
  const Built concat = bidirectional(R"("concat")", true);
  EXPECT_EQ(concat.output_shape(), (Extent{2, 10, 10}));
  EXPECT_EQ(concat.parameters(), parameters);
  EXPECT_EQ(bidirectional(R"("concat")", false).output_shape(), (Extent{2, 10}));
  EXPECT_EQ(bidirectional(R"("sum")", true).output_shape(), (Extent{2, 10, 5}));
  EXPECT_EQ(bidirectional(R"("ave")", false).output_shape(), (Extent{2, 5}));
  EXPECT_EQ(bidirectional("null", false).output_shape(), (Extent{2, 5}));
}

TEST(KerasRecurrent, dropout_of_the_input_is_a_layer) {
  const Built net(sequential(
      sequence, {layer("LSTM", R"("units": 5, "dropout": 0.2, "recurrent_dropout": 0.1)")}));
  EXPECT_EQ(net.op<Dropout>("x/dropout").probability, 0.2);
  ASSERT_EQ(net.graph.warnings.size(), 1U);
  EXPECT_EQ(net.graph.warnings[0].code, WarningCode::part_ignored);
}

TEST(KerasRecurrent, unknown_cells_are_refused) {
  EXPECT_EQ(
      complaint(sequential(sequence, {layer("RNN", R"("cell": {"class_name": "MyCell",
                                                             "config": {"units": 5}})")})),
      "unsupported: net.json: layer 'x': a recurrent layer of 'MyCell': its cell is code that "
      "the file does not hold");
}

TEST(KerasRecurrent, convolutional_lstm) {
  const Built net(sequential("[null, 3, 8, 9, 4]", {layer("ConvLSTM2D", R"("filters": 5,
      "kernel_size": [3, 3], "padding": "same")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 5, 8, 9}));
  EXPECT_EQ(net.parameters(), 4 * 5 * (9 * (4 + 5) + 1));
  EXPECT_EQ(net.mac(), 2 * 3 * 8 * 9 * 4 * 5 * 9 * (4 + 5));
}

// ---- wrappers, embedding, attention -------------------------------------------------------------

TEST(KerasWrapper, time_is_folded_into_the_batch) {
  const Built net(sequential(
      "[null, 3, 8, 9, 4]",
      {layer("TimeDistributed", R"("layer": {"class_name": "Conv2D", "config": {"name": "c",
             "filters": 5, "kernel_size": 3}})",
             "t"),
       layer("TimeDistributed", R"("layer": {"class_name": "GlobalAveragePooling2D", "config":
             {"name": "g"}})",
             "u"),
       layer("TimeDistributed", R"("layer": {"class_name": "Dense", "config": {"name": "d",
             "units": 7}})",
             "v"),
       layer("LSTM", R"("units": 2)", "w")}));
  EXPECT_EQ(net.shape_of("t/fold"), (Extent{6, 4, 8, 9}));
  EXPECT_EQ(net.shape_of("t"), (Extent{6, 5, 6, 7}));
  EXPECT_EQ(net.shape_of("v"), (Extent{2, 3, 7}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 2}));
  EXPECT_EQ(net.count<Transpose>(), 0U);
}

TEST(KerasEmbedding, indices_are_integers) {
  const Built net(sequential("[null, 10]", {layer("Embedding", R"("input_dim": 100,
                                                  "output_dim": 8)")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 10, 8}));
  EXPECT_EQ(net.graph.tensors[net.graph.inputs[0]].type.dtype, DType::int32);
  EXPECT_EQ(net.count<Cast>(), 0U);
  const Built shared(functional(
      {input_entry("a", "[null, 10]"),
       entry("Embedding", "e", R"("input_dim": 100, "output_dim": 8)", R"([["a", 0, 0, {}]])"),
       entry("Dense", "d", R"("units": 8)", R"([["a", 0, 0, {}]])")},
      R"(["a", 0, 0])", R"(["e", 0, 0], ["d", 0, 0])"));
  EXPECT_EQ(shared.count<Cast>(), 1U) << "another layer reads the numbers as they are";
}

TEST(KerasEmbedding, whole_numbers_are_cast_where_layers_compute) {
  const Built net(sequential("[null, 8, 8, 3]", {layer("Rescaling", R"("scale": 0.1)")}, "uint8"));
  EXPECT_EQ(net.count<Cast>(), 1U);
  EXPECT_EQ(
      complaint(sequential("[null, 1]", {layer("Flatten")}, "string")),
      "unsupported: net.json: input 'input': the input is text: how many tokens it becomes is "
      "not in the file; cut the network behind its text layers");
}

TEST(KerasAttention, multi_head) {
  const Built net(functional(
      {input_entry("q", sequence), input_entry("v", "[null, 6, 12]"),
       entry("MultiHeadAttention", "m", R"("num_heads": 2, "key_dim": 5, "value_dim": 3)",
             R"([["q", 0, 0, {"value": ["v", 0, 0]}]])")},
      R"(["q", 0, 0], ["v", 0, 0])", R"(["m", 0, 0])"));
  EXPECT_EQ(net.output_shape(), (Extent{2, 10, 8}));
  // Keras: query 8×2×5 + 10, key 12×2×5 + 10, value 12×2×3 + 6, output 2×3×8 + 8.
  EXPECT_EQ(net.parameters(), (80 + 10) + (120 + 10) + (72 + 6) + (48 + 8));
  EXPECT_EQ(net.op<Attention>("m/attention").heads, 2);
}

TEST(KerasAttention, over_places_of_an_image) {
  const Built net(
      functional({input_entry("i", "[null, 4, 5, 8]"),
                  entry("MultiHeadAttention", "m", R"("num_heads": 2, "key_dim": 4)",
                        R"([["i", 0, 0, {"value": ["i", 0, 0], "use_causal_mask": true}]])")},
                 R"(["i", 0, 0])", R"(["m", 0, 0])"));
  EXPECT_TRUE(net.op<Attention>("m/attention").causal);
  EXPECT_EQ(net.shape_of("m/attention"), (Extent{2, 20, 8}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 5, 8}));
}

TEST(KerasAttention, others) {
  const auto attention = [](std::string_view name) {
    return Built(functional(
        {input_entry("q", sequence), input_entry("v", "[null, 6, 8]"),
         entry(name, "m", R"("use_scale": true)", R"([["q", 0, 0, {}], ["v", 0, 0, {}]])")},
        R"(["q", 0, 0], ["v", 0, 0])", R"(["m", 0, 0])"));
  };
  EXPECT_EQ(attention("Attention").output_shape(), (Extent{2, 10, 8}));
  EXPECT_EQ(attention("Attention").parameters(), 1);
  EXPECT_EQ(attention("AdditiveAttention").output_shape(), (Extent{2, 10, 8}));
  EXPECT_EQ(attention("AdditiveAttention").parameters(), 8);
  const Built grouped(
      functional({input_entry("q", sequence),
                  entry("GroupQueryAttention", "m",
                        R"("head_dim": 4, "num_query_heads": 4, "num_key_value_heads": 2)",
                        R"([["q", 0, 0, {"value": ["q", 0, 0]}]])")},
                 R"(["q", 0, 0])", R"(["m", 0, 0])"));
  EXPECT_EQ(grouped.op<Attention>("m/attention").kv_heads, 2);
  EXPECT_EQ(grouped.parameters(), (8 * 16 + 16) + 2 * (8 * 8 + 8) + (16 * 8 + 8));
}

TEST(KerasDense, einsum) {
  const Built net(sequential(sequence, {layer("EinsumDense", R"("equation": "abc,cde->abde",
      "output_shape": [null, 2, 3], "bias_axes": "de")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 10, 2, 3}));
  EXPECT_EQ(net.parameters(), 8 * 6 + 6);
  const Built open(sequential(sequence, {layer("EinsumDense", R"("equation": "...x,xy->...y",
      "output_shape": 4)")}));
  EXPECT_EQ(open.output_shape(), (Extent{2, 10, 4}));
  EXPECT_EQ(complaint(sequential(sequence, {layer("EinsumDense", R"("equation": "abc,bd->adc",
      "output_shape": [3, 8])")})),
            "unsupported: net.json: layer 'x': EinsumDense with the equation 'abc,bd->adc' for an "
            "input of batch×10×8");
}

}  // namespace
}  // namespace strata::keras
