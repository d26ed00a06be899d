// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

namespace strata::keras {
namespace {

bool is_zero(const Json* value) { return value == nullptr || *value == 0; }

// One number for all, or one per entry of the last axis.
Shape constant_shape(const LayerCall& call, Value x, const Json* value) {
  const Json* list = value == nullptr ? nullptr : list_in(*value);
  Shape shape(call.rank(x), 1);
  if (list != nullptr && list->size() > 1) {
    shape.back() = static_cast<std::int64_t>(list->size());
  }
  return stored_shape(shape, x.channels_at);
}

// The shape that statistics have along the axes that a Normalization names; 1 elsewhere.
Shape statistics_shape(const LayerCall& call, Value x) {
  const Shape extents = call.shape(x);
  Shape kept(extents.size(), 1);
  const bool is_one_for_all = call.config.find({"axis"}) == nullptr;
  if (!is_one_for_all) {
    for (const std::int64_t axis : call.config.numbers({"axis"})) {
      const std::size_t place = call.axis_of(x, axis);
      if (!extents[place].is_number()) {
        fail(ErrorKind::unsupported, "statistics along an extent that is left open");
      }
      kept[place] = extents[place];
    }
  }
  return stored_shape(kept, x.channels_at);
}

}  // namespace

Values make_rescaling(LayerCall& call) {
  const Value x = call.only_input();
  const Json* offset = call.config.find({"offset"});
  const TensorId scale = call.stored("scale", constant_shape(call, x, call.config.find({"scale"})),
                                     TensorKind::constant);
  TensorId y = call.add(Elementwise{ElementwiseKind::multiply}, {x.id, scale});
  if (!is_zero(offset)) {
    const TensorId shift =
        call.stored("offset", constant_shape(call, x, offset), TensorKind::constant);
    y = call.add(Elementwise{ElementwiseKind::add}, {y, shift}, "offset");
  }
  return {{y, x.channels_at}};
}

// (x − mean) / deviation. Statistics that were given are constants; those taken from data are
// weights of the layer that nothing learns, with a count of the samples seen.
Values make_normalization(LayerCall& call) {
  const Value x = call.only_input();
  const Shape shape = statistics_shape(call, x);
  const bool is_given = call.config.find({"mean"}) != nullptr;
  const TensorKind kind = is_given ? TensorKind::constant : TensorKind::buffer;
  const TensorId mean = call.stored("mean", shape, kind);
  const TensorId variance = call.stored("variance", shape, kind);
  if (!is_given) call.stored("count", {1}, kind);
  const TensorId deviation = call.add(Unary{UnaryKind::square_root}, {variance}, "deviation");
  if (call.config.truth({"invert"}, false)) {
    const TensorId y =
        call.add(Elementwise{ElementwiseKind::multiply}, {x.id, deviation}, "scaled");
    return {{call.add(Elementwise{ElementwiseKind::add}, {y, mean}), x.channels_at}};
  }
  const TensorId y = call.add(Elementwise{ElementwiseKind::subtract}, {x.id, mean}, "centred");
  return {{call.add(Elementwise{ElementwiseKind::divide}, {y, deviation}), x.channels_at}};
}

Values make_category_encoding(LayerCall& call) {
  const Shape shape = call.shape(call.only_input());
  const std::int64_t tokens = call.config.whole({"num_tokens"});
  if (tokens < 1) fail(ErrorKind::input, "'num_tokens' must be at least 1, got {}", tokens);
  Shape result = shape;
  if (call.config.word({"output_mode"}, "multi_hot") == "one_hot" && !shape.back().is(1)) {
    result.push_back(tokens);
  } else {
    result.back() = tokens;
  }
  return uncounted(call, {result});
}

}  // namespace strata::keras
