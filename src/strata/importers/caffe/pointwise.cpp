// SPDX-License-Identifier: Apache-2.0
#include "strata/base/error.hpp"
#include "strata/importers/caffe/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::caffe {
namespace {

struct NamedUnary {
  std::string_view layer;
  UnaryKind kind;
};
constexpr auto unaries = std::to_array<NamedUnary>({
    {"relu6", UnaryKind::relu6},
    {"elu", UnaryKind::elu},
    {"sigmoid", UnaryKind::sigmoid},
    {"tanh", UnaryKind::tanh},
    {"swish", UnaryKind::silu},
    {"mish", UnaryKind::mish},
    {"absval", UnaryKind::absolute},
    {"bnll", UnaryKind::softplus},
    {"exp", UnaryKind::exponential},
    {"log", UnaryKind::logarithm},
    {"clip", UnaryKind::clip},
});

/// x, times a number when the coefficient asks for it.
TensorId weighted(const Layer& layer, Net& net, TensorId x, double coefficient, std::size_t index) {
  if (coefficient == 1) return x;
  const TensorId factor = net.scalar(layer, fmt::format("coefficient{}", index));
  return net.add_step(layer, "weigh", Elementwise{ElementwiseKind::multiply}, {x, factor});
}

std::vector<double> coefficients(const Message& parameters) {
  std::vector<double> values;
  for (const Field& field : parameters.fields) {
    if (field.name == "coeff") values.push_back(Message{{field}}.real("coeff", 1));
  }
  return values;
}

}  // namespace

void add_activation(const Layer& layer, Net& net) {
  const auto found = std::find_if(unaries.begin(), unaries.end(),
                                  [&](const NamedUnary& row) { return row.layer == layer.kind; });
  STRATA_CHECK(found != unaries.end(), "the table of layers sends only known activations");
  net.set_top(layer, net.add(layer, Unary{found->kind}, {net.bottom(layer)}));
}

void add_relu(const Layer& layer, Net& net) {
  const bool is_leaky = layer.message->message("relu_param").real("negative_slope", 0) != 0;
  const Unary op{is_leaky ? UnaryKind::leaky_relu : UnaryKind::relu};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_prelu(const Layer& layer, Net& net) {
  const bool is_shared = layer.message->message("prelu_param").flag("channel_shared", false);
  if (is_shared) {
    net.note(WarningCode::value_assumed, layer,
             "a PReLU with one slope for all channels is counted as a ReLU with a fixed one");
  }
  const Unary op{is_shared ? UnaryKind::leaky_relu : UnaryKind::prelu};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

// (shift + scale·x)^power
void add_power(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("power_param");
  const double power = parameters.real("power", 1);
  TensorId x = net.bottom(layer);
  if (parameters.real("scale", 1) != 1) {
    const Elementwise multiply{ElementwiseKind::multiply};
    x = net.add_step(layer, "scale", multiply, {x, net.scalar(layer, "scale")});
  }
  if (parameters.real("shift", 0) != 0) {
    const Elementwise add{ElementwiseKind::add};
    x = net.add_step(layer, "shift", add, {x, net.scalar(layer, "shift")});
  }
  if (power == 2) {
    x = net.add(layer, Unary{UnaryKind::square}, {x});
  } else if (power == 1) {
    x = net.add(layer, Unary{UnaryKind::identity}, {x});
  } else {
    x = net.add(layer, Elementwise{ElementwiseKind::power}, {x, net.scalar(layer, "power")});
  }
  net.set_top(layer, x);
}

void add_eltwise(const Layer& layer, Net& net) {
  const Message& parameters = layer.message->message("eltwise_param");
  const std::string operation = parameters.text("operation", "SUM");
  std::vector<TensorId> terms = net.all_bottoms(layer);
  const auto finish = [&](ElementwiseKind kind) {
    net.set_top(layer, net.builder().output_of(net.add_node(layer, Elementwise{kind}, terms)));
  };
  if (operation == "PROD" || operation == "0") return finish(ElementwiseKind::multiply);
  if (operation == "MAX" || operation == "2") return finish(ElementwiseKind::maximum);
  if (operation != "SUM" && operation != "1") {
    fail(ErrorKind::input, "field 'operation': expected PROD, SUM or MAX, got {}",
         network::in_quotes(operation));
  }
  const std::vector<double> factors = coefficients(parameters);
  if (factors == std::vector<double>{1, -1} && terms.size() == 2) {
    return finish(ElementwiseKind::subtract);
  }
  if (!factors.empty() && factors.size() != terms.size()) {
    fail(ErrorKind::input, "field 'coeff': expected one for each of {} bottoms, got {}",
         terms.size(), factors.size());
  }
  for (std::size_t i = 0; i < factors.size(); ++i) {
    terms[i] = weighted(layer, net, terms[i], factors[i], i);
  }
  finish(ElementwiseKind::add);
}

// SENet's: a·x + y with one a per channel.
void add_axpy(const Layer& layer, Net& net) {
  const Elementwise multiply{ElementwiseKind::multiply};
  const TensorId scaled =
      net.add_step(layer, "scale", multiply, {net.bottom(layer, 0), net.bottom(layer, 1)});
  const Elementwise add{ElementwiseKind::add};
  net.set_top(layer, net.add(layer, add, {scaled, net.bottom(layer, 2)}));
}

void add_dropout(const Layer& layer, Net& net) {
  const Dropout op{.probability =
                       layer.message->message("dropout_param").real("dropout_ratio", 0.5)};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

void add_softmax(const Layer& layer, Net& net) {
  const Softmax op{.axis = layer.message->message("softmax_param").number("axis", 1)};
  net.set_top(layer, net.add(layer, op, {net.bottom(layer)}));
}

}  // namespace strata::caffe
