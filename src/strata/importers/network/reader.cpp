// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/network/reader.hpp"

#include "strata/base/error.hpp"
#include "strata/base/text.hpp"
#include "strata/graph/operator_names.hpp"
#include "strata/graph/verify.hpp"
#include "strata/importers/network/fields.hpp"
#include "strata/importers/network/network.hpp"
#include "strata/importers/network/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace strata::network {
namespace {

const std::string& checked_text(const Value& value) {
  const std::string& text = text_of(value);
  check_text(text);
  return text;
}

void check_name(std::string_view name) {
  if (name.empty()) fail(ErrorKind::input, "a name is empty");
}

/// Runs `read` on the value of a key, if there is one; errors get the key's name.
template <class Read>
bool read_key(TableReader& keys, std::string_view key, const Read& read) {
  const Value* value = keys.take(key);
  if (value == nullptr) return false;
  try {
    read(*value);
  } catch (Error& error) {
    error.add_context(fmt::format("key '{}'", key));
    throw;
  }
  return true;
}

}  // namespace

NetworkReader::NetworkReader(std::string_view stem, std::string_view source,
                             std::size_t tensor_limit)
    : tensor_limit_(tensor_limit), builder_{std::string(stem)}, dims_(builder_.symbols()) {
  builder_.graph().source = source;
}

Graph NetworkReader::read(const Value& root) && {
  try {
    TableReader keys(table_of(root), line_);
    read_header(keys);
    if (const Value* dims = keys.take("dims")) read_dims(*dims);
    if (const Value* inputs = keys.take("inputs")) read_inputs(*inputs);
    const Value* layers = keys.take("layers");
    const Value* outputs = keys.take("outputs");
    if (const Value* warnings = keys.take("warnings")) read_warnings(*warnings);
    keys.expect_all_taken();
    if (layers == nullptr) fail(ErrorKind::input, "'layers' is missing: the list of layers");
    read_layers(*layers);
    if (outputs != nullptr) read_outputs(*outputs);
    return std::move(builder_).finish();
  } catch (Error& error) {
    if (!place_.empty()) error.add_context(place_);
    throw;
  }
}

void NetworkReader::read_header(TableReader& keys) {
  const bool has_version = read_key(keys, "strata_network", [](const Value& value) {
    const std::int64_t version = whole_number_of(value);
    if (version != network_format_version) {
      fail(ErrorKind::unsupported, "version {} of the format; this Strata reads version {}",
           version, network_format_version);
    }
  });
  if (!has_version) {
    line_ = 1;
    fail(ErrorKind::input, "'strata_network' is missing: the version of the format, {}",
         network_format_version);
  }
  Graph& graph = builder_.graph();
  read_key(keys, "name", [&graph](const Value& value) {
    graph.name = checked_text(value);
    check_name(graph.name);
  });
  graph.title = graph.name;
  read_key(keys, "title", [&graph](const Value& value) { graph.title = checked_text(value); });
  read_key(keys, "source", [&graph](const Value& value) { graph.source = checked_text(value); });
  read_key(keys, "recurrent_order", [&graph](const Value& value) {
    graph.recurrent_order = recurrent_order_named(text_of(value));
  });
}

void NetworkReader::read_dims(const Value& value) {
  place_ = "key 'dims'";
  for (const auto& [name, default_value] : table_of(value)) {
    line_ = default_value.line;
    place_ = fmt::format("dimension {}", in_quotes(name));
    const auto* text = std::get_if<std::string>(&default_value.content);
    if (text != nullptr && *text == no_default) {
      dims_.declare(name, std::nullopt);
    } else if (std::holds_alternative<std::int64_t>(default_value.content)) {
      dims_.declare(name, whole_number_of(default_value));
    } else {
      fail_expected(fmt::format("a whole number or \"{}\"", no_default), default_value);
    }
  }
  place_.clear();
}

// "image": ["batch", 3, 32, 32], or "tokens": {"shape": ["batch", "seq"], "dtype": "int64"}
void NetworkReader::read_inputs(const Value& value) {
  place_ = "key 'inputs'";
  for (const auto& [name, type] : table_of(value)) {
    line_ = type.line;
    place_ = fmt::format("input {}", in_quotes(name));
    check_size();
    const Value key{name, type.line};
    check_name(checked_text(key));
    if (std::holds_alternative<List>(type.content)) {
      enter(builder_.input(name, dims_.read_positive_shape(type)));
    } else if (std::holds_alternative<Table>(type.content)) {
      TableReader keys(std::get<Table>(type.content), line_);
      const TensorType read = read_type(keys);
      enter(builder_.input(name, read.shape, read.dtype));
    } else {
      fail_expected("a shape, or a table with shape and dtype", type);
    }
  }
  place_.clear();
}

TensorType NetworkReader::read_type(TableReader& keys) {
  TensorType type;
  const bool has_shape = read_key(
      keys, "shape", [&](const Value& value) { type.shape = dims_.read_positive_shape(value); });
  read_key(keys, "dtype", [&type](const Value& value) { type.dtype = read_dtype(value); });
  keys.expect_all_taken();
  if (!has_shape) fail(ErrorKind::input, "'shape' is missing");
  return type;
}

void NetworkReader::read_layers(const Value& value) {
  line_ = value.line;
  place_ = "key 'layers'";
  const List& layers = list_of(value);
  if (layers.empty()) fail(ErrorKind::input, "the network has no layers");
  if (layers.size() > most_layers) {
    fail(ErrorKind::input, "{} layers, the most is {}", layers.size(), most_layers);
  }
  for (const Value& layer : layers) {
    const auto* table = std::get_if<Table>(&layer.content);
    if (table == nullptr) continue;
    for (const auto& [key, name] : *table) {
      const auto* text = std::get_if<std::string>(&name.content);
      if (key == "name" && text != nullptr) given_names_.insert(*text);
    }
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    line_ = layers[i].line;
    place_ = fmt::format("layer {}", i + 1);
    read_entry(table_of(layers[i]), line_, i + 1);
    check_size();
  }
  place_.clear();
}

void NetworkReader::check_size() {
  if (builder_.graph().tensors.size() > tensor_limit_) {
    fail(ErrorKind::input, "the network has more than {} tensors up to here", tensor_limit_);
  }
  if (references_ > most_references) {
    fail(ErrorKind::input, "the layers take more than {} tensors up to here", most_references);
  }
}

void NetworkReader::read_entry(const Table& entry, std::uint32_t line, std::size_t index) {
  TableReader keys(entry, line_);
  std::string name;
  const bool has_name = read_key(keys, "name", [&](const Value& value) {
    name = checked_text(value);
    check_name(name);
    place_ = fmt::format("layer {}", in_quotes(name));
  });
  std::string op_name;
  const bool has_op =
      read_key(keys, "op", [&op_name](const Value& value) { op_name = text_of(value); });
  if (!has_op) fail(ErrorKind::input, "'op' is missing: what the layer computes");
  if (const std::optional<TensorKind> kind = stored_kind_named(op_name)) {
    place_ = fmt::format("{} {}", op_name, has_name ? in_quotes(name) : fmt::format("{}", index));
    if (!has_name) fail(ErrorKind::input, "'name' is missing");
    read_stored(keys, name, *kind);
    return;
  }
  const std::optional<Operator> op = operator_named(op_name);
  if (!op) fail_unknown_operator(op_name);
  if (!has_name) {
    name = default_name(name_of(*op));
    place_ = fmt::format("layer {}", in_quotes(name));
  }
  read_layer(keys, name, *op, line);
}

void NetworkReader::read_stored(TableReader& keys, const std::string& name, TensorKind kind) {
  const TensorType type = read_type(keys);
  enter(kind == TensorKind::input ? builder_.input(name, type.shape, type.dtype)
                                  : builder_.stored(name, type.shape, kind, type.dtype));
}

void NetworkReader::read_layer(TableReader& keys, const std::string& name, Operator op,
                               std::uint32_t line) {
  const std::vector<TensorId> inputs = inputs_of_layer(keys);
  const std::size_t spatial_axes =
      spatial_axes_of(inputs.empty() ? Shape() : builder_.type(inputs.front()).shape);
  const std::string missing = read_fields(op, keys, dims_, spatial_axes);
  const std::vector<TensorId> weights = weights_of_layer(keys, op);
  std::string block;
  read_key(keys, "block", [&block](const Value& value) { block = checked_text(value); });
  const Value* output_names = keys.take("outputs");
  keys.expect_all_taken();
  line_ = line;
  if (!missing.empty()) fail(ErrorKind::input, "{}", missing);
  if (!layers_.try_emplace(name, static_cast<NodeId>(builder_.graph().nodes.size())).second) {
    fail(ErrorKind::input, "two layers have this name");
  }
  place_.clear();  // the builder names the node itself
  const NodeId node = builder_.add_node(name, op, inputs, weights);
  place_ = fmt::format("layer {}", in_quotes(name));
  Node& added = builder_.graph().nodes[node];
  added.block = std::move(block);
  if (output_names != nullptr) name_outputs(node, *output_names);
  if (weights.empty()) {
    for (std::size_t i = added.first_own; i < added.inputs.size(); ++i) enter(added.inputs[i]);
  }
  for (const TensorId output : added.outputs) enter(output);
}

void NetworkReader::name_outputs(NodeId node, const Value& names) {
  line_ = names.line;
  const List& list = list_of(names);
  const std::vector<TensorId>& outputs = builder_.graph().nodes[node].outputs;
  if (list.size() > outputs.size()) {
    fail(ErrorKind::input, "key 'outputs': {} names for {} output(s)", list.size(), outputs.size());
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string& name = checked_text(list[i]);
    check_name(name);
    builder_.graph().tensors[outputs[i]].name = name;
  }
}

std::string NetworkReader::default_name(std::string_view op) {
  std::string name;
  do {
    name = fmt::format("{}_{}", op, ++numbers_[op]);
  } while (given_names_.contains(name) || tensors_.contains(name));
  return name;
}

std::vector<TensorId> NetworkReader::inputs_of_layer(TableReader& keys) {
  std::vector<TensorId> inputs;
  const bool is_given =
      read_key(keys, "inputs", [&](const Value& value) { inputs = tensors_named(value); });
  if (!is_given) inputs.push_back(previous_output());
  return inputs;
}

TensorId NetworkReader::previous_output() {
  const Graph& graph = builder_.graph();
  if (!graph.nodes.empty()) {
    const Node& previous = graph.nodes.back();
    // An LSTM's first output is what everybody means; of the parts of a split none is.
    if (std::holds_alternative<Split>(previous.op) && previous.outputs.size() > 1) {
      fail(ErrorKind::input, "the layer before, {}, has {} outputs: name one in \"inputs\"",
           in_quotes(previous.name), previous.outputs.size());
    }
    return previous.outputs.front();
  }
  if (graph.inputs.size() == 1) return graph.inputs.front();
  fail(ErrorKind::input, "the network has {} inputs: say in \"inputs\" what the first layer takes",
       graph.inputs.size());
}

std::vector<TensorId> NetworkReader::weights_of_layer(TableReader& keys, const Operator& op) {
  std::vector<TensorId> weights;
  const Graph& graph = builder_.graph();
  const bool has_weights = read_key(keys, "weights", [&](const Value& value) {
    weights = tensors_named(value);
    if (weights.empty()) fail_expected("the names of stored tensors", value);
    for (const TensorId weight : weights) {
      if (graph.tensors[weight].kind != TensorKind::activation || takes_made_weights(op)) continue;
      fail(ErrorKind::input, "{} is made by a layer; weights are stored",
           in_quotes(graph.tensors[weight].name));
    }
  });
  read_key(keys, "weights_of", [&](const Value& value) {
    if (has_weights) fail(ErrorKind::input, "give this or 'weights'");
    const std::string& name = text_of(value);
    const auto found = layers_.find(name);
    if (found == layers_.end()) {
      fail(ErrorKind::input, "no earlier layer is called {}", in_quotes(name));
    }
    const Node& owner = graph.nodes[found->second];
    weights.assign(owner.inputs.begin() + owner.first_own, owner.inputs.end());
    if (weights.empty()) fail(ErrorKind::input, "layer {} has no weights", in_quotes(name));
  });
  return weights;
}

std::vector<TensorId> NetworkReader::tensors_named(const Value& names) {
  std::vector<TensorId> tensors;
  if (const auto* name = std::get_if<std::string>(&names.content)) {
    tensors.push_back(tensor_named(*name));
    return tensors;
  }
  if (!std::holds_alternative<List>(names.content))
    fail_expected("a name or a list of names", names);
  references_ += std::get<List>(names.content).size();
  check_size();
  for (const Value& name : std::get<List>(names.content)) {
    tensors.push_back(tensor_named(text_of(name)));
  }
  return tensors;
}

TensorId NetworkReader::tensor_named(const std::string& name) {
  if (const auto found = tensors_.find(name); found != tensors_.end()) return found->second;
  if (given_names_.contains(name)) {
    fail(ErrorKind::input, "{} is not there yet; layers stand in the order in which they run",
         in_quotes(name));
  }
  std::vector<std::string> known;
  for (const auto& [tensor, id] : tensors_) known.push_back(tensor);
  std::sort(known.begin(), known.end());  // so that the message does not vary
  fail(ErrorKind::input, "nothing is called {}{}", in_quotes(name), did_you_mean(name, known));
}

void NetworkReader::enter(TensorId tensor) {
  const std::string& name = builder_.graph().tensors[tensor].name;
  if (!tensors_.try_emplace(name, tensor).second) {
    fail(ErrorKind::input, "the name {} is taken", in_quotes(name));
  }
}

// [{"code": "value-assumed", "message": "…"}]: what was to be known about the file that this one
// was made from.
void NetworkReader::read_warnings(const Value& value) {
  line_ = value.line;
  place_ = "key 'warnings'";
  const List& warnings = list_of(value);
  if (warnings.size() > most_warnings) {
    fail(ErrorKind::input, "{} warnings, the most is {}", warnings.size(), most_warnings);
  }
  for (const Value& entry : warnings) {
    line_ = entry.line;
    TableReader keys(table_of(entry), line_);
    Warning warning;
    const bool has_code = read_key(keys, "code", [&warning](const Value& code) {
      const std::optional<WarningCode> known = warning_named(text_of(code));
      if (!known) fail(ErrorKind::input, "no warning is called {}", in_quotes(text_of(code)));
      warning.code = *known;
    });
    const bool has_message = read_key(
        keys, "message", [&warning](const Value& text) { warning.message = checked_text(text); });
    keys.expect_all_taken();
    if (!has_code || !has_message) {
      fail(ErrorKind::input, "'{}' is missing", has_code ? "message" : "code");
    }
    builder_.graph().warnings.push_back(std::move(warning));
  }
  place_.clear();
}

void NetworkReader::read_outputs(const Value& value) {
  line_ = value.line;
  place_ = "key 'outputs'";
  const std::vector<TensorId> outputs = tensors_named(value);
  if (outputs.empty()) fail_expected("the names of the results", value);
  std::unordered_set<TensorId> known;
  for (const TensorId output : outputs) {
    if (!known.insert(output).second) {
      fail(ErrorKind::input, "{} is named twice", in_quotes(builder_.graph().tensors[output].name));
    }
    builder_.output(output);
  }
  place_.clear();
}

}  // namespace strata::network
