// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/torch_export/exported_program.hpp"

#include "strata/base/error.hpp"
#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"

#include <fmt/format.h>

namespace strata::torch_export {
namespace {

using keras::member;

constexpr std::size_t most_program_nodes = 60'000;
constexpr std::size_t most_tensor_axes = 64;
constexpr std::size_t longest_expression = 64;

const Json& object_in(const Json& value, const char* key) {
  const Json* found = member(value, key);
  if (found == nullptr || !found->is_object())
    fail(ErrorKind::input, "not a program of torch.export: it has no object '{}'", key);
  return *found;
}

const Json& list_of(const Json& value, const char* key) {
  const Json* found = member(value, key);
  if (found == nullptr || !found->is_array())
    fail(ErrorKind::input, "not a program of torch.export: it has no list '{}'", key);
  return *found;
}

std::string name_in(const Json& value, const char* key) {
  const Json* found = member(value, key);
  if (found == nullptr) fail(ErrorKind::input, "an entry has no '{}'", key);
  return keras::word_in(*found, key);
}

/// "x" of {"as_tensor": {"name": "x"}}; empty where it is something else.
std::string tensor_in(const Json& argument) {
  const Json* tensor = member(argument, "as_tensor");
  if (tensor == nullptr) tensor = member(argument, "as_optional_tensor");
  return tensor == nullptr ? "" : name_in(*tensor, "name");
}

Size size_of(const Json& size) {
  if (const Json* number = member(size, "as_int")) {
    const std::int64_t value = keras::whole_number(*number, "sizes");
    if (value < 0) fail(ErrorKind::input, "a size is negative: {}", value);
    return {.number = value};
  }
  const Json* expression = member(size, "as_expr");
  if (expression == nullptr) fail(ErrorKind::input, "a size is neither a number nor a symbol");
  const Json* text = member(*expression, "expr_str");
  if (text == nullptr || !text->is_string())
    fail(ErrorKind::input, "a symbolic size has no 'expr_str'");
  return {.expression = printable(text->get<std::string>().substr(0, longest_expression))};
}

TensorMeta meta_of(const Json& value) {
  TensorMeta meta;
  if (const Json* dtype = member(value, "dtype")) meta.dtype = keras::whole_number(*dtype, "dtype");
  const Json& sizes = list_of(value, "sizes");
  if (sizes.size() > most_tensor_axes)
    fail(ErrorKind::input, "a tensor of {} axes; the most is {}", sizes.size(), most_tensor_axes);
  for (const Json& size : sizes) meta.sizes.push_back(size_of(size));
  return meta;
}

/// Paths of "L__self__,,Net;L__self__layer1,layer1,Sequential": the second of each three.
std::vector<std::string> modules_in(const Json& node) {
  std::vector<std::string> modules;
  const Json* metadata = member(node, "metadata");
  const Json* stack = metadata == nullptr ? nullptr : member(*metadata, "nn_module_stack");
  if (stack == nullptr || !stack->is_string()) return modules;
  for (const std::string_view entry : split(stack->get_ref<const std::string&>(), ';')) {
    const std::vector<std::string_view> parts = split(entry, ',');
    if (parts.size() < 3 || parts[1].empty() || parts[1].starts_with('_')) continue;
    // A module that is called again is "layer1@1".
    modules.push_back(printable(parts[1].substr(0, parts[1].find('@'))));
  }
  return modules;
}

void add_outputs(const Json& output, std::vector<std::string>& names) {
  if (const std::string name = tensor_in(output); !name.empty()) names.push_back(name);
  const Json* list = member(output, "as_tensors");
  if (list == nullptr || !list->is_array()) return;
  for (const Json& tensor : *list) names.push_back(name_in(tensor, "name"));
}

ProgramNode node_of(const Json& value) {
  ProgramNode node;
  node.target = name_in(value, "target");
  constexpr std::string_view prefix = "torch.ops.";
  if (node.target.starts_with(prefix)) node.target.erase(0, prefix.size());
  for (const Json& input : list_of(value, "inputs")) {
    const Json* argument = member(input, "arg");
    if (argument == nullptr) fail(ErrorKind::input, "an input of {} has no 'arg'", node.target);
    node.arguments[name_in(input, "name")] = *argument;
  }
  for (const Json& output : list_of(value, "outputs")) add_outputs(output, node.outputs);
  node.modules = modules_in(value);
  return node;
}

struct SpecRule {
  const char* key;
  const char* name;
  InputKind kind;
};
constexpr SpecRule spec_rules[] = {
    {"parameter", "parameter_name", InputKind::parameter},
    {"buffer", "buffer_name", InputKind::buffer},
    {"tensor_constant", "tensor_constant_name", InputKind::constant}};

std::optional<ProgramInput> input_of(const Json& spec) {
  for (const SpecRule& rule : spec_rules) {
    const Json* found = member(spec, rule.key);
    if (found == nullptr) continue;
    return ProgramInput{name_in(object_in(*found, "arg"), "name"), name_in(*found, rule.name),
                        rule.kind};
  }
  const Json* user = member(spec, "user_input");
  const Json* argument = user == nullptr ? nullptr : member(*user, "arg");
  const std::string name = argument == nullptr ? "" : tensor_in(*argument);
  if (name.empty()) return std::nullopt;  // a number or a token: no tensor
  return ProgramInput{name, name, InputKind::user};
}

void check_version(const Json& document) {
  const Json* version = member(document, "schema_version");
  const Json* major = version == nullptr ? nullptr : member(*version, "major");
  if (major == nullptr) return;  // files of PyTorch 2.1 have a number here
  constexpr std::int64_t newest = 8;
  const std::int64_t value = keras::whole_number(*major, "schema_version.major");
  if (value > newest)
    fail(ErrorKind::unsupported, "schema version {} of torch.export; {} is the newest that is read",
         value, newest);
}

}  // namespace

ExportedProgram read_program(std::string_view json_text) {
  const Json document = keras::parse_json(json_text);
  if (!document.is_object()) fail(ErrorKind::input, "not a program of torch.export");
  check_version(document);
  const Json& module = object_in(document, "graph_module");
  const Json& graph = object_in(module, "graph");
  const Json& signature = object_in(module, "signature");
  ExportedProgram program;
  for (const auto& [name, meta] : object_in(graph, "tensor_values").items()) {
    try {
      program.tensors.emplace(name, meta_of(meta));
    } catch (Error& error) {
      error.add_context(fmt::format("tensor '{}'", printable(name.substr(0, 200))));
      throw;
    }
  }
  for (const Json& spec : list_of(signature, "input_specs"))
    if (auto input = input_of(spec)) program.inputs.push_back(std::move(*input));
  const Json& nodes = list_of(graph, "nodes");
  if (nodes.size() > most_program_nodes)
    fail(ErrorKind::input, "{} nodes; the most is {}", nodes.size(), most_program_nodes);
  for (const Json& node : nodes) program.nodes.push_back(node_of(node));
  for (const Json& spec : list_of(signature, "output_specs")) {
    const Json* user = member(spec, "user_output");
    const Json* argument = user == nullptr ? nullptr : member(*user, "arg");
    const std::string name = argument == nullptr ? "" : tensor_in(*argument);
    if (!name.empty()) program.outputs.push_back(name);
  }
  if (program.outputs.empty()) fail(ErrorKind::input, "the program returns no tensor");
  return program;
}

}  // namespace strata::torch_export
