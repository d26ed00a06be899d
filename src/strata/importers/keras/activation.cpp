// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::keras {
namespace {

struct Function {
  std::string_view name;
  UnaryKind kind;
};

// keras.activations, by the names of all versions.
constexpr auto functions = std::to_array<Function>({
    {"relu", UnaryKind::relu},
    {"relu6", UnaryKind::relu6},
    {"leaky_relu", UnaryKind::leaky_relu},
    {"elu", UnaryKind::elu},
    {"selu", UnaryKind::selu},
    {"celu", UnaryKind::elu},
    {"gelu", UnaryKind::gelu},
    {"silu", UnaryKind::silu},
    {"swish", UnaryKind::silu},
    {"hard_silu", UnaryKind::hard_swish},
    {"hard_swish", UnaryKind::hard_swish},
    {"sigmoid", UnaryKind::sigmoid},
    {"hard_sigmoid", UnaryKind::hard_sigmoid},
    {"tanh", UnaryKind::tanh},
    {"hard_tanh", UnaryKind::clip},
    {"softplus", UnaryKind::softplus},
    {"softsign", UnaryKind::softsign},
    {"mish", UnaryKind::mish},
    {"exponential", UnaryKind::exponential},
});

UnaryKind rectifier(const Config& config) {
  if (config.number({"negative_slope", "alpha"}, 0) != 0) return UnaryKind::leaky_relu;
  const Json* most = config.find({"max_value"});
  if (most == nullptr) return UnaryKind::relu;
  return *most == 6 ? UnaryKind::relu6 : UnaryKind::clip;
}

/// The name of the function that an argument means. A layer may stand in its place.
std::string function_in(const Json& value) {
  if (value.is_string()) return word_in(value, "activation");
  const Json* type = member(value, "class_name");
  const Json* config = member(value, "config");
  if (type == nullptr || !type->is_string()) fail_expected("a function", "activation", value);
  if (config != nullptr && config->is_string()) return word_in(*config, "activation");
  if (*type == "ReLU" && config != nullptr) {
    const UnaryKind kind = rectifier(Config(*config));
    const auto known = std::find_if(functions.begin(), functions.end(),
                                    [&](const Function& entry) { return entry.kind == kind; });
    if (known != functions.end()) return std::string(known->name);
  }
  if (*type == "LeakyReLU") return "leaky_relu";
  return lower_case(word_in(*type, "class_name"));
}

Values unary(LayerCall& call, UnaryKind kind) {
  const Value x = call.only_input();
  return {{call.add(Unary{kind}, {x.id}), x.channels_at}};
}

// One slope per channel is what the graph has; Keras lets every element have its own, and says by
// shared_axes along which axes they are the same.
struct Slopes {
  Shape shape;  // in the stored order, the batch left out
  bool is_one_per_channel = false;
};

Slopes slopes_of(const LayerCall& call, Value x) {
  Shape extents = call.shape(x);
  for (const std::int64_t axis : call.config.numbers({"shared_axes"})) {
    extents[call.axis_of(x, axis)] = 1;
  }
  extents[0] = 1;
  const Shape stored = stored_shape(extents, x.channels_at);
  Slopes slopes;
  slopes.is_one_per_channel = stored.size() > 1 && stored[1] == call.net.stored(x)[1];
  for (std::size_t axis = 1; axis < stored.size(); ++axis) {
    slopes.shape.push_back(stored[axis]);
    if (axis > 1 && !stored[axis].is(1)) slopes.is_one_per_channel = false;
    if (!stored[axis].is_number()) {
      fail(ErrorKind::unsupported, "one slope per element needs extents that are known, got {}",
           call.net.symbols().text(stored[axis]));
    }
  }
  return slopes;
}

}  // namespace

Value activated_by(LayerCall& call, Value x, std::string_view function, std::string_view suffix) {
  if (function == "linear" || function == "identity") {
    return suffix.empty() ? call.unchanged(x) : x;
  }
  if (function == "softmax" || function == "log_softmax") {
    const Softmax op{.axis = call.stored_axis_of(x, -1), .log = function == "log_softmax"};
    return {call.add(op, {x.id}, suffix), x.channels_at};
  }
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [&](const Function& known) { return known.name == function; });
  if (found != functions.end()) {
    return {call.add(Unary{found->kind}, {x.id}, suffix), x.channels_at};
  }
  call.note(WarningCode::operator_not_counted,
            fmt::format("activation {} is unknown to Strata: it is not counted",
                        network::in_quotes(function)));
  const Opaque op{fmt::format("keras.activations.{}", function), {call.net.stored(x)}};
  return {call.add(op, {x.id}, suffix), x.channels_at};
}

Value activated(LayerCall& call, Value x) {
  const Json* value = call.config.find({"activation"});
  if (value == nullptr) return x;
  const std::string function = function_in(*value);
  return activated_by(call, x, function, function);
}

Values make_activation(LayerCall& call) {
  const Json* value = call.config.find({"activation"});
  const std::string function = value == nullptr ? "linear" : function_in(*value);
  return {activated_by(call, call.only_input(), function, {})};
}

Values make_relu(LayerCall& call) { return unary(call, rectifier(call.config)); }

Values make_leaky_relu(LayerCall& call) { return unary(call, UnaryKind::leaky_relu); }

Values make_elu(LayerCall& call) { return unary(call, UnaryKind::elu); }

// x where x > theta, else 0: one comparison, like a rectifier.
Values make_thresholded_relu(LayerCall& call) { return unary(call, UnaryKind::relu); }

Values make_softmax(LayerCall& call) {
  const Value x = call.only_input();
  const std::vector<std::int64_t> axes = call.config.numbers({"axis"});
  if (axes.size() > 1) fail(ErrorKind::unsupported, "a softmax over {} axes at once", axes.size());
  const Softmax op{.axis = call.stored_axis_of(x, axes.empty() ? -1 : axes.front())};
  return {{call.add(op, {x.id}), x.channels_at}};
}

Values make_prelu(LayerCall& call) {
  const Value x = call.only_input();
  const Slopes slopes = slopes_of(call, x);
  if (slopes.is_one_per_channel) return unary(call, UnaryKind::prelu);
  // max(x, 0) − slope · max(−x, 0), as Keras computes it; the sign goes into the slope.
  const TensorId slope = call.stored("alpha", slopes.shape);
  const TensorId above = call.add(Unary{UnaryKind::relu}, {x.id}, "above");
  const TensorId negated = call.add(Unary{UnaryKind::negate}, {x.id}, "negated");
  const TensorId below = call.add(Unary{UnaryKind::relu}, {negated}, "below");
  const TensorId sloped =
      call.add(Elementwise{ElementwiseKind::multiply}, {below, slope}, "sloped");
  return {{call.add(Elementwise{ElementwiseKind::add}, {above, sloped}), x.channels_at}};
}

}  // namespace strata::keras
