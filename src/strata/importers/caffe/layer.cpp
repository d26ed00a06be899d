// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/caffe/layer.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/importers/network/document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace strata::caffe {
namespace {

// INNER_PRODUCT of the old syntax is InnerProduct of the new one, SOFTMAX_LOSS is SoftmaxWithLoss.
std::string kind_of(std::string_view type) {
  std::string kind = lower_case(type);
  std::erase(kind, '_');
  return kind == "softmaxloss" ? "softmaxwithloss" : kind;
}

// `param { name: "w" }` of the new syntax, `param: "w"` of the old one.
void read_parameters(const Message& message, Layer& layer) {
  bool has_name = false;
  for (const Field& field : message.fields) {
    if (field.name == "param" && field.kind == FieldKind::message) {
      layer.parameter_names.push_back(field.message.text("name", ""));
      layer.is_frozen = layer.is_frozen || field.message.real("lr_mult", 1) == 0;
    } else if (field.name == "param") {
      const Message alone{{field}};
      layer.parameter_names.push_back(alone.text("param", ""));
    } else if (field.name == "blobs_lr") {
      layer.is_frozen = layer.is_frozen || Message{{field}}.real("blobs_lr", 1) == 0;
    } else {
      continue;
    }
    has_name = has_name || (field.name == "param" && !layer.parameter_names.back().empty());
  }
  if (!has_name) layer.parameter_names.clear();
  for (const std::string& name : layer.parameter_names) checked_name(name);
}

// "; 'typ' looks like it", when a field does.
std::string misspelt_type(const Message& message) {
  const std::array<std::string, 1> wanted = {"type"};
  for (const Field& field : message.fields) {
    if (!nearest(field.name, wanted, 1).empty() && field.name != wanted[0]) {
      return fmt::format("; {} looks like it", network::in_quotes(field.name));
    }
  }
  return {};
}

Layer read_layer(const Field& field) {
  Layer layer;
  layer.line = field.line;
  const Message& message = field.message;
  if (field.kind != FieldKind::message) {
    fail(ErrorKind::input, "line {}: expected '{{' after '{}'", field.line, field.name);
  }
  if (message.has("layer")) {
    fail(ErrorKind::unsupported,
         "line {}: the syntax of 2013 (a layer within `layers`) is not read; Caffe's tool "
         "upgrade_net_proto_text brings the file up to date",
         field.line);
  }
  layer.message = &message;
  layer.type = message.text("type", "");
  layer.kind = kind_of(layer.type);
  layer.bottoms = message.texts("bottom");
  layer.tops = message.texts("top");
  for (const std::string& blob : layer.bottoms) checked_name(blob);
  for (const std::string& blob : layer.tops) checked_name(blob);
  layer.name = checked_name(message.text("name", ""));
  checked_name(layer.type);
  if (layer.name.empty()) layer.name = layer.tops.empty() ? layer.type : layer.tops.front();
  if (layer.type.empty() || layer.name.empty()) {
    fail(ErrorKind::input, "{}: 'type' is missing{}", layer.place(), misspelt_type(message));
  }
  read_parameters(message, layer);
  return layer;
}

// `input: "data"` with four `input_dim` or one `input_shape` each.
std::vector<Source> read_inputs(const Message& root) {
  const std::vector<std::string> names = root.texts("input");
  const std::vector<std::int64_t> dims = root.numbers("input_dim");
  const std::vector<const Message*> shapes = root.messages("input_shape");
  const bool has_all_dims = dims.empty() || dims.size() == 4 * names.size();
  if (shapes.empty() ? !has_all_dims : shapes.size() != names.size()) {
    fail(ErrorKind::input, "expected one input_shape, or four input_dim, for each of {} inputs",
         names.size());
  }
  if (names.size() > most_blobs) fail(ErrorKind::input, "more than {} inputs", most_blobs);
  std::vector<Source> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Source source{checked_name(names[i]), {}, {}, fmt::format("input '{}'", names[i])};
    if (!shapes.empty()) {
      source.shape = shapes[i]->numbers("dim");
    } else if (!dims.empty()) {
      source.shape.assign(dims.begin() + static_cast<std::ptrdiff_t>(4 * i),
                          dims.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
    }
    inputs.push_back(std::move(source));
  }
  return inputs;
}

// NetStateRule of caffe.proto, for a state of level 0 that has no stages.
bool is_met(const Message& rule, Phase phase) {
  const std::string named = rule.text("phase", "");
  if (named == (phase == Phase::train ? "TEST" : "TRAIN")) return false;
  if (!named.empty() && named != "TRAIN" && named != "TEST") {
    fail(ErrorKind::input, "field 'phase': expected TRAIN or TEST, got {}",
         network::in_quotes(named));
  }
  return rule.number("min_level", 0) <= 0 && rule.number("max_level", 0) >= 0 && !rule.has("stage");
}

/// The first blob that a layer reads and nothing before it makes.
const Layer* first_without_bottom(const Document& document, Phase phase, std::string& blob) {
  std::unordered_set<std::string_view> made;
  for (const Source& input : document.inputs) made.insert(input.name);
  for (const Layer& layer : document.layers) {
    if (!is_in_phase(layer, phase)) continue;
    for (const std::string& bottom : layer.bottoms) {
      if (made.contains(bottom)) continue;
      blob = bottom;
      return &layer;
    }
    made.insert(layer.tops.begin(), layer.tops.end());
  }
  return nullptr;
}

}  // namespace

std::string Layer::place() const {
  return name.empty() ? fmt::format("layer (line {})", line)
                      : fmt::format("layer '{}' (line {})", name, line);
}

Document read_document(const Message& root) {
  Document document;
  document.name = checked_name(root.text("name", ""));
  document.inputs = read_inputs(root);
  std::size_t blobs = document.inputs.size();
  for (const Field& field : root.fields) {
    if (field.name != "layer" && field.name != "layers") continue;
    if (document.layers.size() == most_layers) {
      fail(ErrorKind::input, "line {}: more than {} layers", field.line, most_layers);
    }
    document.layers.push_back(read_layer(field));
    const Layer& layer = document.layers.back();
    blobs += layer.bottoms.size() + layer.tops.size();
    if (blobs > most_blobs) {
      fail(ErrorKind::input, "line {}: more than {} bottoms and tops", field.line, most_blobs);
    }
  }
  if (document.layers.empty()) fail(ErrorKind::input, "the network has no layers");
  return document;
}

bool is_in_phase(const Layer& layer, Phase phase) {
  try {
    const auto meets = [&](const Message* rule) { return is_met(*rule, phase); };
    const std::vector<const Message*> include = layer.message->messages("include");
    if (!include.empty()) return std::any_of(include.begin(), include.end(), meets);
    const std::vector<const Message*> exclude = layer.message->messages("exclude");
    return std::none_of(exclude.begin(), exclude.end(), meets);
  } catch (Error& error) {
    error.add_context(layer.place());
    throw;
  }
}

std::vector<Layer> layers_in_phase(const Document& document, Phase& phase) {
  std::string blob;
  const Layer* incomplete = first_without_bottom(document, Phase::train, blob);
  const auto trains = [](const Layer& layer) { return is_in_phase(layer, Phase::train); };
  const bool has_training = std::any_of(document.layers.begin(), document.layers.end(), trains);
  phase = incomplete == nullptr && has_training ? Phase::train : Phase::test;
  std::string other;
  const Layer* still =
      phase == Phase::test ? first_without_bottom(document, phase, other) : nullptr;
  if (still != nullptr) {
    const Layer& layer = incomplete == nullptr ? *still : *incomplete;
    fail(ErrorKind::input, "{}: no layer before it makes the blob '{}'", layer.place(),
         incomplete == nullptr ? other : blob);
  }
  std::vector<Layer> layers;
  for (const Layer& layer : document.layers) {
    if (is_in_phase(layer, phase)) layers.push_back(layer);
  }
  if (layers.empty()) fail(ErrorKind::input, "no layer of the network is for phase TRAIN or TEST");
  return layers;
}

}  // namespace strata::caffe
