// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

namespace strata::keras {
namespace {

/// What attention is asked about: query, value, key and mask, by position or by name.
struct Asked {
  Value query;
  Value value;
  Value key;
  std::optional<Value> mask;
};

std::optional<Value> named_value(const LayerCall& call, std::string_view name) {
  const Given* given = call.named(name);
  if (given == nullptr || given->values.empty()) return std::nullopt;
  return given->values.front();
}

// MultiHeadAttention(query, value, key); Attention([query, value, key]).
Asked asked_of(LayerCall& call) {
  const auto find = [&](std::size_t position, std::string_view name) -> std::optional<Value> {
    if (position < call.inputs.size()) return call.inputs[position];
    return named_value(call, name);
  };
  const std::optional<Value> query = find(0, "query");
  const std::optional<Value> value = find(1, "value");
  if (!query || !value) fail(ErrorKind::input, "expected a query and a value");
  const std::optional<Value> key = find(2, "key");
  return {*query, *value, key.value_or(*value), named_value(call, "attention_mask")};
}

/// (N, …, features) as (N, places, features): attention goes over all axes between.
Value sequence(LayerCall& call, Value x, std::string_view suffix) {
  const Shape shape = call.shape(x);
  if (shape.size() < 3) {
    fail(ErrorKind::input, "expected an input of at least 3 axes, got {}", call.net.text(shape));
  }
  if (shape.size() == 3) return call.plain(x);
  return call.plain(reshaped(call, x, {-1, shape.back()}, suffix));
}

TensorId broadcast_mask(LayerCall& call, Value mask) {
  const Shape shape = call.shape(mask);
  if (shape.size() != 3) return mask.id;  // [S, T] and [N, heads, S, T] fit as they are
  return call.add(Reshape{{shape[0], 1, shape[1], shape[2]}}, {mask.id}, "mask");
}

struct Heads {
  std::int64_t query = 1;
  std::int64_t key_value = 1;
  std::int64_t key_width = 0;
  std::int64_t value_width = 0;
};

TensorId projected(LayerCall& call, Value x, std::int64_t features, std::string_view suffix) {
  const Linear op{.features = features, .bias = call.config.truth({"use_bias"}, true)};
  return call.add(op, {x.id}, suffix);
}

Values attend(LayerCall& call, const Heads& heads) {
  if (call.is_asked("return_attention_scores")) {
    fail(ErrorKind::unsupported, "attention scores as an output");
  }
  if (call.config.find({"attention_axes"}) != nullptr &&
      call.config.numbers({"attention_axes"}) != std::vector<std::int64_t>{1}) {
    fail(ErrorKind::unsupported, "attention over some of the axes only");
  }
  const Asked asked = asked_of(call);
  const Shape query_shape = call.shape(asked.query);
  const std::int64_t features = call.extent(asked.query, -1);
  const Value query = sequence(call, asked.query, "query_places");
  const Value key = sequence(call, asked.key, "key_places");
  const Value value = sequence(call, asked.value, "value_places");
  std::vector<TensorId> operands = {
      projected(call, query, checked_mul(heads.query, heads.key_width), "query"),
      projected(call, key, checked_mul(heads.key_value, heads.key_width), "key"),
      projected(call, value, checked_mul(heads.key_value, heads.value_width), "value")};
  if (asked.mask) operands.push_back(broadcast_mask(call, *asked.mask));
  const Attention op{.heads = heads.query,
                     .kv_heads = heads.key_value,
                     .causal = call.is_asked("use_causal_mask")};
  if (call.config.number({"dropout"}, 0) > 0) {
    call.note(WarningCode::part_ignored, "dropout of attention weights is left out");
  }
  const TensorId attended = call.add(op, operands, "attention");
  const Json* stated = call.config.find({"output_shape"});
  const std::vector<std::int64_t> output =
      stated == nullptr ? std::vector{features} : call.config.numbers({"output_shape"});
  if (output.size() != 1) {
    fail(ErrorKind::unsupported, "an output of {} axes per place", output.size());
  }
  const Value y{projected(call, {attended, 0}, output.front(), {}), 0};
  if (query_shape.size() == 3) return {y};
  Shape places;
  for (std::size_t axis = 1; axis + 1 < query_shape.size(); ++axis) {
    places.push_back(query_shape[axis]);
  }
  places.push_back(output.front());
  return {reshaped(call, y, places, "places")};
}

std::int64_t positive(const Config& config, Names names) {
  const std::int64_t number = config.whole(names);
  if (number < 1) {
    fail(ErrorKind::input, "'{}' must be at least 1, got {}", *names.begin(), number);
  }
  return number;
}

}  // namespace

Values make_multi_head_attention(LayerCall& call) {
  const std::int64_t heads = positive(call.config, {"num_heads"});
  const std::int64_t width = positive(call.config, {"key_dim"});
  return attend(call, {heads, heads, width, call.config.whole({"value_dim"}, width)});
}

Values make_group_query_attention(LayerCall& call) {
  const std::int64_t width = positive(call.config, {"head_dim"});
  return attend(call, {positive(call.config, {"num_query_heads"}),
                       positive(call.config, {"num_key_value_heads"}), width, width});
}

// softmax(Q Kᵀ) V on what it gets; at most one learnt number, the scale of the scores.
Values make_attention(LayerCall& call) {
  const Asked asked = asked_of(call);
  TensorId query = sequence(call, asked.query, "query").id;
  const TensorId key = sequence(call, asked.key, "key").id;
  const TensorId value = sequence(call, asked.value, "value").id;
  if (call.config.truth({"use_scale"}, false)) {
    const TensorId scale = call.stored("scale", {1});
    query = call.add(Elementwise{ElementwiseKind::multiply}, {query, scale}, "scale");
  }
  const Attention op{.causal =
                         call.is_asked("use_causal_mask") || call.config.truth({"causal"}, false)};
  return {{call.add(op, {query, key, value}), 0}};
}

// Bahdanau's: score(q, k) = Σ scale · tanh(q + k), over every pair of places.
Values make_additive_attention(LayerCall& call) {
  const Asked asked = asked_of(call);
  const Value query = sequence(call, asked.query, "query_places");
  const Value key = sequence(call, asked.key, "key_places");
  const Value value = sequence(call, asked.value, "value_places");
  const Shape q = call.shape(query);
  const Shape k = call.shape(key);
  const TensorId q_wide = call.add(Reshape{{q[0], q[1], 1, q[2]}}, {query.id}, "query");
  const TensorId k_wide = call.add(Reshape{{k[0], 1, k[1], k[2]}}, {key.id}, "key");
  TensorId pairs = call.add(Elementwise{ElementwiseKind::add}, {q_wide, k_wide}, "pairs");
  pairs = call.add(Unary{UnaryKind::tanh}, {pairs}, "tanh");
  if (call.config.truth({"use_scale"}, true)) {
    const TensorId scale = call.stored("scale", {call.extent(query, -1)});
    pairs = call.add(Elementwise{ElementwiseKind::multiply}, {pairs, scale}, "scale");
  }
  const TensorId scores = call.add(Reduce{.kind = ReduceKind::sum, .axes = {3}}, {pairs}, "scores");
  const TensorId weights = call.add(Softmax{}, {scores}, "softmax");
  return {{call.add(MatMul{}, {weights, value.id}), 0}};
}

}  // namespace strata::keras
