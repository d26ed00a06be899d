// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/layer_call.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

namespace strata::keras {

LayerCall::LayerCall(Assembly& assembly, Layer& definition, std::string layer_name, bool trainable)
    : net(assembly),
      layer(definition),
      name(std::move(layer_name)),
      config(*definition.config),
      is_trainable(trainable && config.truth({"trainable"}, true)) {}

Value LayerCall::input(std::size_t position) const {
  if (position >= inputs.size()) {
    fail(ErrorKind::input, "expected {} input(s), got {}", position + 1, inputs.size());
  }
  return inputs[position];
}

Value LayerCall::only_input() const {
  if (inputs.size() != 1) fail(ErrorKind::input, "expected 1 input, got {}", inputs.size());
  return inputs.front();
}

const Given* LayerCall::named(std::string_view wanted) const {
  for (const Given& argument : arguments) {
    if (argument.name == wanted) return &argument;
  }
  return nullptr;
}

bool LayerCall::is_asked(std::string_view wanted) const {
  const Given* argument = named(wanted);
  return argument != nullptr && argument->json != nullptr && *argument->json == true;
}

std::int64_t LayerCall::extent(Value x, std::int64_t axis) const {
  const Shape extents = shape(x);
  const Dim dim = extents[axis_of(x, axis)];
  if (!dim.is_number()) {
    fail(ErrorKind::unsupported, "axis {} must be a number, got {}", axis, net.symbols().text(dim));
  }
  return dim.factor;
}

std::size_t LayerCall::axis_of(Value x, std::int64_t axis) const {
  return normal_axis(axis, rank(x));
}

std::int64_t LayerCall::stored_axis_of(Value x, std::int64_t axis) const {
  return static_cast<std::int64_t>(stored_axis(axis_of(x, axis), rank(x), x.channels_at));
}

std::string LayerCall::part(std::string_view suffix) const {
  return suffix.empty() ? name : fmt::format("{}/{}", name, suffix);
}

TensorId LayerCall::add(const Operator& op, std::span<const TensorId> operands,
                        std::string_view suffix) {
  return net.builder().output_of(add_node(op, operands, suffix));
}

TensorId LayerCall::add(const Operator& op, std::initializer_list<TensorId> operands,
                        std::string_view suffix) {
  return add(op, std::span(operands.begin(), operands.size()), suffix);
}

NodeId LayerCall::add_node(const Operator& op, std::span<const TensorId> operands,
                           std::string_view suffix) {
  const std::string key(suffix);
  if (const auto shared = layer.weights.find(key); shared != layer.weights.end()) {
    return net.builder().add_node(part(suffix), op, operands, shared->second);
  }
  const NodeId node = net.builder().add_node(part(suffix), op, operands);
  std::vector<TensorId> own = own_tensors(node);
  if (!own.empty()) {
    freeze(own);
    layer.weights.emplace(key, std::move(own));
  }
  return node;
}

TensorId LayerCall::stored(std::string_view what, const Shape& shape, TensorKind kind) {
  const std::string key = fmt::format(".{}", what);
  if (const auto shared = layer.weights.find(key); shared != layer.weights.end()) {
    const TensorId tensor = shared->second.front();
    if (net.builder().type(tensor).shape != shape) {
      fail(ErrorKind::input, "{} is {}, expected {}", what,
           net.text(net.builder().type(tensor).shape), net.text(shape));
    }
    return tensor;
  }
  const TensorId tensor = net.builder().stored(name + key, shape, kind);
  freeze(std::span(&tensor, 1));
  layer.weights.emplace(key, std::vector<TensorId>{tensor});
  return tensor;
}

Value LayerCall::unchanged(Value x, std::string_view suffix) {
  const Shape keeps(rank(x), 0);
  return {add(Reshape{keeps}, {x.id}, suffix), x.channels_at};
}

Value LayerCall::plain(Value x) { return with_channels_at(x, 0); }

Value LayerCall::with_channels_at(Value x, std::size_t channels_at) {
  return net.converted(x, channels_at, part(channels_at == 0 ? "channels_last" : "channels_first"));
}

Value LayerCall::image(Value x) { return with_channels_at(x, is_channels_first() ? 0 : 1); }

bool LayerCall::is_channels_first() const {
  const std::string format = config.word({"data_format", "dim_ordering"}, "default");
  if (format == "channels_first" || format == "th") return true;
  if (format == "channels_last" || format == "tf") return false;
  if (format == "default") return net.is_channels_first();
  fail(ErrorKind::input, "expected channels_first or channels_last for 'data_format', got {}",
       network::in_quotes(format));
}

void LayerCall::note(WarningCode code, std::string_view what) const {
  net.note(code, fmt::format("layer {}", network::in_quotes(name)), what);
}

std::vector<TensorId> LayerCall::own_tensors(NodeId id) const {
  const Node& node = net.graph().nodes[id];
  return {node.inputs.begin() + node.first_own, node.inputs.end()};
}

// What is not trained is kept between iterations, not learnt.
void LayerCall::freeze(std::span<const TensorId> tensors) {
  if (is_trainable) return;
  for (const TensorId id : tensors) {
    Tensor& tensor = net.graph().tensors[id];
    if (tensor.kind == TensorKind::parameter) tensor.kind = TensorKind::buffer;
  }
}

}  // namespace strata::keras
