// SPDX-License-Identifier: Apache-2.0
#include "tests/device/training_cases.hpp"

#include "strata/graph/operator_names.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strata::test {
namespace {

using Cases = std::vector<TrainingCase>;

Convolution conv(std::int64_t channels, Extents kernel, Extents stride = {}, Extents pad = {}) {
  Convolution op;
  op.channels = channels;
  op.kernel = kernel;
  op.stride = stride;
  op.pad_begin = op.pad_end = pad;
  return op;
}

void add_convolutions(Cases& cases) {
  cases.push_back({"conv 3x3", conv(5, {3, 3}, {}, {1, 1}), {{{2, 3, 9, 11}}}});
  cases.push_back({"conv 1x1", conv(7, {1, 1}), {{{3, 5, 6, 7}}}});
  cases.push_back({"conv 11x11 stride 4", conv(4, {11, 11}, {4, 4}, {2, 2}), {{{2, 3, 35, 35}}}});
  cases.push_back({"conv 5x5", conv(6, {5, 5}, {}, {2, 2}), {{{2, 4, 13, 13}}}});
  cases.push_back({"conv 3x3 stride 2", conv(8, {3, 3}, {2, 2}, {1, 1}), {{{2, 4, 15, 14}}}});
  Convolution dilated = conv(3, {3, 3}, {}, {2, 2});
  dilated.dilation = {2, 2};
  cases.push_back({"conv dilated", dilated, {{{2, 2, 10, 9}}}});
  Convolution uneven = conv(3, {3, 2}, {2, 1});
  uneven.pad_begin = {0, 1};
  uneven.pad_end = {1, 0};
  uneven.bias = false;
  cases.push_back({"conv uneven padding", uneven, {{{2, 3, 8, 7}}}});
  Convolution grouped = conv(6, {3, 3}, {}, {1, 1});
  grouped.groups = 3;
  cases.push_back({"conv groups", grouped, {{{2, 9, 7, 7}}}});
  for (const std::int64_t kernel : {3, 5, 7}) {
    for (const std::int64_t stride : {1, 2}) {
      Convolution depthwise = conv(6, {kernel, kernel}, {stride, stride}, {kernel / 2, kernel / 2});
      depthwise.groups = 6;
      depthwise.bias = false;
      cases.push_back(
          {"conv depthwise " + std::to_string(kernel) + " stride " + std::to_string(stride),
           depthwise,
           {{{3, 6, 15, 14}}}});
    }
  }
  cases.push_back({"conv 1-D", conv(4, {3}, {2}, {1}), {{{2, 3, 17}}}});
  cases.push_back({"conv 3-D", conv(3, {2, 3, 3}, {1, 2, 1}, {0, 1, 1}), {{{2, 2, 5, 6, 7}}}});
  Convolution transposed = conv(5, {3, 3}, {2, 2}, {1, 1});
  transposed.transposed = true;
  transposed.output_padding = {1, 0};
  cases.push_back({"conv transposed", transposed, {{{2, 4, 6, 5}}}});
  transposed.groups = 2;
  transposed.channels = 6;
  cases.push_back({"conv transposed groups", transposed, {{{2, 4, 6, 5}}}});
}

void add_products(Cases& cases) {
  cases.push_back({"linear", Linear{.features = 13}, {{{7, 19}}}});
  cases.push_back({"linear of sequences", Linear{.features = 8, .bias = false}, {{{3, 5, 12}}}});
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::vector<std::int64_t> a =
          ta ? std::vector<std::int64_t>{3, 6, 5} : std::vector<std::int64_t>{3, 5, 6};
      const std::vector<std::int64_t> b =
          tb ? std::vector<std::int64_t>{3, 7, 6} : std::vector<std::int64_t>{3, 6, 7};
      cases.push_back({"matmul", MatMul{ta, tb}, {{a}, {b}}});
    }
  }
  cases.push_back({"matmul broadcast", MatMul{}, {{{2, 3, 4, 5}}, {{3, 5, 6}}}});
  cases.push_back({"matmul broadcast left", MatMul{.transpose_b = true}, {{{4, 5}}, {{3, 6, 5}}}});
  const std::vector<CaseInput> qkv = {{{2, 5, 12}}, {{2, 7, 12}}, {{2, 7, 8}}};
  cases.push_back({"attention", Attention{.heads = 4}, qkv});
  cases.push_back({"attention causal", Attention{.heads = 2, .causal = true}, qkv});
  cases.push_back({"attention grouped",
                   Attention{.heads = 4, .kv_heads = 2},
                   {{{2, 5, 12}}, {{2, 7, 6}}, {{2, 7, 8}}}});
  std::vector<CaseInput> masked = qkv;
  masked.push_back({{1, 4, 5, 7}});
  cases.push_back({"attention masked", Attention{.heads = 4}, masked});
}

void add_recurrent(Cases& cases) {
  for (const CellKind cell :
       {CellKind::lstm, CellKind::gru, CellKind::rnn_tanh, CellKind::rnn_relu}) {
    Recurrent op{.cell = cell, .hidden = 5};
    cases.push_back({"recurrent", op, {{{3, 4, 6}}}});
    op.layers = 2;
    op.bidirectional = true;
    op.biases = 1;
    cases.push_back({"recurrent two layers, both ways", op, {{{2, 3, 4}}}});
    op.layers = 1;
    op.biases = 0;
    op.bidirectional = false;
    std::vector<CaseInput> given = {{{3, 4, 6}}, {{1, 3, 5}}};
    if (cell == CellKind::lstm) given.push_back({{1, 3, 5}});
    cases.push_back({"recurrent from given states", op, given});
  }
  // With weights as small as networks have them at that size: with others each step makes the
  // differences between devices larger.
  for (const CellKind cell : {CellKind::lstm, CellKind::gru, CellKind::rnn_tanh}) {
    const Recurrent op{.cell = cell, .hidden = 128, .layers = 2};
    cases.push_back({"recurrent of whole tiles", op, {{{16, 6, 64}}}});
    cases.back().own_low = -0.09;
    cases.back().own_high = 0.09;
  }
  Recurrent projected{.cell = CellKind::lstm, .hidden = 6, .layers = 2};
  projected.bidirectional = true;
  projected.projection = 4;
  cases.push_back({"recurrent projected", projected, {{{2, 3, 5}}}});
}

void add_pools(Cases& cases) {
  for (const PoolKind kind : {PoolKind::maximum, PoolKind::average}) {
    Pool op{.kind = kind};
    op.kernel = {3, 3};
    op.stride = {2, 2};
    op.pad_begin = op.pad_end = {1, 1};
    cases.push_back({"pool", op, {{{2, 3, 9, 11}}}});
    op.ceil_mode = true;
    op.count_include_pad = true;
    cases.push_back({"pool ceil", op, {{{2, 3, 8, 10}}}});
    Pool dilated{.kind = kind};
    dilated.kernel = {2, 2};
    dilated.dilation = {2, 1};
    cases.push_back({"pool dilated", dilated, {{{2, 2, 7, 6}}}});
    Pool volume{.kind = kind};
    volume.kernel = {2, 3, 2};
    volume.stride = {1, 2, 2};
    cases.push_back({"pool 3-D", volume, {{{2, 2, 4, 7, 6}}}});
    cases.push_back(
        {"adaptive pool", AdaptivePool{.kind = kind, .output = {3, 2}}, {{{2, 3, 7, 5}}}});
    cases.push_back({"global pool", AdaptivePool{.kind = kind}, {{{3, 5, 7, 7}}}});
  }
}

void add_normalizations(Cases& cases) {
  for (const bool affine : {true, false}) {
    cases.push_back({"batch norm", BatchNorm{affine, affine}, {{{4, 6, 5, 8}}}});
    cases.push_back({"layer norm", LayerNorm{.scale = affine, .shift = affine}, {{{4, 3, 18}}}});
    cases.push_back({"rms norm", RmsNorm{.scale = affine}, {{{4, 3, 18}}}});
    cases.push_back({"group norm", GroupNorm{3, affine, affine}, {{{3, 6, 4, 5}}}});
  }
  cases.push_back({"batch norm of odd planes", BatchNorm{}, {{{5, 3, 7, 7}}}});
  cases.push_back({"batch norm of vectors", BatchNorm{}, {{{9, 5}}}});
  cases.push_back({"layer norm of planes", LayerNorm{.axis = -2}, {{{4, 6, 7}}}});
  cases.push_back({"instance norm", GroupNorm{}, {{{3, 4, 6, 5}}}});
  cases.push_back({"group norm of vectors", GroupNorm{.groups = 2}, {{{5, 6}}}});
  cases.push_back({"local response norm", LocalResponseNorm{.size = 5}, {{{2, 7, 4, 3}, -9, 9}}});
  cases.push_back(
      {"local response norm, even", LocalResponseNorm{.size = 4}, {{{2, 7, 5}, -9, 9}}});
}

void add_pointwise(Cases& cases) {
  for (auto kind = UnaryKind::relu; kind <= UnaryKind::sign;
       kind = static_cast<UnaryKind>(static_cast<int>(kind) + 1)) {
    const bool needs_positive = kind == UnaryKind::square_root || kind == UnaryKind::reciprocal ||
                                kind == UnaryKind::logarithm;
    cases.push_back({"unary " + std::to_string(static_cast<int>(kind)),
                     Unary{kind},
                     {{{3, 5, 37}, needs_positive ? 0.5 : -5, needs_positive ? 3.0 : 5}}});
  }
  cases.push_back({"logical not", Unary{UnaryKind::logical_not}, {{{3, 7}, 0, 2, DType::boolean}}});
  for (const bool log : {false, true}) {
    cases.push_back({"softmax", Softmax{.log = log}, {{{3, 4, 33}, -4, 4}}});
    cases.push_back({"softmax of channels", Softmax{.axis = 1, .log = log}, {{{3, 7, 5}, -4, 4}}});
  }
  cases.push_back({"dropout", Dropout{.probability = 0.4}, {{{6, 41}}}});
  cases.push_back({"rotary", RotaryEmbedding{.heads = 3}, {{{2, 5, 24}}}});
  cases.push_back({"yolo", Yolo{.boxes = 2, .classes = 3}, {{{2, 16, 3, 5}, -3, 3}}});
  cases.push_back({"cast", Cast{DType::int32}, {{{4, 9}, -20, 20}}});
}

void add_elementwise(Cases& cases) {
  for (auto kind = ElementwiseKind::add; kind <= ElementwiseKind::less;
       kind = static_cast<ElementwiseKind>(static_cast<int>(kind) + 1)) {
    const CaseInput whole{{3, 4, 17}, 0.5, 3}, row{{4, 1}, 0.5, 3}, other{{3, 1, 17}, 0.5, 3};
    const std::string name = "elementwise " + std::to_string(static_cast<int>(kind));
    cases.push_back({name, Elementwise{kind}, {whole, whole}});
    cases.push_back({name + " repeated", Elementwise{kind}, {other, row}});
  }
  for (const ElementwiseKind kind : {ElementwiseKind::add, ElementwiseKind::multiply,
                                     ElementwiseKind::maximum, ElementwiseKind::mean})
    cases.push_back({"elementwise of three", Elementwise{kind}, {{{2, 9}}, {{9}}, {{2, 1}}}});
  const CaseInput condition{{3, 4}, 0, 2, DType::boolean};
  cases.push_back({"select", Elementwise{ElementwiseKind::select}, {condition, {{3, 4}}, {{4}}}});
  for (const ElementwiseKind kind : {ElementwiseKind::logical_and, ElementwiseKind::logical_or})
    cases.push_back({"logic", Elementwise{kind}, {condition, condition}});
  cases.push_back({"bias of many rows", Elementwise{}, {{{70, 9}}, {{9}}}});
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::maximum,
                                ReduceKind::minimum, ReduceKind::product, ReduceKind::l2}) {
    const std::string name = "reduce " + std::to_string(static_cast<int>(kind));
    cases.push_back({name, Reduce{.kind = kind, .axes = {1}}, {{{3, 5, 4}, 0.5, 1.5}}});
    cases.push_back({name + " ends",
                     Reduce{.kind = kind, .axes = {0, 2}, .keep_axes = true},
                     {{{9, 3, 11}, 0.9, 1.1}}});
    cases.push_back({name + " all", Reduce{.kind = kind}, {{{4, 3, 3}, 0.5, 1.5}}});
  }
  // A third of the numbers are 0: none, one or several in a product.
  CaseInput zeros{{5, 4, 3}};
  zeros.indices_below = 3;
  cases.push_back(
      {"product of zeros", Reduce{.kind = ReduceKind::product, .axes = {0, 2}}, {zeros}});
  cases.push_back({"product of all zeros", Reduce{.kind = ReduceKind::product}, {zeros}});
  cases.push_back(
      {"product of zeros in a row", Reduce{.kind = ReduceKind::product, .axes = {1}}, {zeros}});
}

void add_losses(Cases& cases) {
  cases.push_back(
      {"cross-entropy", SoftmaxCrossEntropy{}, {{{6, 11}, -3, 3}, {{6}, 0, 1, DType::int64, 11}}});
  cases.push_back({"cross-entropy of channels",
                   SoftmaxCrossEntropy{.axis = 1},
                   {{{3, 5, 4}, -3, 3}, {{3, 4}, 0, 1, DType::int64, 5}}});
  cases.push_back({"squared error", SquaredError{}, {{{4, 7}}, {{4, 7}}}});
}

void add_movement(Cases& cases) {
  cases.push_back({"concat", Concat{}, {{{2, 3, 8}}, {{2, 4, 8}}, {{2, 1, 8}}}});
  cases.push_back({"concat last", Concat{.axis = -1}, {{{2, 3, 5}}, {{2, 3, 2}}}});
  cases.push_back({"split", Split{.axis = 1, .sizes = {2, 5, 1}}, {{{3, 8, 4}}}});
  cases.push_back({"split parts", Split{.axis = -1, .parts = 3}, {{{3, 4, 6}}}});
  Slice slice;
  slice.axes = {0, 2};
  slice.begin = {1, 7};
  slice.end = {4, 0};
  slice.step = {2, -3};
  cases.push_back({"slice", slice, {{{5, 3, 9}}}});
  cases.push_back({"reshape", Reshape{.shape = {6, -1}}, {{{3, 4, 5}}}});
  cases.push_back({"flatten", Flatten{}, {{{3, 4, 5}}}});
  cases.push_back({"transpose", Transpose{.permutation = {2, 0, 3, 1}}, {{{3, 4, 5, 6}}}});
  cases.push_back({"expand", Expand{.shape = {2, 3, 4, 5}}, {{{3, 1, 5}}}});
  cases.push_back({"pad", Pad{.begin = {0, 1, -1}, .end = {2, -1, 3}}, {{{3, 4, 5}}}});
  for (const ResizeKind kind : {ResizeKind::nearest, ResizeKind::linear, ResizeKind::cubic}) {
    cases.push_back({"resize up", Resize{.kind = kind, .scale = {2, 3}}, {{{2, 2, 4, 5}}}});
    cases.push_back({"resize to", Resize{.kind = kind, .output = {3, 7}}, {{{2, 2, 5, 4}}}});
  }
  cases.push_back(
      {"embedding", Embedding{.vocabulary = 9, .width = 6}, {{{4, 5}, 0, 1, DType::int64, 9}}});
  cases.push_back({"gather", Gather{.axis = 1}, {{{3, 6, 4}}, {{2, 5}, 0, 1, DType::int64, 6}}});
  cases.push_back({"channel shuffle", ChannelShuffle{.groups = 3}, {{{2, 12, 3, 4}}}});
  cases.push_back({"space to depth", SpaceToDepth{}, {{{2, 3, 6, 8}}}});
  cases.push_back({"depth to space", SpaceToDepth{2, true}, {{{2, 12, 3, 4}}}});
}

}  // namespace

std::vector<TrainingCase> training_cases() {
  Cases cases;
  add_convolutions(cases);
  add_products(cases);
  add_recurrent(cases);
  add_pools(cases);
  add_normalizations(cases);
  add_pointwise(cases);
  add_elementwise(cases);
  add_losses(cases);
  add_movement(cases);
  return cases;
}

namespace {

// An operator that nobody added here would go untested.
TEST(TrainingCases, has_every_operator_but_the_unknown) {
  std::set<std::size_t> seen;
  for (const TrainingCase& one : training_cases()) seen.insert(one.op.index());
  EXPECT_EQ(seen.size(), std::variant_size_v<AnyOperator> - 1);
  EXPECT_FALSE(seen.contains(Operator(Opaque{}).index()));
}

}  // namespace
}  // namespace strata::test
