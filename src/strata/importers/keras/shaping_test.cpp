// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"

namespace strata::keras {
namespace {

const std::string image = "[null, 4, 5, 6]";

// ---- what needs a transposition, and what does not ----------------------------------------------

TEST(KerasShaping, rows_and_images_become_each_other_as_they_are_stored) {
  const Built flat(sequential(image, {layer("Flatten")}));
  EXPECT_EQ(flat.output_shape(), (Extent{2, 120}));
  const Built there(
      sequential("[null, 120]", {layer("Reshape", R"("target_shape": [4, 5, 6])", "r"),
                                 layer("Conv2D", R"("filters": 7, "kernel_size": 1)")}));
  EXPECT_EQ(there.output_shape(), (Extent{2, 7, 4, 5}));
  for (const Built* net : {&flat, &there}) EXPECT_EQ(net->count<Transpose>(), 0U);
}

TEST(KerasShaping, pixels_keep_their_channels) {
  const Built net(sequential(image, {layer("Reshape", R"("target_shape": [-1, 6])", "r"),
                                     layer("Dense", R"("units": 3)")}));
  EXPECT_EQ(net.shape_of("r"), (Extent{2, 6, 20})) << "N, C, places";
  EXPECT_EQ(net.output_shape(), (Extent{2, 3, 20}));
  EXPECT_EQ(net.parameters(), 6 * 3 + 3);
  EXPECT_EQ(net.mac(), 2 * 20 * 6 * 3);
  EXPECT_EQ(net.count<Transpose>(), 0U);
}

TEST(KerasShaping, channels_that_are_split_are_put_last_first) {
  const Built net(sequential(image, {layer("Reshape", R"("target_shape": [60, 2])")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 60, 2}));
  EXPECT_EQ(net.count<Transpose>(), 1U);
}

TEST(KerasShaping, squeeze_and_excitation_moves_nothing) {
  const Built net(functional(
      {input_entry("i", image), entry("GlobalAveragePooling2D", "g", "", R"([["i", 0, 0, {}]])"),
       entry("Reshape", "r", R"("target_shape": [1, 1, 6])", R"([["g", 0, 0, {}]])"),
       entry("Conv2D", "c", R"("filters": 6, "kernel_size": 1)", R"([["r", 0, 0, {}]])"),
       entry("Multiply", "m", "", R"([["i", 0, 0, {}], ["c", 0, 0, {}]])")},
      R"(["i", 0, 0])", R"(["m", 0, 0])"));
  EXPECT_EQ(net.shape_of("r"), (Extent{2, 6, 1, 1}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 6, 4, 5}));
  EXPECT_EQ(net.count<Transpose>(), 0U);
}

TEST(KerasShaping, a_row_meets_an_image_channel_by_channel) {
  const Built net(functional({input_entry("i", image), input_entry("v", "[null, 6]"),
                              entry("Multiply", "m", "", R"([["i", 0, 0, {}], ["v", 0, 0, {}]])")},
                             R"(["i", 0, 0], ["v", 0, 0])", R"(["m", 0, 0])"));
  EXPECT_EQ(net.shape_of("m/expand"), (Extent{2, 6, 1, 1}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 6, 4, 5}));
}

TEST(KerasShaping, dense_on_an_image_is_a_product_over_channels) {
  const Built net(sequential(image, {layer("Dense", R"("units": 8, "activation": "softmax")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 8, 4, 5}));
  EXPECT_EQ(net.parameters(), 6 * 8 + 8);
  EXPECT_EQ(net.mac(), 2 * 4 * 5 * 6 * 8);
  EXPECT_EQ(net.op<Softmax>("x/softmax").axis, 1) << "over the channels, Keras's last axis";
}

TEST(KerasShaping, axes_follow_the_storage) {
  const auto joined = [](int axis) {
    return Built(functional({input_entry("a", image), input_entry("b", image),
                             entry("Concatenate", "c", fmt::format(R"("axis": {})", axis),
                                   R"([["a", 0, 0, {}], ["b", 0, 0, {}]])")},
                            R"(["a", 0, 0], ["b", 0, 0])", R"(["c", 0, 0])"));
  };
  EXPECT_EQ(joined(-1).output_shape(), (Extent{2, 12, 4, 5}));
  EXPECT_EQ(joined(3).output_shape(), (Extent{2, 12, 4, 5}));
  EXPECT_EQ(joined(1).output_shape(), (Extent{2, 6, 8, 5}));
  EXPECT_EQ(joined(2).output_shape(), (Extent{2, 6, 4, 10}));
}

TEST(KerasShaping, permutations) {
  const Built first(
      sequential(image, {layer("Permute", R"("dims": [3, 1, 2])"), layer("Flatten", "", "f")}));
  EXPECT_EQ(first.shape_of("x"), (Extent{2, 6, 4, 5}));
  EXPECT_EQ(first.count<Transpose>(), 0U) << "channels first is how it is stored";
  const Built transposed(sequential(image, {layer("Permute", R"("dims": [2, 1, 3])")}));
  EXPECT_EQ(transposed.count<Transpose>(), 1U);
  EXPECT_EQ(transposed.output_shape(), (Extent{2, 5, 4, 6}));
  const Built steps(sequential("[null, 7, 9]", {layer("Permute", R"("dims": [2, 1])"),
                                                layer("Dense", R"("units": 2)", "d")}));
  EXPECT_EQ(steps.output_shape(), (Extent{2, 2, 9}));
  EXPECT_EQ(steps.parameters(), 7 * 2 + 2);
  EXPECT_EQ(complaint(sequential(image, {layer("Permute", R"("dims": [1, 1, 2])")})),
            "input: net.json: layer 'x': 'dims' names axis 1 twice");
}

TEST(KerasShaping, repeat_vector) {
  const Built net(sequential("[null, 5]", {layer("RepeatVector", R"("n": 3)")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 3, 5}));
}

// ---- normalisation ------------------------------------------------------------------------------

TEST(KerasNormalization, batch_normalization_by_axis) {
  const Built images(sequential(image, {layer("BatchNormalization", R"("axis": [3])")}));
  EXPECT_EQ(images.parameters(), 12);
  EXPECT_EQ(images.buffers(), 12);
  const Built sequences(sequential("[null, 7, 9]", {layer("BatchNormalization", R"("axis": -1,
                                                          "scale": false)")}));
  EXPECT_EQ(sequences.output_shape(), (Extent{2, 7, 9}));
  EXPECT_EQ(sequences.parameters(), 9);
  EXPECT_EQ(sequences.buffers(), 18);
  EXPECT_EQ(sequences.count<Transpose>(), 0U) << "time is folded into the batch";
  const Built rows(sequential("[null, 7]", {layer("BatchNormalization", R"("center": false)")}));
  EXPECT_EQ(rows.parameters(), 7);
}

TEST(KerasNormalization, frozen_statistics_are_said_to_be_overcounted) {
  const Built net(sequential(image, {layer("FixedBatchNormalization", R"("axis": 3)")}));
  EXPECT_EQ(net.parameters(), 0);
  EXPECT_EQ(net.buffers(), 24);
  ASSERT_EQ(net.graph.warnings.size(), 1U);
  EXPECT_EQ(net.graph.warnings[0].message,
            "layer 'x': a frozen batch normalisation is counted as if it took statistics of the "
            "batch");
}

TEST(KerasNormalization, layer_normalization_of_channels_is_done_channels_last) {
  const Built net(sequential(image, {layer("LayerNormalization", R"("axis": [-1])")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 5, 6}));
  EXPECT_EQ(net.parameters(), 12);
  EXPECT_EQ(net.count<Transpose>(), 1U);
  const Built whole(sequential(image, {layer("LayerNormalization", R"("axis": [1, 2, 3])")}));
  EXPECT_EQ(whole.parameters(), 2 * 4 * 5 * 6);
  EXPECT_EQ(whole.count<Transpose>(), 0U);
  const Built rms(sequential("[null, 7, 9]", {layer("LayerNormalization", R"("axis": -1,
                                                    "rms_scaling": true)")}));
  EXPECT_EQ(rms.count<RmsNorm>(), 1U);
  EXPECT_EQ(rms.parameters(), 9);
}

TEST(KerasNormalization, groups) {
  const Built net(sequential(image, {layer("GroupNormalization", R"("groups": 3, "axis": -1)")}));
  EXPECT_EQ(net.op<GroupNorm>("x").groups, 3);
  EXPECT_EQ(net.parameters(), 12);
  const Built each(sequential(image, {layer("GroupNormalization", R"("groups": -1)")}));
  EXPECT_EQ(each.op<GroupNorm>("x").groups, 0);
  const Built unit(sequential("[null, 7]", {layer("UnitNormalization")}));
  EXPECT_EQ(unit.output_shape(), (Extent{2, 7}));
}

TEST(KerasNormalization, statistics_that_were_given_are_constants) {
  const Built given(sequential(image, {layer("Normalization", R"("axis": [-1],
      "mean": [1, 2, 3, 4, 5, 6], "variance": [1, 2, 3, 4, 5, 6])")}));
  EXPECT_EQ(given.parameters() + given.buffers(), 0);
  const Built adapted(sequential(image, {layer("Normalization", R"("axis": [-1])")}));
  EXPECT_EQ(adapted.parameters(), 0);
  EXPECT_EQ(adapted.buffers(), 6 + 6 + 1);
  EXPECT_EQ(adapted.output_shape(), (Extent{2, 6, 4, 5}));
  const Built rescaled(
      sequential(image, {layer("Rescaling", R"("scale": 0.5, "offset": [1, 2, 3, 4, 5, 6])")}));
  EXPECT_EQ(rescaled.parameters() + rescaled.buffers(), 0);
  EXPECT_EQ(rescaled.count<Elementwise>(), 2U);
}

// ---- activations --------------------------------------------------------------------------------

TEST(KerasActivation, layers_and_arguments) {
  const Built six(sequential("[null, 7]", {layer("ReLU", R"("max_value": 6.0)")}));
  EXPECT_EQ(six.op<Unary>("x").kind, UnaryKind::relu6);
  const Built leaky(sequential("[null, 7]", {layer("ReLU", R"("negative_slope": 0.1)")}));
  EXPECT_EQ(leaky.op<Unary>("x").kind, UnaryKind::leaky_relu);
  const Built object(sequential("[null, 7]", {layer("Dense", R"("units": 3, "activation":
      {"module": "builtins", "class_name": "function", "config": "relu6"})")}));
  EXPECT_EQ(object.op<Unary>("x/relu6").kind, UnaryKind::relu6);
  const Built as_layer(sequential("[null, 7]", {layer("Dense", R"("units": 3, "activation":
      {"class_name": "LeakyReLU", "config": {"alpha": 0.1}})")}));
  EXPECT_EQ(as_layer.op<Unary>("x/leaky_relu").kind, UnaryKind::leaky_relu);
  const Built none(sequential("[null, 7]", {layer("Activation", R"("activation": "linear")")}));
  EXPECT_EQ(none.count<Reshape>(), 1U);
}

TEST(KerasActivation, slopes_per_element_per_channel_or_one) {
  const Built channel(sequential(image, {layer("PReLU", R"("shared_axes": [1, 2])")}));
  EXPECT_EQ(channel.op<Unary>("x").kind, UnaryKind::prelu);
  EXPECT_EQ(channel.parameters(), 6);
  const Built element(sequential(image, {layer("PReLU")}));
  EXPECT_EQ(element.parameters(), 120);
  const Built one(sequential("[null, 7]", {layer("PReLU", R"("shared_axes": [1])")}));
  EXPECT_EQ(one.parameters(), 1);
}

}  // namespace
}  // namespace strata::keras
