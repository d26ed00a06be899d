// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/keras/references.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/network/document.hpp"

#include <algorithm>
#include <limits>

namespace strata::keras {
namespace {

constexpr std::string_view constant_name = "_CONSTANT_VALUE";

std::uint32_t index_of(const Json& value) {
  const std::int64_t index = whole_number(value, "inbound_nodes");
  if (index < 0 || index > std::numeric_limits<std::int32_t>::max()) {
    fail_expected("a call or an output of a layer", "inbound_nodes", value);
  }
  return static_cast<std::uint32_t>(index);
}

bool is_constant(const Json& value) {
  return value.is_array() && value.size() >= 3 && value[0] == constant_name;
}

template <class Visit>
void for_each_reference(Model& model, Visit visit) {
  for (Layer& layer : model.layers) {
    for (Call& call : layer.calls) {
      for (Argument& argument : call.arguments) {
        for (Reference& tensor : argument.tensors) visit(tensor);
      }
    }
  }
  for (Reference& tensor : model.outputs) visit(tensor);
}

}  // namespace

ReferenceReader::ReferenceReader(const std::vector<Layer>& layers) {
  layers_.reserve(layers.size());
  for (std::uint32_t i = 0; i < layers.size(); ++i) {
    if (!layers_.emplace(layers[i].name, i).second) {
      fail(ErrorKind::input, "two layers are named {}", network::in_quotes(layers[i].name));
    }
  }
}

std::vector<Call> ReferenceReader::calls_of(const Json& inbound_nodes) const {
  if (!inbound_nodes.is_array()) fail_expected("a list", "inbound_nodes", inbound_nodes);
  std::vector<Call> calls;
  calls.reserve(inbound_nodes.size());
  for (const Json& node : inbound_nodes) calls.push_back(call_of(node));
  return calls;
}

Call ReferenceReader::call_of(const Json& node) const {
  Call call;
  if (node.is_object()) {
    const Json* arguments = member(node, "args");
    if (arguments == nullptr || !arguments->is_array()) {
      add_keywords(node, call);  // a dictionary of tensors
      return call;
    }
    for (const Json& argument : *arguments) add_positional(argument, call);
    if (const Json* keywords = member(node, "kwargs")) add_keywords(*keywords, call);
    return call;
  }
  if (!node.is_array()) fail_expected("a list or an object", "inbound_nodes", node);
  if (is_reference(node) || is_constant(node)) {
    add_positional(node, call);
  } else {
    for (const Json& item : node) add_positional(item, call);
  }
  return call;
}

void ReferenceReader::add_positional(const Json& value, Call& call) const {
  if (is_constant(value)) {
    call.arguments.push_back({{}, {}, &value[2]});
  } else {
    call.arguments.push_back({{}, {}, &value});
    collect(value, call.arguments.back().tensors);
  }
  const bool has_keywords = (is_reference(value) || is_constant(value)) && value.size() > 3;
  if (has_keywords && value[3].is_object()) add_keywords(value[3], call);
}

void ReferenceReader::add_keywords(const Json& keywords, Call& call) const {
  if (!keywords.is_object()) fail_expected("an object", "kwargs", keywords);
  for (const auto& [name, value] : keywords.items()) {
    if (value.is_null()) continue;
    call.arguments.push_back({name, {}, &value});
    collect(value, call.arguments.back().tensors);
  }
}

// Recursion is bounded: the tree is at most deepest_nesting deep.
void ReferenceReader::collect(const Json& value, std::vector<Reference>& tensors) const {
  if (is_reference(value)) {
    tensors.push_back(reference_of(value[0], value[1], value[2]));
    return;
  }
  if (const Json* type = member(value, "class_name"); type && *type == "__keras_tensor__") {
    const Json* config = member(value, "config");
    const Json* history = config == nullptr ? nullptr : member(*config, "keras_history");
    if (history == nullptr || !history->is_array() || history->size() != 3) {
      fail(ErrorKind::input, "expected [layer, call, output] as 'keras_history' of a tensor");
    }
    tensors.push_back(reference_of((*history)[0], (*history)[1], (*history)[2]));
    return;
  }
  if (value.is_structured()) {
    for (const Json& item : value) collect(item, tensors);
  }
}

bool ReferenceReader::is_reference(const Json& value) const {
  return value.is_array() && value.size() >= 3 && value.size() <= 4 && value[0].is_string() &&
         value[1].is_number_integer() && value[2].is_number_integer() && !is_constant(value);
}

Reference ReferenceReader::reference_of(const Json& name, const Json& call,
                                        const Json& output) const {
  if (!name.is_string()) fail_expected("the name of a layer", "inbound_nodes", name);
  const auto& text = name.get_ref<const std::string&>();
  const auto found = layers_.find(text);
  if (found == layers_.end()) {
    fail(ErrorKind::input, "reads from {}, which is no layer of the model",
         network::in_quotes(text));
  }
  return {found->second, index_of(call), index_of(output)};
}

void number_calls_from_zero(Model& model) {
  struct Range {
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t most = 0;
  };
  std::vector<Range> ranges(model.layers.size());
  for_each_reference(model, [&](const Reference& tensor) {
    Range& range = ranges[tensor.layer];
    range.least = std::min(range.least, tensor.call);
    range.most = std::max(range.most, tensor.call);
  });
  for_each_reference(model, [&](Reference& tensor) {
    const Layer& layer = model.layers[tensor.layer];
    const Range& range = ranges[tensor.layer];
    const bool counts_from_one = layer.model != nullptr && range.least >= 1;
    if (counts_from_one) --tensor.call;
    if (tensor.call >= layer.calls.size()) {
      fail(ErrorKind::input, "call {} of layer {} is read, which is called {} times",
           tensor.call + (counts_from_one ? 1 : 0), network::in_quotes(layer.name),
           layer.calls.size());
    }
  });
}

}  // namespace strata::keras
