// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/model.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/keras/references.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata::keras {
namespace {

// Recursion (a model in a model, a wrapper in a wrapper) is bounded by the depth of the tree.
Model read_any_model(const Json& entry);

bool is_functional(const Json& entry) {
  const Json* config = member(entry, "config");
  const Json* layers = config == nullptr ? nullptr : member(*config, "layers");
  return layers != nullptr && layers->is_array() && member(*config, "input_layers") != nullptr;
}

bool is_sequential(const Json& entry) {
  const Json* type = member(entry, "class_name");
  return type != nullptr && *type == "Sequential";
}

bool is_trainable(const Json& config) {
  const Json* trainable = member(config, "trainable");
  return trainable == nullptr || *trainable != false;
}

std::string name_of_layer(const Json& entry, std::size_t index) {
  const Json* config = member(entry, "config");
  const Json* name = member(entry, "name");
  if (name == nullptr && config != nullptr) name = member(*config, "name");
  if (name == nullptr) {
    return fmt::format("{}_{}", entry["class_name"].get_ref<const std::string&>(), index + 1);
  }
  std::string text = word_in(*name, "name");
  if (text.empty()) fail(ErrorKind::input, "the name is empty");
  return text;
}

Layer read_layer(const Json& entry, std::size_t index) {
  const Json* type = member(entry, "class_name");
  if (type == nullptr || !type->is_string()) {
    fail(ErrorKind::input, "layer {}: expected an object with 'class_name' and 'config'",
         index + 1);
  }
  static const Json no_arguments = Json::object();
  Layer layer;
  try {
    layer.class_name = word_in(*type, "class_name");
    layer.name = name_of_layer(entry, index);
  } catch (Error& error) {
    error.add_context(fmt::format("layer {}", index + 1));
    throw;
  }
  layer.entry = &entry;
  const Json* config = member(entry, "config");
  layer.config = config == nullptr ? &no_arguments : config;
  try {
    if (is_functional(entry) || is_sequential(entry)) {
      layer.model = std::make_unique<Model>(read_any_model(entry));
    } else if (const Json* inner = member(*layer.config, "layer")) {
      layer.inner = std::make_unique<Layer>(read_layer(*inner, 0));
    }
    if (!layer.model && !layer.config->is_object()) {
      fail_expected("an object", "config", *layer.config);
    }
    if (layer.is_input()) {
      const Json* shape = Config(*layer.config).find({"batch_input_shape", "batch_shape", "shape"});
      if (shape != nullptr) layer.shape = shape_in(*shape);
    }
  } catch (Error& error) {
    error.add_context(fmt::format("layer {}", network::in_quotes(layer.name)));
    throw;
  }
  return layer;
}

void note_readers(Model& model) {
  model.readers.resize(model.layers.size());
  for (const Step step : model.order) {
    for (const Argument& argument : model.layers[step.layer].calls[step.call].arguments) {
      for (const Reference& tensor : argument.tensors) {
        std::vector<std::uint32_t>& readers = model.readers[tensor.layer];
        constexpr std::size_t enough = 8;
        if (readers.size() < enough) readers.push_back(step.layer);
      }
    }
  }
}

// ---- functional ---------------------------------------------------------------------------------

Model read_functional(const Json& config) {
  Model model;
  const Json& entries = config["layers"];
  model.layers.reserve(entries.size());
  for (const Json& entry : entries) {
    model.layers.push_back(read_layer(entry, model.layers.size()));
  }
  const ReferenceReader references(model.layers);
  for (Layer& layer : model.layers) {
    try {
      const Json* inbound = member(*layer.entry, "inbound_nodes");
      if (inbound != nullptr) layer.calls = references.calls_of(*inbound);
    } catch (Error& error) {
      error.add_context(fmt::format("layer {}", network::in_quotes(layer.name)));
      throw;
    }
    if (layer.is_input()) layer.calls.assign(1, Call{});
  }
  references.collect(config["input_layers"], model.inputs);
  if (const Json* outputs = member(config, "output_layers")) {
    references.collect(*outputs, model.outputs);
  }
  if (model.outputs.empty()) fail(ErrorKind::input, "the model has no outputs");
  for (const Reference& input : model.inputs) {
    const Layer& layer = model.layers[input.layer];
    if (!layer.is_input()) {
      fail(ErrorKind::input, "input {} is a {}, expected an InputLayer",
           network::in_quotes(layer.name), layer.class_name);
    }
  }
  number_calls_from_zero(model);
  return model;
}

// ---- sequential ---------------------------------------------------------------------------------

Argument argument_from(std::size_t layer, std::uint32_t output = 0) {
  return {{}, {{static_cast<std::uint32_t>(layer), 0, output}}, nullptr};
}

std::optional<OpenShape> stated_input_shape(const Json& config) {
  const Config arguments(config);
  if (const Json* shape = arguments.find({"batch_input_shape", "batch_shape"})) {
    return shape_in(*shape);
  }
  if (const Json* shape = arguments.find({"input_shape"})) {
    std::optional<OpenShape> extents = shape_in(*shape);
    if (extents) extents->insert(extents->begin(), std::nullopt);
    return extents;
  }
  return std::nullopt;
}

/// Chains the layers of a sequential model, and puts an input before them where the file leaves it
/// to the first layer.
class SequentialReader {
 public:
  explicit SequentialReader(const Json& config) : config_(config) {}

  Model read() {
    const Json* entries = config_.is_array() ? &config_ : member(config_, "layers");
    if (entries == nullptr || !entries->is_array()) fail(ErrorKind::input, "'layers' is missing");
    std::size_t index = 0;
    for (const Json& entry : *entries) {
      add(read_layer(entry, index));
      ++index;
    }
    if (model_.layers.empty()) fail(ErrorKind::input, "the model has no layers");
    const auto last = static_cast<std::uint32_t>(model_.layers.size() - 1);
    model_.outputs = {{last, 0, 0}};
    return std::move(model_);
  }

 private:
  void add(Layer layer) {
    Call call;
    if (layer.is_input()) {
      if (model_.layers.empty())
        model_.inputs.push_back({0, 0, 0});
      else
        fail(ErrorKind::input, "layer {}: an InputLayer inside a sequential model",
             network::in_quotes(layer.name));
    } else if (model_.layers.empty()) {
      call.arguments = inputs_of_first(layer);
    } else {
      call.arguments.push_back(argument_from(model_.layers.size() - 1));
    }
    layer.calls.assign(1, std::move(call));
    model_.layers.push_back(std::move(layer));
  }

  std::vector<Argument> inputs_of_first(Layer& layer) {
    // Keras 1 began a sequential model of several branches with a Merge that holds them.
    const Json* branches = layer.class_name == "Merge" ? member(*layer.config, "layers") : nullptr;
    if (branches != nullptr && branches->is_array()) {
      std::vector<Argument> arguments;
      for (const Json& entry : *branches) {
        Layer branch = read_layer(entry, model_.layers.size());
        branch.calls.assign(1, Call{add_inputs(branch)});
        model_.layers.push_back(std::move(branch));
        arguments.push_back(argument_from(model_.layers.size() - 1));
      }
      return arguments;
    }
    return add_inputs(layer);
  }

  std::vector<Argument> add_inputs(const Layer& layer) {
    std::vector<Argument> arguments;
    if (layer.model != nullptr) {
      for (const Reference& input : layer.model->inputs) {
        const Layer& inside = layer.model->layers[input.layer];
        arguments.push_back(add_input(inside.name, *inside.config, inside.shape));
      }
      return arguments;
    }
    arguments.push_back(add_input(layer.name + "_input", *layer.config, shape_before(layer)));
    return arguments;
  }

  Argument add_input(std::string name, const Json& config, std::optional<OpenShape> shape) {
    Layer input;
    input.name = std::move(name);
    input.class_name = "InputLayer";
    input.entry = &config;
    input.config = &config;
    input.shape = std::move(shape);
    input.calls.assign(1, Call{});
    const auto index = static_cast<std::uint32_t>(model_.layers.size());
    model_.layers.push_back(std::move(input));
    model_.inputs.push_back({index, 0, 0});
    return argument_from(index);
  }

  std::optional<OpenShape> shape_before(const Layer& layer) const {
    std::optional<OpenShape> shape = stated_input_shape(*layer.config);
    if (!shape) {
      if (const Json* built = member(config_, "build_input_shape")) shape = shape_in(*built);
    }
    if (!shape) {
      const Json* build = member(*layer.entry, "build_config");
      const Json* built = build == nullptr ? nullptr : member(*build, "input_shape");
      if (built != nullptr) shape = shape_in(*built);
    }
    return shape;
  }

  const Json& config_;
  Model model_;
};

Model read_any_model(const Json& entry) {
  const Json* found = member(entry, "config");
  if (found == nullptr) fail(ErrorKind::input, "expected an object for 'config', got nothing");
  const Json& config = *found;
  Model model = is_sequential(entry) ? SequentialReader(config).read() : read_functional(config);
  if (const Json* name = member(config, "name"); name != nullptr && name->is_string()) {
    model.name = word_in(*name, "name");
  }
  model.is_trainable = is_trainable(config);
  model.order = order_of_calls(model);
  note_readers(model);
  return model;
}

}  // namespace

std::optional<OpenShape> shape_in(const Json& value) {
  const Json* list = list_in(value);
  if (list == nullptr) return std::nullopt;
  if (list->size() == 1 && list_in(list->front()) != nullptr) return shape_in(list->front());
  OpenShape shape;
  for (const Json& item : *list) {
    if (item.is_null()) {
      shape.push_back(std::nullopt);
    } else if (item.is_number()) {
      const std::int64_t extent = whole_number(item, "shape");
      shape.push_back(extent < 0 ? std::nullopt : std::optional(extent));
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

Model read_model(const Json& architecture) {
  const Json& type = architecture.at("class_name");
  if (!type.is_string()) fail_expected("a text", "class_name", type);
  const Json& config = architecture.at("config");
  if (!config.is_object() && !config.is_array()) fail_expected("an object", "config", config);
  if (!is_sequential(architecture) && !is_functional(architecture)) {
    fail(ErrorKind::unsupported,
         "{} is neither a Sequential nor a Functional model: its layers are made by Python code, "
         "which the file does not hold; save it as a Functional model",
         network::in_quotes(type.get_ref<const std::string&>()));
  }
  return read_any_model(architecture);
}

}  // namespace strata::keras
