// SPDX-License-Identifier: Apache-2.0
// Shapes against definitions written as enumeration: windows are counted by sliding them, slices by
// walking them.
#include "strata/graph/infer.hpp"

#include "strata/base/error.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>

namespace strata {
namespace {

using Types = std::vector<TensorType>;

struct Inferred {
  std::vector<Shape> outputs;
  std::vector<OwnTensor> own;
  DType dtype = DType::fp32;
};

Inferred inferred(const Operator& op, const std::vector<Shape>& inputs, DType dtype = DType::fp32) {
  Symbols symbols;
  Inference sheet(symbols);
  for (const Shape& shape : inputs) sheet.inputs.push_back({shape, dtype});
  infer(op, sheet);
  Inferred result{{}, sheet.own, sheet.outputs.front().dtype};
  for (const TensorType& output : sheet.outputs) result.outputs.push_back(output.shape);
  return result;
}

Shape output_shape(const Operator& op, const std::vector<Shape>& inputs) {
  return inferred(op, inputs).outputs.front();
}

std::string refusal(const Operator& op, const std::vector<Shape>& inputs,
                    DType dtype = DType::fp32) {
  try {
    inferred(op, inputs, dtype);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
    return error.what();
  }
  return "accepted";
}

/// Slides a window over positions 0 … padded−1 and counts how often it fits.
std::int64_t places_of_window(std::int64_t padded, std::int64_t kernel, std::int64_t stride,
                              std::int64_t dilation) {
  std::int64_t places = 0;
  for (std::int64_t start = 0; start + dilation * (kernel - 1) < padded; start += stride) ++places;
  return places;
}

RC_GTEST_PROP(Infer, convolution_counts_the_places_of_its_window, ()) {
  const std::int64_t in = *rc::gen::inRange(1, 40);
  const std::int64_t kernel = *rc::gen::inRange(1, 6);
  const std::int64_t stride = *rc::gen::inRange(1, 4);
  const std::int64_t dilation = *rc::gen::inRange(1, 4);
  const std::int64_t begin = *rc::gen::inRange(0, 4);
  const std::int64_t end = *rc::gen::inRange(0, 4);
  const Convolution op{.channels = 8,
                       .kernel = {kernel},
                       .stride = {stride},
                       .dilation = {dilation},
                       .pad_begin = {begin},
                       .pad_end = {end}};
  const std::int64_t places = places_of_window(in + begin + end, kernel, stride, dilation);
  if (places == 0) {
    RC_ASSERT(refusal(op, {{2, 4, in}}).find("larger than its padded input") != std::string::npos);
  } else {
    RC_ASSERT(output_shape(op, {{2, 4, in}}) == (Shape{2, 8, places}));
  }
}

RC_GTEST_PROP(Infer, transposed_convolution_undoes_the_shape, ()) {
  const std::int64_t in = *rc::gen::inRange(4, 40);
  const std::int64_t kernel = *rc::gen::inRange(1, 4);
  const std::int64_t stride = *rc::gen::inRange(1, 4);
  const std::int64_t pad = *rc::gen::inRange(0, 2);
  Convolution op{.channels = 8,
                 .kernel = {kernel, kernel},
                 .stride = {stride, stride},
                 .pad_begin = {pad, pad},
                 .pad_end = {pad, pad}};
  const Shape down = output_shape(op, {{2, 4, in, in}});
  op.channels = 4;
  op.transposed = true;
  const std::int64_t lost = (in + 2 * pad - kernel) % stride;  // what the forward window left over
  op.output_padding = {lost, lost};
  RC_ASSERT(output_shape(op, {down}) == (Shape{2, 4, in, in}));
}

TEST(Infer, convolution_weights) {
  const Convolution op{.channels = 12, .kernel = {3, 5}, .groups = 2};
  const auto own = inferred(op, {{1, 6, 9, 9}}).own;
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[0].shape, (Shape{12, 3, 3, 5}));
  EXPECT_EQ(own[1].shape, (Shape{12}));
  Convolution transposed = op;
  transposed.transposed = true;
  EXPECT_EQ(inferred(transposed, {{1, 6, 9, 9}}).own[0].shape, (Shape{6, 6, 3, 5}));
}

RC_GTEST_PROP(Infer, pooling_rounds_down_or_up, ()) {
  const std::int64_t in = *rc::gen::inRange(3, 40);
  const std::int64_t kernel = *rc::gen::inRange(1, 4);
  const std::int64_t stride = *rc::gen::inRange(1, 4);
  const std::int64_t pad = *rc::gen::inRange(0, 2);
  Pool op{.kernel = {kernel}, .stride = {stride}, .pad_begin = {pad}, .pad_end = {pad}};
  RC_ASSERT(output_shape(op, {{1, 1, in}}) ==
            (Shape{1, 1, places_of_window(in + 2 * pad, kernel, stride, 1)}));
  // Rounding up: windows go on until the input is covered, as long as they begin inside it or its
  // leading padding.
  op.ceil_mode = true;
  std::int64_t places = 1;
  for (std::int64_t start = 0; start + kernel < in + 2 * pad; start += stride) {
    if (start + stride < in + pad) ++places;
  }
  RC_ASSERT(output_shape(op, {{1, 1, in}}) == (Shape{1, 1, places}));
}

/// NumPy's rule, element by element.
std::int64_t walked_slice(std::int64_t extent, std::int64_t begin, std::int64_t end,
                          std::int64_t step) {
  std::int64_t length = 0;
  if (begin < 0) begin += extent;
  if (end < 0) end += extent;
  if (step > 0) {
    for (std::int64_t at = std::max<std::int64_t>(begin, 0); at < std::min(end, extent); at += step)
      ++length;
  } else {
    for (std::int64_t at = std::min(begin, extent - 1); at > std::max<std::int64_t>(end, -1);
         at += step)
      ++length;
  }
  return length;
}

RC_GTEST_PROP(Infer, slice_walks_like_numpy, ()) {
  const std::int64_t extent = *rc::gen::inRange(1, 12);
  const std::int64_t begin = *rc::gen::inRange(-14, 15);
  const std::int64_t end = *rc::gen::inRange(-14, 15);
  const std::int64_t step =
      *rc::gen::suchThat(rc::gen::inRange(-4, 5), [](int s) { return s != 0; });
  const Slice op{.axes = {1}, .begin = {begin}, .end = {end}, .step = {step}};
  const std::int64_t length = walked_slice(extent, begin, end, step);
  if (length == 0) {
    RC_ASSERT(refusal(op, {{3, extent}}).find("empty") != std::string::npos);
  } else {
    RC_ASSERT(output_shape(op, {{3, extent}}) == (Shape{3, length}));
  }
}

TEST(Infer, products) {
  EXPECT_EQ(output_shape(Linear{.features = 10}, {{7, 5, 3}}), (Shape{7, 5, 10}));
  EXPECT_EQ(inferred(Linear{.features = 10}, {{7, 5, 3}}).own[0].shape, (Shape{10, 3}));
  EXPECT_EQ(output_shape(MatMul{}, {{2, 1, 4, 5}, {3, 5, 6}}), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(output_shape(MatMul{.transpose_a = true, .transpose_b = true}, {{5, 4}, {6, 5}}),
            (Shape{4, 6}));
  EXPECT_NE(refusal(MatMul{}, {{4, 5}, {6, 7}}).find("inner extents"), std::string::npos);
}

TEST(Infer, attention_heads) {
  EXPECT_EQ(output_shape(Attention{.heads = 8}, {{2, 10, 64}, {2, 20, 64}, {2, 20, 128}}),
            (Shape{2, 10, 128}));
  EXPECT_EQ(
      output_shape(Attention{.heads = 8, .kv_heads = 2}, {{2, 10, 64}, {2, 20, 16}, {2, 20, 16}}),
      (Shape{2, 10, 64}));
  EXPECT_NE(refusal(Attention{.heads = 7}, {{2, 10, 64}, {2, 10, 64}, {2, 10, 64}}), "accepted");
  EXPECT_NE(refusal(Attention{.heads = 8, .kv_heads = 3}, {{2, 10, 64}, {2, 10, 24}, {2, 10, 24}}),
            "accepted");
}

TEST(Infer, recurrent_states_and_weights) {
  const Recurrent op{
      .cell = CellKind::lstm, .hidden = 6, .layers = 2, .bidirectional = true, .projection = 4};
  const Inferred result = inferred(op, {{3, 5, 7}});
  ASSERT_EQ(result.outputs.size(), 3u);
  EXPECT_EQ(result.outputs[0], (Shape{3, 5, 8}));
  EXPECT_EQ(result.outputs[1], (Shape{4, 3, 4}));
  EXPECT_EQ(result.outputs[2], (Shape{4, 3, 6}));
  ASSERT_EQ(result.own.size(), 2u * 2u * 5u);
  EXPECT_EQ(result.own[0].shape, (Shape{24, 7}));
  EXPECT_EQ(result.own[10].name, "weight_ih_l1");
  EXPECT_EQ(result.own[10].shape, (Shape{24, 8}));
  EXPECT_NE(refusal(Recurrent{.cell = CellKind::gru, .hidden = 6, .projection = 2}, {{3, 5, 7}}),
            "accepted");
  EXPECT_NE(refusal(Recurrent{.hidden = 6, .layers = 1'000'000'000}, {{3, 5, 7}}), "accepted");
}

TEST(Infer, normalizations_own_what_they_need) {
  const auto batch_norm = inferred(BatchNorm{}, {{2, 6, 4, 4}}).own;
  ASSERT_EQ(batch_norm.size(), 4u);
  EXPECT_EQ(batch_norm[2].kind, TensorKind::buffer);
  EXPECT_EQ(inferred(LayerNorm{.axis = -2}, {{2, 6, 4, 3}}).own[0].shape, (Shape{4, 3}));
  EXPECT_EQ(inferred(RmsNorm{}, {{2, 6, 4}}).own.size(), 1u);
  EXPECT_NE(refusal(GroupNorm{.groups = 4}, {{2, 6, 4}}), "accepted");
}

TEST(Infer, elementwise_broadcasts) {
  const Elementwise add{ElementwiseKind::add};
  EXPECT_EQ(output_shape(add, {{2, 1, 4}, {3, 1}, {4}}), (Shape{2, 3, 4}));
  EXPECT_NE(refusal(add, {{2, 3}, {2, 4}}).find("3 and 4"), std::string::npos);
  EXPECT_EQ(inferred(Elementwise{ElementwiseKind::less}, {{2}, {2}}).dtype, DType::boolean);
  EXPECT_NE(refusal(Elementwise{ElementwiseKind::subtract}, {{2}, {2}, {2}}), "accepted");
}

TEST(Infer, moving_data) {
  EXPECT_EQ(output_shape(Concat{1}, {{2, 3, 4}, {2, 5, 4}}), (Shape{2, 8, 4}));
  EXPECT_NE(refusal(Concat{1}, {{2, 3, 4}, {2, 5, 5}}), "accepted");
  EXPECT_EQ(inferred(Split{.axis = 1, .sizes = {1, 2}}, {{2, 3}}).outputs[1], (Shape{2, 2}));
  EXPECT_EQ(inferred(Split{.axis = 1, .parts = 3}, {{2, 6}}).outputs.size(), 3u);
  EXPECT_NE(refusal(Split{.axis = 1, .sizes = {1, 1}}, {{2, 3}}), "accepted");
  EXPECT_EQ(output_shape(Reshape{{0, -1}}, {{2, 3, 4}}), (Shape{2, 12}));
  EXPECT_NE(refusal(Reshape{{5, -1}}, {{2, 3}}), "accepted");
  EXPECT_NE(refusal(Reshape{{-1, -1}}, {{2, 3}}), "accepted");
  EXPECT_NE(refusal(Reshape{{7}}, {{2, 3}}), "accepted");
  EXPECT_EQ(output_shape(Flatten{}, {{2, 3, 4}}), (Shape{2, 12}));
  EXPECT_EQ(output_shape(Transpose{{2, 0, 1}}, {{2, 3, 4}}), (Shape{4, 2, 3}));
  EXPECT_NE(refusal(Transpose{{0, 0, 1}}, {{2, 3, 4}}), "accepted");
  EXPECT_EQ(output_shape(Expand{{5, 1, 4}}, {{3, 1}}), (Shape{5, 3, 4}));
  EXPECT_EQ(output_shape(Pad{{0, 1}, {0, 2}}, {{2, 3}}), (Shape{2, 6}));
  EXPECT_EQ(output_shape(SpaceToDepth{.block = 2}, {{1, 3, 4, 6}}), (Shape{1, 12, 2, 3}));
  EXPECT_EQ(output_shape(SpaceToDepth{.block = 2, .inverse = true}, {{1, 12, 2, 3}}),
            (Shape{1, 3, 4, 6}));
  EXPECT_EQ(output_shape(Resize{.scale = {2, 3}}, {{1, 8, 4, 4}}), (Shape{1, 8, 8, 12}));
  EXPECT_EQ(output_shape(Gather{.axis = 1}, {{2, 9, 4}, {5, 6}}), (Shape{2, 5, 6, 4}));
}

TEST(Infer, lookups_and_losses_want_integers) {
  EXPECT_EQ(inferred(Embedding{10, 4}, {{2, 3}}, DType::int64).outputs[0], (Shape{2, 3, 4}));
  EXPECT_NE(refusal(Embedding{10, 4}, {{2, 3}}), "accepted");
  EXPECT_NE(refusal(SoftmaxCrossEntropy{}, {{2, 3}, {2}}), "accepted");
  EXPECT_EQ(refusal(SquaredError{}, {{2, 3}, {2, 3}}), "accepted");
}

TEST(Infer, reductions) {
  EXPECT_EQ(output_shape(Reduce{.axes = {-1}}, {{2, 3, 4}}), (Shape{2, 3}));
  EXPECT_EQ(output_shape(Reduce{.axes = {0, 2}, .keep_axes = true}, {{2, 3, 4}}), (Shape{1, 3, 1}));
  EXPECT_EQ(output_shape(Reduce{}, {{2, 3, 4}}), Shape{});
  EXPECT_NE(refusal(Reduce{.axes = {3}}, {{2, 3, 4}}), "accepted");
}

TEST(Infer, sizes_beyond_64_bits_are_refused) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_NE(refusal(Convolution{.channels = 1, .kernel = {huge}, .dilation = {huge}}, {{1, 1, 9}}),
            "accepted");
  EXPECT_NE(refusal(Flatten{}, {{2, huge, 4}}), "accepted");
  EXPECT_NE(refusal(Pad{{huge, huge}, {huge, huge}}, {{2, 3}}), "accepted");
}

TEST(Infer, batch_stays_a_symbol) {
  Symbols symbols;
  Inference sheet(symbols);
  const Dim batch = symbols.parameter("batch", 32);
  sheet.inputs.push_back({{batch, 3, 8, 8}, DType::fp32});
  infer(Reshape{{-1, 64}}, sheet);
  EXPECT_EQ(sheet.outputs[0].shape, (Shape{symbols.multiply(batch, 3), 64}));
}

}  // namespace
}  // namespace strata
