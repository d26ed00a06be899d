// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"

#include <string>
#include <utility>
#include <vector>

/// The layers of strata_memory_rates.
namespace memory_rates {

using namespace strata;

/// A layer on its own; inputs that are whole numbers are below `below`.
struct Layer {
  std::string name;
  Operator op;
  std::vector<Shape> inputs;
  std::int64_t below = 0;  ///< > 0: input `whole` holds whole numbers
  std::size_t whole = 0;
  /// A result depends on statistics of all numbers: what both come from is read from memory twice.
  bool is_read_twice = false;
};

inline std::vector<Layer> unary_layers() {
  std::vector<Layer> layers;
  for (const auto& [name, kind] : {std::pair{"relu", UnaryKind::relu},
                                   {"leaky relu", UnaryKind::leaky_relu},
                                   {"elu", UnaryKind::elu},
                                   {"gelu", UnaryKind::gelu},
                                   {"gelu (tanh)", UnaryKind::gelu_tanh},
                                   {"silu", UnaryKind::silu},
                                   {"sigmoid", UnaryKind::sigmoid},
                                   {"tanh", UnaryKind::tanh},
                                   {"mish", UnaryKind::mish},
                                   {"hard swish", UnaryKind::hard_swish},
                                   {"exp", UnaryKind::exponential},
                                   {"square", UnaryKind::square},
                                   {"prelu", UnaryKind::prelu}}) {
    layers.push_back({name, Unary{kind}, {{64, 256, 64, 64}}});
  }
  return layers;
}

// Tensors of 256 MiB in fp32, beyond the caches of most machines; less where there are several.
inline std::vector<Layer> all_layers() {
  const Shape image = {64, 256, 64, 64}, half_image = {32, 256, 64, 64};
  // Rows of 16 KiB lie a multiple of what a way of a first cache holds apart, short ones do not.
  const Shape short_rows = {87381, 768};
  const Shape rows = {16384, 4096}, half_rows = {8192, 4096}, text = {32, 2048, 1024};
  const auto pool = [](PoolKind kind, std::int64_t k, std::int64_t s, std::int64_t p) {
    return Pool{
        .kind = kind, .kernel = {k, k}, .stride = {s, s}, .pad_begin = {p, p}, .pad_end = {p, p}};
  };
  const auto elementwise = [](ElementwiseKind kind) { return Elementwise{kind}; };
  std::vector<Layer> layers = unary_layers();
  const std::vector<Layer> more = {
      {"add", elementwise(ElementwiseKind::add), {half_image, half_image}},
      {"multiply", elementwise(ElementwiseKind::multiply), {half_image, half_image}},
      {"add a row", elementwise(ElementwiseKind::add), {rows, {4096}}},
      {"multiply by a row", elementwise(ElementwiseKind::multiply), {rows, {4096}}},
      {"multiply by a row of 768", elementwise(ElementwiseKind::multiply), {short_rows, {768}}},
      {"multiply by channel", elementwise(ElementwiseKind::multiply), {image, {64, 256, 1, 1}}},
      {"multiply by column", elementwise(ElementwiseKind::multiply), {rows, {16384, 1}}},
      {"add of pairs", elementwise(ElementwiseKind::add), {{32, 64, 1, 1024}, {32, 1, 32, 1024}}},
      {"dropout", Dropout{0.3}, {image}},
      {"softmax", Softmax{}, {rows}},
      {"softmax, rows of 128", Softmax{}, {{524288, 128}}},
      {"softmax, 32000 classes", Softmax{}, {{2048, 32000}}},
      {"log softmax", Softmax{.log = true}, {rows}},
      {"softmax over channels", Softmax{.axis = 1}, {image}},
      {"cross entropy", SoftmaxCrossEntropy{}, {half_rows, {8192}}, 4096, 1},
      {"squared error", SquaredError{}, {rows, rows}},
      {.name = "batch norm", .op = BatchNorm{}, .inputs = {image}, .is_read_twice = true},
      {.name = "batch norm, 28x28",
       .op = BatchNorm{},
       .inputs = {{64, 512, 28, 28}},
       .is_read_twice = true},
      {.name = "batch norm, 7x7",
       .op = BatchNorm{},
       .inputs = {{512, 2048, 7, 7}},
       .is_read_twice = true},
      {.name = "batch norm of rows", .op = BatchNorm{}, .inputs = {rows}, .is_read_twice = true},
      {.name = "batch norm of 768",
       .op = BatchNorm{},
       .inputs = {short_rows},
       .is_read_twice = true},
      {"layer norm", LayerNorm{}, {rows}},
      {"layer norm, 768", LayerNorm{}, {short_rows}},
      {"rms norm", RmsNorm{}, {rows}},
      {"group norm", GroupNorm{.groups = 32}, {image}},
      {"instance norm", GroupNorm{}, {image}},
      {"local response norm", LocalResponseNorm{}, {{64, 96, 55, 55}}},
      {"max pool 3x3 /2", pool(PoolKind::maximum, 3, 2, 1), {{64, 64, 112, 112}}},
      {"max pool 2x2 /2", pool(PoolKind::maximum, 2, 2, 0), {{16, 64, 224, 224}}},
      {"max pool 3x3 /1", pool(PoolKind::maximum, 3, 1, 1), {{64, 480, 28, 28}}},
      {"average pool 2x2 /2", pool(PoolKind::average, 2, 2, 0), {{64, 256, 56, 56}}},
      {"average pool 3x3 /1", pool(PoolKind::average, 3, 1, 1), {{64, 192, 35, 35}}},
      {"global average pool", AdaptivePool{}, {{512, 2048, 7, 7}}},
      {"global average pool 64", AdaptivePool{}, {image}},
      {"sum of columns", Reduce{.kind = ReduceKind::sum, .axes = {0}}, {rows}},
      {"mean of rows", Reduce{.kind = ReduceKind::mean, .axes = {1}}, {rows}},
      {"mean of all", Reduce{.kind = ReduceKind::mean}, {rows}},
      {"max of rows", Reduce{.kind = ReduceKind::maximum, .axes = {1}}, {rows}},
      {"transpose", Transpose{}, {{8192, 8192}}},
      {"transpose of batches", Transpose{.permutation = {0, 2, 1}}, {{64, 1024, 1000}}},
      {"heads forward", Transpose{.permutation = {0, 2, 1, 3}}, {{32, 2048, 16, 64}}},
      {"channels last", Transpose{.permutation = {0, 2, 3, 1}}, {image}},
      {"concat", Concat{}, {half_image, half_image}},
      {"split", Split{.parts = 2}, {image}},
      {"slice", Slice{.axes = {1}, .begin = {Dim(64)}, .end = {Dim(192)}}, {image}},
      {"pad", Pad{.begin = {0, 0, 1, 1}, .end = {0, 0, 1, 1}}, {image}},
      {"expand", Expand{.shape = {64, 256, 64, 64}}, {{64, 256, 1, 1}}},
      {"channel shuffle", ChannelShuffle{.groups = 4}, {image}},
      {"space to depth", SpaceToDepth{}, {image}},
      {"resize nearest x2", Resize{.scale = {2, 2}}, {{16, 256, 64, 64}}},
      {"resize linear x2",
       Resize{.kind = ResizeKind::linear, .scale = {2, 2}},
       {{16, 256, 64, 64}}},
      {"linear, one row", Linear{.features = 8192, .bias = false}, {{1, 8192}}},
      {"linear, two rows", Linear{.features = 8192, .bias = false}, {{2, 8192}}},
      {"embedding", Embedding{.vocabulary = 32768, .width = 1024}, {{64, 1024}}, 32768, 0},
      {"rotary embedding", RotaryEmbedding{.heads = 16}, {text}},
      {"yolo", Yolo{}, {{64, 255, 64, 64}}}};
  layers.insert(layers.end(), more.begin(), more.end());
  return layers;
}

}  // namespace memory_rates
