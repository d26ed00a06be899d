// SPDX-License-Identifier: Apache-2.0
#include "strata/graph/sequence_builder.hpp"

#include <array>
#include <utility>
#include <vector>

namespace strata {

SequenceBuilder::SequenceBuilder(std::string name, std::int64_t default_batch,
                                 std::int64_t default_seq)
    : GraphBuilder(std::move(name)),
      batch_(symbols().parameter("batch", default_batch)),
      seq_(symbols().parameter("seq", default_seq)) {}

TensorId SequenceBuilder::tokens(std::string_view name) {
  return input(name, {batch_, seq_}, DType::int64);
}

TensorId SequenceBuilder::features(std::string_view name, std::int64_t width) {
  return input(name, {batch_, seq_, width});
}

TensorId SequenceBuilder::linear(std::string_view name, TensorId x, std::int64_t features,
                                 bool bias) {
  return add(name, Linear{.features = features, .bias = bias}, {x});
}

TensorId SequenceBuilder::tied_linear(std::string_view name, TensorId x, TensorId table,
                                      bool bias) {
  const Linear layer{.features = extent(table, 0), .bias = bias};
  const std::array inputs{x};
  std::vector<TensorId> own{table};
  if (bias) own.push_back(stored(std::string(name) + ".bias", {layer.features}));
  return output_of(add_node(name, layer, inputs, own));
}

TensorId SequenceBuilder::embedding(std::string_view name, TensorId indices,
                                    std::int64_t vocabulary, std::int64_t width) {
  return add(name, Embedding{.vocabulary = vocabulary, .width = width}, {indices});
}

TensorId SequenceBuilder::shared_embedding(std::string_view name, TensorId indices,
                                           TensorId table) {
  const Embedding layer{.vocabulary = extent(table, 0), .width = extent(table, 1)};
  const std::array inputs{indices};
  const std::array own{table};
  return output_of(add_node(name, layer, inputs, own));
}

TensorId SequenceBuilder::learnt_positions(std::string_view name, std::int64_t most,
                                           std::int64_t width) {
  const Dim length = symbols().minimum(seq_, most);
  const TensorId numbers =
      stored(std::string(name) + ".position_ids", {1, length}, TensorKind::constant, DType::int64);
  return embedding(name, numbers, most, width);
}

TensorId SequenceBuilder::unary(std::string_view name, UnaryKind kind, TensorId x) {
  return add(name, Unary{kind}, {x});
}

TensorId SequenceBuilder::sum(std::string_view name, std::initializer_list<TensorId> terms) {
  return add(name, Elementwise{ElementwiseKind::add}, terms);
}

TensorId SequenceBuilder::product(std::string_view name, TensorId a, TensorId b) {
  return add(name, Elementwise{ElementwiseKind::multiply}, {a, b});
}

TensorId SequenceBuilder::dropout(std::string_view name, TensorId x, double probability) {
  return add(name, Dropout{probability}, {x});
}

TensorId SequenceBuilder::layer_norm(std::string_view name, TensorId x) {
  return add(name, LayerNorm{}, {x});
}

TensorId SequenceBuilder::rms_norm(std::string_view name, TensorId x) {
  return add(name, RmsNorm{}, {x});
}

TensorId SequenceBuilder::recurrent(std::string_view name, TensorId x, const Recurrent& layer) {
  const std::array inputs{x};
  return output_of(add_node(name, layer, inputs));
}

TensorId SequenceBuilder::first_token(std::string_view name, TensorId x) {
  const TensorId token = add(name, Slice{.axes = {1}, .begin = {0}, .end = {1}, .step = {}}, {x});
  return add(std::string(name) + ".flatten", Reshape{{batch_, extent(x, -1)}}, {token});
}

}  // namespace strata
