// SPDX-License-Identifier: Apache-2.0
#include "strata/base/checked.hpp"
#include "strata/base/error.hpp"
#include "strata/importers/keras/layers.hpp"

#include <optional>

namespace strata::keras {
namespace {

// A number per channel, of a shape that broadcasts over the rest.
Shape per_channel(const LayerCall& call, Value x, std::int64_t channels) {
  Shape shape(call.rank(x), 1);
  shape.back() = channels;
  return stored_shape(shape, x.channels_at);
}

// to / from as a whole number, if both are multiples of one thing.
std::optional<std::int64_t> whole_factor(Dim from, Dim to) {
  if (from.symbol != to.symbol || from.factor < 1 || to.factor % from.factor != 0) {
    return std::nullopt;
  }
  return to.factor / from.factor;
}

// The function that a Lambda holds is compiled Python; its names stand in it as they are, behind
// base64, which has this for "space_to_depth_x2" at any of the three offsets.
bool is_space_to_depth_by_two(const Json* function) {
  const Json* list = function == nullptr ? nullptr : list_in(*function);
  const Json* code = list == nullptr || list->empty() ? function : &list->front();
  if (code == nullptr || !code->is_string()) return false;
  std::string text = code->get<std::string>();
  std::erase(text, '\n');
  for (const std::string_view name :
       {"c3BhY2VfdG9fZGVwdGhfeD", "NwYWNlX3RvX2RlcHRoX3gy", "zcGFjZV90b19kZXB0aF94M"}) {
    if (text.find(name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

// keras.applications.ConvNeXt: x · gamma, one learnt number per channel.
Values make_layer_scale(LayerCall& call) {
  const Value x = call.only_input();
  const std::int64_t channels = call.config.whole({"projection_dim"});
  if (channels < 1) fail(ErrorKind::input, "'projection_dim' must be at least 1, got {}", channels);
  const TensorId gamma = call.stored("gamma", per_channel(call, x, channels));
  return {{call.add(Elementwise{ElementwiseKind::multiply}, {x.id, gamma}), x.channels_at}};
}

// keras.applications.InceptionResNetV2: a + b · scale.
Values make_custom_scale(LayerCall& call) {
  if (call.inputs.size() != 2) {
    fail(ErrorKind::input, "expected 2 inputs, got {}", call.inputs.size());
  }
  const Values both = aligned(call, call.inputs);
  const TensorId scale = call.stored("scale", {1}, TensorKind::constant);
  const TensorId scaled =
      call.add(Elementwise{ElementwiseKind::multiply}, {both[1].id, scale}, "scaled");
  return {{call.add(Elementwise{ElementwiseKind::add}, {both[0].id, scaled}), both[0].channels_at}};
}

// keras-retinanet: the first input, repeated up to the height and width of the second.
Values make_upsample_like(LayerCall& call) {
  const Value x = call.image(call.input(0));
  const Value like = call.image(call.input(1));
  const Shape from = call.net.stored(x);
  const Shape to = call.net.stored(like);
  if (from.size() != 4 || to.size() != 4) {
    fail(ErrorKind::input, "expected two images, got {} and {}", call.net.text(from),
         call.net.text(to));
  }
  const std::optional<std::int64_t> rows = whole_factor(from[2], to[2]);
  const std::optional<std::int64_t> columns = whole_factor(from[3], to[3]);
  if (rows && columns) {
    return {{call.add(Resize{.scale = {*rows, *columns}}, {x.id}), x.channels_at}};
  }
  if (to[2].is_number() && to[3].is_number()) {
    return {{call.add(Resize{.output = {to[2].factor, to[3].factor}}, {x.id}), x.channels_at}};
  }
  // Nearest neighbours: rows are looked up, then columns.
  const TensorId row_of = call.stored("rows", {to[2]}, TensorKind::constant);
  const TensorId column_of = call.stored("columns", {to[3]}, TensorKind::constant);
  for (const TensorId indices : {row_of, column_of}) {
    call.net.graph().tensors[indices].type.dtype = DType::int32;
  }
  const TensorId tall = call.add(Gather{.axis = 2}, {x.id, row_of}, "rows");
  return {{call.add(Gather{.axis = 3}, {tall, column_of}), x.channels_at}};
}

// keras-retinanet: boxes of every ratio and scale at every place of a feature map.
Values make_anchors(LayerCall& call) {
  const Value map = call.image(call.only_input());
  const Shape stored = call.net.stored(map);
  if (stored.size() != 4) {
    fail(ErrorKind::input, "expected an image, got {}", call.net.text(call.shape(map)));
  }
  const Json* ratios = call.config.find({"ratios"});
  const Json* scales = call.config.find({"scales"});
  const auto count = [](const Json* list) {
    return list == nullptr || list_in(*list) == nullptr
               ? std::int64_t{3}
               : static_cast<std::int64_t>(list_in(*list)->size());
  };
  Symbols& symbols = call.net.symbols();
  const Dim places = symbols.multiply(stored[2], stored[3]);
  const Dim boxes = symbols.multiply(places, checked_mul(count(ratios), count(scales)));
  return uncounted(call, {{stored[0], boxes, 4}});
}

Values make_regress_boxes(LayerCall& call) { return uncounted(call, {call.shape(call.input(0))}); }

Values make_clip_boxes(LayerCall& call) { return uncounted(call, {call.shape(call.input(1))}); }

// Non-maximum suppression: boxes, scores and labels of at most so many detections.
Values make_filter_detections(LayerCall& call) {
  const Dim batch = call.shape(call.input(0))[0];
  const std::int64_t most = call.config.whole({"max_detections"}, 300);
  if (most < 1) fail(ErrorKind::input, "'max_detections' must be at least 1, got {}", most);
  return uncounted(call, {{batch, most, 4}, {batch, most}, {batch, most}});
}

Values make_lambda(LayerCall& call) {
  if (is_space_to_depth_by_two(call.config.find({"function"}))) {
    const Value x = call.image(call.only_input());
    return {{call.add(SpaceToDepth{.block = 2}, {x.id}), x.channels_at}};
  }
  return make_opaque(call);
}

}  // namespace strata::keras
