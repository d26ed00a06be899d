// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/onnx/flat_graph.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/onnx/limits.hpp"
#include "strata/importers/onnx/order.hpp"
#include "strata/importers/onnx/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::onnx {
namespace {

using Names = std::unordered_map<std::string_view, FlatValueId>;
using FunctionKey = std::pair<std::string_view, std::string_view>;  // domain, name

struct FunctionKeyHash {
  std::size_t operator()(const FunctionKey& key) const {
    return std::hash<std::string_view>()(key.first) * 31 +
           std::hash<std::string_view>()(key.second);
  }
};

class Flattener {
 public:
  Flattener(const ModelDef& model, IsKnownOperator is_known) : graph_(*model.graph) {
    for (const FunctionDef& function : model.functions) {
      if (is_known(function.domain, function.name)) continue;
      functions_.emplace(FunctionKey{function.domain, function.name}, &function);
    }
  }

  FlatGraph flatten() {
    flat_.value_names.emplace_back();  // no_flat_value
    flat_.frames.emplace_back();       // the main graph
    flat_.nodes.reserve(graph_.nodes.size());
    enter_declared_values();
    enter_nodes(graph_.nodes, flat_.ids, 0, 0);
    for (const ValueDef& output : graph_.outputs) {
      flat_.outputs.push_back(value(output.name, flat_.ids));
    }
    return std::move(flat_);
  }

 private:
  void enter_declared_values() {
    for (const TensorDef& tensor : graph_.initializers) {
      flat_.initializers.push_back(value(tensor.name, flat_.ids));
    }
    // Old files list the initializers among the inputs; they are not given from outside.
    const std::size_t initializer_values = flat_.value_names.size();
    for (const ValueDef& input : graph_.inputs) {
      const FlatValueId id = value(input.name, flat_.ids);
      flat_.inputs.push_back(id < initializer_values ? no_flat_value : id);
    }
  }

  void enter_nodes(const std::vector<NodeDef>& nodes, Names& names, std::uint32_t frame,
                   int depth) {
    for (const NodeDef& node : nodes) {
      count();
      const FunctionDef* const function = function_of(node);
      if (function == nullptr) {
        enter_node(node, names, frame);
        continue;
      }
      try {
        enter_call(node, *function, names, frame, depth);
      } catch (Error& error) {
        if (depth == 0) error.add_context(place_of(node));
        throw;
      }
    }
  }

  void count() {
    if (++counted_ > most_nodes) {
      fail(ErrorKind::input, "more than {} nodes once functions are inlined", most_nodes);
    }
  }

  void count_names(std::size_t names) {
    names_counted_ += names;
    if (names_counted_ > most_pieces) {
      fail(ErrorKind::input, "more than {} names once functions are inlined", most_pieces);
    }
  }

  void enter_node(const NodeDef& node, Names& names, std::uint32_t frame) {
    count_names(node.inputs.size() + node.outputs.size());
    FlatNode entry{&node, static_cast<std::uint32_t>(flat_.operands.size()),
                   static_cast<std::uint32_t>(node.inputs.size()),
                   static_cast<std::uint32_t>(node.outputs.size()), frame};
    for (const std::string_view name : node.inputs) flat_.operands.push_back(value(name, names));
    for (const std::string_view name : node.outputs) {
      flat_.operands.push_back(value(name, names));
    }
    flat_.nodes.push_back(entry);
  }

  // The body's names are its own, save those that the call binds.
  void enter_call(const NodeDef& call, const FunctionDef& function, Names& names,
                  std::uint32_t frame, int depth) {
    if (depth >= deepest_call) {
      fail(ErrorKind::input, "functions call functions more than {} deep", deepest_call);
    }
    if (call.inputs.size() > function.inputs.size() ||
        call.outputs.size() > function.outputs.size()) {
      fail(ErrorKind::input, "the function {} has {} inputs and {} outputs, the call {} and {}",
           quoted(function.name), function.inputs.size(), function.outputs.size(),
           call.inputs.size(), call.outputs.size());
    }
    count_names(function.inputs.size() + function.outputs.size());
    Names inner;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      inner[function.inputs[i]] =
          i < call.inputs.size() ? value(call.inputs[i], names) : no_flat_value;
    }
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const FlatValueId outside = value(call.outputs[i], names);
      const auto [place, is_new] = inner.try_emplace(function.outputs[i], outside);
      // A function that hands an input through has no node that makes the output.
      if (!is_new && place->second != outside) alias(place->second, outside, frame);
    }
    flat_.frames.push_back({&call, &function, frame});
    enter_nodes(function.nodes, inner, static_cast<std::uint32_t>(flat_.frames.size()) - 1,
                depth + 1);
  }

  void alias(FlatValueId from, FlatValueId to, std::uint32_t frame) {
    static const NodeDef identity{.op = "Identity"};
    flat_.nodes.push_back(
        {&identity, static_cast<std::uint32_t>(flat_.operands.size()), 1, 1, frame});
    flat_.operands.insert(flat_.operands.end(), {from, to});
  }

  const FunctionDef* function_of(const NodeDef& node) const {
    if (functions_.empty()) return nullptr;
    const auto range = functions_.equal_range({node.domain, node.op});
    for (auto place = range.first; place != range.second; ++place) {
      if (place->second->overload == node.overload) return place->second;
    }
    return nullptr;
  }

  FlatValueId value(std::string_view name, Names& names) {
    if (name.empty()) return no_flat_value;
    const auto [place, is_new] =
        names.try_emplace(name, static_cast<FlatValueId>(flat_.value_names.size()));
    if (is_new) {
      if (flat_.value_names.size() >= most_values) {
        fail(ErrorKind::input, "more than {} values between nodes", most_values);
      }
      flat_.value_names.push_back(name);
    }
    return place->second;
  }

  const GraphDef& graph_;
  std::unordered_multimap<FunctionKey, const FunctionDef*, FunctionKeyHash> functions_;
  FlatGraph flat_;
  std::size_t counted_ = 0;
  std::size_t names_counted_ = 0;
};

const AttributeDef* named(const std::vector<AttributeDef>& attributes, std::string_view name) {
  const auto place = std::find_if(attributes.begin(), attributes.end(),
                                  [name](const AttributeDef& a) { return a.name == name; });
  return place == attributes.end() ? nullptr : &*place;
}

}  // namespace

FlatGraph flatten(const ModelDef& model, IsKnownOperator is_known) {
  FlatGraph flat = Flattener(model, is_known).flatten();
  put_in_order(flat);
  return flat;
}

const AttributeDef* find_attribute(const FlatGraph& flat, const FlatNode& node,
                                   std::string_view name) {
  const AttributeDef* attribute = named(node.def->attributes, name);
  // Inside a function an attribute may stand for one of the call, which may stand for one of the
  // call around that; frames only lead outwards.
  for (std::uint32_t frame = node.frame; attribute != nullptr && frame != 0;) {
    if (attribute->reference.empty()) break;
    const std::string_view reference = attribute->reference;
    const Frame& called = flat.frames[frame];
    attribute = named(called.call->attributes, reference);
    if (attribute == nullptr) return named(called.function->defaults, reference);
    frame = called.caller;
  }
  return attribute;
}

std::int64_t opset_of(const ModelDef& model, const FlatGraph& flat, const FlatNode& node) {
  const Frame& frame = flat.frames[node.frame];
  const std::vector<OpsetDef>& opsets = frame.function != nullptr && !frame.function->opsets.empty()
                                            ? frame.function->opsets
                                            : model.opsets;
  for (const OpsetDef& opset : opsets) {
    if (opset.domain == node.def->domain) return opset.version;
  }
  return 0;
}

}  // namespace strata::onnx
