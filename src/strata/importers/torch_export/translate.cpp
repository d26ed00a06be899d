// SPDX-License-Identifier: Apache-2.0
#include "strata/importers/torch_export/translate.hpp"

#include "strata/base/error.hpp"
#include "strata/importers/torch_export/op_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace strata::torch_export {
namespace {

/// Arithmetic of sizes and checks: nothing runs on a device.
bool is_bookkeeping(const ProgramNode& node) {
  return node.outputs.empty() || !node.target.starts_with("aten.");
}

/// "aten.conv2d" of "aten.conv2d.default", "aten.relu" of "aten.relu_.default".
std::string_view operator_of(std::string_view target) {
  std::string_view name = target.substr(0, target.rfind('.'));
  if (name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return name;
}

Translate find_translation(std::string_view target) {
  static const std::map<std::string_view, Translate> all = [] {
    std::map<std::string_view, Translate> rows;
    for (const std::span<const AtenRow> table : {layer_rows(), pointwise_rows(), movement_rows()})
      for (const AtenRow& row : table) rows.emplace(row.name, row.translate);
    return rows;
  }();
  const auto found = all.find(operator_of(target));
  return found == all.end() ? nullptr : found->second;
}

void add_tensors_in(const Json& argument, std::vector<std::string>& names) {
  const auto add = [&](const Json& tensor) {
    const Json* name = keras::member(tensor, "name");
    if (name != nullptr && name->is_string()) names.push_back(name->get<std::string>());
  };
  for (const char* kind : {"as_tensor", "as_optional_tensor"})
    if (const Json* tensor = keras::member(argument, kind)) add(*tensor);
  const Json* list = keras::member(argument, "as_tensors");
  if (list != nullptr && list->is_array())
    for (const Json& tensor : *list) add(tensor);
}

std::vector<std::string> tensors_in(const ProgramNode& node) {
  std::vector<std::string> names;
  for (const auto& [name, argument] : node.arguments) add_tensors_in(argument, names);
  return names;
}

class Translator {
 public:
  explicit Translator(const ExportedProgram& program) : translation_{.program = program} {}

  std::string text() {
    for (const ProgramInput& input : translation_.program.inputs) enter(input);
    for (const ProgramNode& node : translation_.program.nodes) {
      try {
        enter(node);
      } catch (Error& error) {
        error.add_context(fmt::format(
            "node '{}' ({})", node.outputs.empty() ? "" : node.outputs.front(), node.target));
        throw;
      }
    }
    for (const std::string& output : translation_.program.outputs) {
      const auto meta = translation_.program.tensors.find(output);
      if (meta == translation_.program.tensors.end() || translation_.fixed.contains(output))
        continue;
      translation_.text.add_output(translation_.names[output], meta->second);
    }
    return translation_.text.finish();
  }

 private:
  const TensorMeta& meta_of(const std::string& value) const {
    const auto meta = translation_.program.tensors.find(value);
    if (meta == translation_.program.tensors.end())
      fail(ErrorKind::input, "the file does not say the size of '{}'", value.substr(0, 200));
    return meta->second;
  }

  /// Weights are written when something reads them, so that what nothing reads is not counted.
  void enter(const ProgramInput& input) {
    translation_.names[input.value] = input.name;
    if (input.kind == InputKind::user) {
      translation_.text.add_input(input.name, meta_of(input.value));
      return;
    }
    if (input.kind != InputKind::parameter) {
      translation_.fixed.insert(input.value);
      return;
    }
    Integers sizes;
    const TensorMeta& meta = meta_of(input.value);
    for (const Size& size : meta.sizes) sizes.push_back(size.number);
    if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 0; }))
      fail(ErrorKind::input, "the parameter '{}' has a size that is no number", input.name);
    if (!is_read(input.value)) return;
    translation_.text.add_tensor(input.name, sizes, onnx_type(meta.dtype));
    translation_.text.say_learnt(input.name, true);
  }

  bool is_read(const std::string& value) {
    if (read_.empty())
      for (const ProgramNode& node : translation_.program.nodes)
        if (!is_recurrent(node))
          for (std::string& name : tensors_in(node)) read_.insert(std::move(name));
    return read_.contains(value);
  }

  /// Weights of recurrent layers are put together anew, one tensor for all gates and directions.
  static bool is_recurrent(const ProgramNode& node) { return node.arguments.contains("params"); }

  void enter(const ProgramNode& node) {
    if (is_bookkeeping(node)) return;
    const std::vector<std::string> inputs = tensors_in(node);
    const bool is_fixed = std::all_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
      return translation_.fixed.contains(input);
    });
    for (const std::string& output : node.outputs) {
      translation_.names[output] = output;
      if (is_fixed) translation_.fixed.insert(output);
    }
    if (is_fixed) return;
    for (const std::string& output : node.outputs) {
      const auto meta = translation_.program.tensors.find(output);
      if (meta != translation_.program.tensors.end())
        translation_.text.add_value(output, meta->second);
    }
    OpCall call(translation_, node);
    if (const Translate known = find_translation(node.target)) return known(call);
    std::vector<std::string> names;
    for (const std::string& input : inputs) names.push_back(call.model_name(input));
    call.add_to(operator_of(node.target), std::move(names), node.outputs);
  }

  Translation translation_;
  std::unordered_set<std::string> read_;
};

}  // namespace

std::string translate(const ExportedProgram& program) { return Translator(program).text(); }

}  // namespace strata::torch_export
