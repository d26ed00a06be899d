// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/built_test.hpp"

namespace strata::keras {
namespace {

const std::string conv_image = "[null, 10, 11, 3]";

TEST(KerasConvolution, channels_last_is_stored_channels_first) {
  const Built net(
      sequential(conv_image, {layer("Conv2D", R"("filters": 8, "kernel_size": [3, 2])")}));
  EXPECT_EQ(net.shape(net.graph.inputs[0]), (Extent{2, 3, 10, 11}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 8, 8, 10}));
  EXPECT_EQ(net.parameters(), 8 * 3 * 3 * 2 + 8);
  EXPECT_EQ(net.mac(), 2 * 8 * 8 * 10 * 3 * 3 * 2);
}

TEST(KerasConvolution, channels_first_is_stored_as_it_is) {
  const Built net(
      sequential("[null, 3, 10, 11]", {layer("Conv2D", R"("filters": 8, "kernel_size": [3, 2],
                                                 "data_format": "channels_first")"),
                                       layer("Flatten")}));
  EXPECT_EQ(net.shape(net.graph.inputs[0]), (Extent{2, 3, 10, 11}));
  EXPECT_EQ(net.shape_of("x"), (Extent{2, 8, 8, 10}));
  EXPECT_EQ(net.count<Transpose>(), 0U);
}

TEST(KerasConvolution, a_network_of_both_formats_transposes_between_them) {
  const Built net(sequential(
      conv_image,
      {layer("Conv2D", R"("filters": 8, "kernel_size": 1, "data_format": "channels_last")", "a"),
       layer("Conv2D", R"("filters": 4, "kernel_size": 1, "data_format": "channels_first")",
             "b")}));
  // (N, 10, 11, 8) taken as channels first: 10 channels of 11 × 8.
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 11, 8}));
  EXPECT_EQ(net.count<Transpose>(), 1U);
}

TEST(KerasConvolution, names_and_arguments_of_keras_1) {
  const Built net(sequential(conv_image, {layer("Convolution2D", R"("nb_filter": 8, "nb_row": 3,
      "nb_col": 2, "subsample": [2, 1], "border_mode": "same", "bias": false, "dim_ordering": "tf",
      "activation": "relu")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 8, 5, 11}));
  EXPECT_EQ(net.parameters(), 8 * 3 * 3 * 2);
  EXPECT_NE(net.find("x/relu"), nullptr);
}

struct Same {
  std::int64_t extent, kernel, stride, dilation, begin, end;
};

// TensorFlow's table: pad = max((⌈n/s⌉ − 1) s + k − n, 0), the odd one after.
TEST(KerasConvolution, same_padding_is_tensorflows) {
  for (const Same& same :
       {Same{10, 3, 1, 1, 1, 1}, Same{10, 3, 2, 1, 0, 1}, Same{11, 3, 2, 1, 1, 1},
        Same{10, 2, 2, 1, 0, 0}, Same{11, 2, 2, 1, 0, 1}, Same{10, 1, 3, 1, 0, 0},
        Same{224, 7, 2, 1, 2, 3}, Same{10, 3, 1, 2, 2, 2}}) {
    const Built net(
        sequential(fmt::format("[null, {}, {}, 3]", same.extent, same.extent),
                   {layer("Conv2D", fmt::format(R"("filters": 1, "kernel_size": {}, "strides": {},
                                        "dilation_rate": {}, "padding": "same")",
                                                same.kernel, same.stride, same.dilation))}));
    const auto& op = net.op<Convolution>("x");
    EXPECT_EQ(op.pad_begin, (Extents{same.begin, same.begin})) << same.extent << " " << same.kernel;
    EXPECT_EQ(op.pad_end, (Extents{same.end, same.end})) << same.extent << " " << same.kernel;
    EXPECT_EQ(net.output_shape()[2], (same.extent + same.stride - 1) / same.stride);
  }
}

TEST(KerasConvolution, same_padding_of_an_open_extent_gives_the_same_length) {
  for (const std::int64_t kernel : {1, 2, 3, 5}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      const std::string text =
          sequential("[null, null, 8, 3]",
                     {layer("Conv2D", fmt::format(R"("filters": 1, "kernel_size": {}, "strides": {},
                                          "padding": "same")",
                                                  kernel, stride))});
      for (std::int64_t extent = 1; extent < 20; ++extent) {
        const Built net(text, {{"batch", 1}, {"height", extent}});
        EXPECT_EQ(net.output_shape()[2], (extent + stride - 1) / stride);
      }
    }
  }
}

TEST(KerasConvolution, causal_padding_lies_before) {
  const Built net(sequential(
      "[null, 20, 4]", {layer("Conv1D", R"("filters": 6, "kernel_size": [3], "padding": "causal",
                          "dilation_rate": [4])")}));
  EXPECT_EQ(net.op<Convolution>("x").pad_begin, (Extents{8}));
  EXPECT_EQ(net.op<Convolution>("x").pad_end, (Extents{0}));
  EXPECT_EQ(net.shape(net.graph.inputs[0]), (Extent{2, 4, 20})) << "stored for what reads it";
  EXPECT_EQ(net.output_shape(), (Extent{2, 6, 20}));
}

TEST(KerasConvolution, depthwise_and_separable) {
  const Built depthwise(sequential(
      conv_image, {layer("DepthwiseConv2D", R"("kernel_size": [3, 3], "depth_multiplier": 2)")}));
  EXPECT_EQ(depthwise.output_shape(), (Extent{2, 6, 8, 9}));
  EXPECT_EQ(depthwise.parameters(), 3 * 2 * 3 * 3 + 6);

  const Built separable(
      sequential(conv_image, {layer("SeparableConv2D", R"("filters": 5, "kernel_size": [3, 3],
                                          "depth_multiplier": 2, "activation": "relu")")}));
  EXPECT_EQ(separable.output_shape(), (Extent{2, 5, 8, 9}));
  EXPECT_EQ(separable.parameters(), 3 * 2 * 3 * 3 + 6 * 5 + 5) << "one bias, after the product";
  EXPECT_EQ(separable.op<Convolution>("x/depthwise").groups, 3);
  EXPECT_EQ(separable.op<Convolution>("x/pointwise").channels, 5);
}

struct Adjoint {
  std::string padding;
  std::int64_t extent, kernel, stride, expected;
};

// keras.utils.conv_utils.deconv_output_length.
TEST(KerasConvolution, transposed_lengths) {
  for (const Adjoint& adjoint :
       {Adjoint{"same", 14, 3, 1, 14}, Adjoint{"same", 14, 3, 2, 28}, Adjoint{"same", 14, 1, 2, 28},
        Adjoint{"valid", 14, 2, 2, 28}, Adjoint{"valid", 14, 3, 2, 29},
        Adjoint{"valid", 14, 1, 2, 28}, Adjoint{"valid", 5, 4, 1, 8}}) {
    const Built net(sequential(
        fmt::format("[null, {}, {}, 3]", adjoint.extent, adjoint.extent),
        {layer("Conv2DTranspose",
               fmt::format(R"("filters": 4, "kernel_size": {}, "strides": {}, "padding": "{}")",
                           adjoint.kernel, adjoint.stride, adjoint.padding))}));
    EXPECT_EQ(net.output_shape(), (Extent{2, 4, adjoint.expected, adjoint.expected}));
    EXPECT_EQ(net.parameters(), 3 * 4 * adjoint.kernel * adjoint.kernel + 4);
  }
}

TEST(KerasConvolution, transposed_with_output_padding) {
  const Built net(sequential(
      "[null, 14, 14, 3]",
      {layer("Conv2DTranspose", R"("filters": 4, "kernel_size": 3, "strides": 2, "padding": "same",
                                   "output_padding": [1, 1])")}));
  // (14 − 1)·2 + 3 − 2·1 + 1
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 28, 28}));
}

TEST(KerasConvolution, locally_connected_filters_differ_by_place) {
  const Built net(sequential(
      conv_image, {layer("LocallyConnected2D", R"("filters": 4, "kernel_size": [3, 3])")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 4, 8, 9}));
  EXPECT_EQ(net.parameters(), 8 * 9 * (3 * 3 * 3 * 4 + 4));
  EXPECT_EQ(net.mac(), 2 * 8 * 9 * 3 * 3 * 3 * 4);
}

TEST(KerasPooling, windows_and_strides) {
  const Built net(sequential(conv_image, {layer("MaxPooling2D", R"("pool_size": [2, 2],
                                           "strides": null, "padding": "same")")}));
  EXPECT_EQ(net.output_shape(), (Extent{2, 3, 5, 6})) << "the stride is the window";
  const Built old(sequential("[null, 20, 4]", {layer("MaxPooling1D", R"("pool_length": 3,
                                                     "stride": 2, "border_mode": "valid")")}));
  EXPECT_EQ(old.output_shape(), (Extent{2, 4, 9}));
}

TEST(KerasPooling, global) {
  const Built gone(sequential(conv_image, {layer("GlobalAveragePooling2D")}));
  EXPECT_EQ(gone.output_shape(), (Extent{2, 3}));
  const Built kept(sequential(conv_image, {layer("GlobalMaxPooling2D", R"("keepdims": true)")}));
  EXPECT_EQ(kept.output_shape(), (Extent{2, 3, 1, 1}));
  const Built over_time(sequential("[null, 20, 4]", {layer("GlobalMaxPooling1D")}));
  EXPECT_EQ(over_time.output_shape(), (Extent{2, 4}));
  EXPECT_EQ(over_time.count<Reduce>(), 1U);
}

TEST(KerasResizing, padding_cropping_and_upsampling) {
  const Built padded(
      sequential(conv_image, {layer("ZeroPadding2D", R"("padding": [[1, 2], [3, 4]])")}));
  EXPECT_EQ(padded.output_shape(), (Extent{2, 3, 13, 18}));
  const Built even(sequential(conv_image, {layer("ZeroPadding2D", R"("padding": [1, 2])")}));
  EXPECT_EQ(even.output_shape(), (Extent{2, 3, 12, 15}));
  const Built keras_1(sequential(conv_image, {layer("ZeroPadding2D", R"("padding": {"top_pad": 1,
                                               "bottom_pad": 0, "left_pad": 0, "right_pad": 2})")}));
  EXPECT_EQ(keras_1.output_shape(), (Extent{2, 3, 11, 13}));
  const Built steps(sequential("[null, 20, 4]", {layer("ZeroPadding1D", R"("padding": [1, 2])")}));
  EXPECT_EQ(steps.output_shape(), (Extent{2, 23, 4}));
  const Built cropped(
      sequential(conv_image, {layer("Cropping2D", R"("cropping": [[1, 2], [3, 4]])")}));
  EXPECT_EQ(cropped.output_shape(), (Extent{2, 3, 7, 4}));
  const Built larger(sequential(conv_image, {layer("UpSampling2D", R"("size": [2, 3],
                                              "interpolation": "bilinear")")}));
  EXPECT_EQ(larger.output_shape(), (Extent{2, 3, 20, 33}));
  const Built resized(sequential(conv_image, {layer("Resizing", R"("height": 4, "width": 5)")}));
  EXPECT_EQ(resized.output_shape(), (Extent{2, 3, 4, 5}));
  const Built middle(sequential(conv_image, {layer("CenterCrop", R"("height": 4, "width": 5)")}));
  EXPECT_EQ(middle.output_shape(), (Extent{2, 3, 4, 5}));
  EXPECT_EQ(complaint(sequential(conv_image, {layer("Cropping2D", R"("cropping": 6)")})),
            "input: net.json: layer 'x': the output would be empty: batch×3×-2×-1");
}

}  // namespace
}  // namespace strata::keras
