// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/network.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/keras/inputs.hpp"
#include "strata/importers/keras/layers.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

// The builder names the node that could not be added; the layer says the same.
[[noreturn]] void throw_at_layer(const Error& error, const std::string& name) {
  std::string_view message = error.what();
  const std::size_t colon = message.find("': ");
  if (message.starts_with("node '") && colon != std::string_view::npos) {
    message.remove_prefix(colon + 3);
  }
  throw Error(error.kind(), fmt::format("layer {}: {}", network::in_quotes(name), message));
}

Values make_layer(LayerCall& call) {
  if (is_operation(call.layer)) return make_keras_operation(call);
  const LayerClass* known = find_layer_class(call.layer.class_name);
  if (known == nullptr) return make_opaque(call);
  if (!known->takes_integers) {
    for (Value& input : call.inputs) {
      if (is_floating(call.net.dtype(input))) continue;
      input.id = call.add(Cast{DType::fp32}, {input.id}, "cast");
    }
  }
  return known->make(call);
}

/// The outputs of one application of a model, as its layers make them.
class Application {
 public:
  Application(Assembly& net, Model& model, bool is_trainable)
      : net_(net), model_(model), is_trainable_(is_trainable && model.is_trainable) {
    made_.resize(model.layers.size());
    for (std::size_t i = 0; i < made_.size(); ++i) made_[i].resize(model.layers[i].calls.size());
  }

  void give_input(std::size_t position, Value value) {
    made_[model_.inputs[position].layer][0] = {value};
  }

  Values run() {
    for (const Step step : model_.order) {
      Layer& layer = model_.layers[step.layer];
      if (layer.is_input()) {
        expect_given(layer, step);
        continue;
      }
      try {
        made_[step.layer][step.call] = apply(step, layer);
      } catch (const Error& error) {
        throw_at_layer(error, layer.name);
      }
    }
    Values outputs;
    for (const Reference& output : model_.outputs) outputs.push_back(value_of(output));
    return outputs;
  }

 private:
  void expect_given(const Layer& layer, Step step) const {
    if (!made_[step.layer][step.call].empty()) return;
    fail(ErrorKind::input, "{} is an InputLayer, but no input of the model",
         network::in_quotes(layer.name));
  }

  Value value_of(const Reference& tensor) const {
    const Values& values = made_[tensor.layer][tensor.call];
    if (tensor.output >= values.size()) {
      fail(ErrorKind::input, "output {} of layer {} is read, which has {}", tensor.output,
           network::in_quotes(model_.layers[tensor.layer].name), values.size());
    }
    return values[tensor.output];
  }

  Values apply(Step step, Layer& layer);

  Assembly& net_;
  Model& model_;
  bool is_trainable_;
  std::vector<std::vector<Values>> made_;
};

Values apply_model(Assembly& net, Model& model, const std::string& name, bool is_trainable,
                   const Values& inputs) {
  net.spend(model.layers.size());
  if (inputs.size() != model.inputs.size()) {
    fail(ErrorKind::input, "the model expects {} inputs, got {}", model.inputs.size(),
         inputs.size());
  }
  const GraphBuilder::Scope scope(net.builder(), name);
  Application application(net, model, is_trainable);
  for (std::size_t i = 0; i < inputs.size(); ++i) application.give_input(i, inputs[i]);
  return application.run();
}

Values Application::apply(Step step, Layer& layer) {
  // Further calls of a shared layer or model are told apart by their number.
  const std::string name =
      step.call == 0 ? layer.name : fmt::format("{}_{}", layer.name, step.call + 1);
  LayerCall call(net_, layer, name, is_trainable_);
  call.model = &model_;
  call.index = step.layer;
  std::size_t tensors = 0;
  for (const Argument& argument : layer.calls[step.call].arguments) {
    Given given{argument.name, {}, argument.value};
    for (const Reference& tensor : argument.tensors) given.values.push_back(value_of(tensor));
    tensors += given.values.size();
    const bool is_main = given.name.empty() || given.name == "inputs";
    if (is_main) call.inputs.insert(call.inputs.end(), given.values.begin(), given.values.end());
    call.arguments.push_back(std::move(given));
  }
  net_.spend(1 + tensors);
  if (layer.model != nullptr) {
    return apply_model(net_, *layer.model, name, call.is_trainable, call.inputs);
  }
  return make_layer(call);
}

}  // namespace

Values apply_inside(LayerCall& wrapper, Layer& inner, Values inputs) {
  wrapper.net.spend(1);
  if (inner.model != nullptr) {
    return apply_model(wrapper.net, *inner.model, wrapper.name, wrapper.is_trainable, inputs);
  }
  LayerCall call(wrapper.net, inner, wrapper.name, wrapper.is_trainable);
  call.inputs = std::move(inputs);
  return make_layer(call);
}

Graph build_graph(Model& model, std::string name, const ImportOptions& options) {
  Assembly net(std::move(name), options, is_channels_first(model));
  net.graph().title = model.name;
  expect_known_inputs(model, options);
  Application application(net, model, true);
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    application.give_input(i, make_input(net, model, model.inputs[i].layer));
  }
  for (const Value output : application.run()) net.builder().output(output.id);
  return std::move(net).finish();
}

}  // namespace strata::keras
