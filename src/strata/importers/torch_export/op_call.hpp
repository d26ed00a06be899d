// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/torch_export/model_text.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

/// One call of an operator of ATen, and the nodes of ONNX that stand for it.
namespace strata::torch_export {

/// What a translation knows: the program on one side, the text of the model on the other.
struct Translation {
  const ExportedProgram& program;
  OnnxText text = {};
  std::unordered_map<std::string, std::string> names = {};  ///< value → name in the model
  std::unordered_set<std::string> fixed = {};   ///< values that no input and no weight goes into
  std::unordered_set<std::string> stored = {};  ///< constants that are written already
};

class OpCall {
 public:
  OpCall(Translation& translation, const ProgramNode& node)
      : translation_(translation), node_(node) {}

  const std::string& target() const { return node_.target; }
  std::size_t output_count() const { return node_.outputs.size(); }
  const std::string& output(std::size_t index = 0) const;

  /// Arguments by their names in the operator's schema. Errors (input) name them.
  bool has(std::string_view argument) const;           ///< there, and not None
  std::string value(std::string_view argument) const;  ///< the tensor as the program calls it
  std::string tensor(std::string_view argument);       ///< as the model does; empty: None
  std::vector<std::string> values(std::string_view argument) const;  ///< of a list of tensors
  std::string model_name(const std::string& value);
  /// Whether no input of the program and no weight goes into it.
  bool is_fixed(const std::string& value) const { return translation_.fixed.contains(value); }
  std::int64_t integer(std::string_view argument, std::int64_t otherwise) const;
  double real(std::string_view argument, double otherwise) const;
  bool flag(std::string_view argument, bool otherwise) const;
  std::string word(std::string_view argument, std::string_view otherwise) const;
  /// A list, one number repeated `count` times, or `otherwise` so often. Errors (unsupported): a
  /// number is symbolic.
  Integers integers(std::string_view argument, std::size_t count, std::int64_t otherwise) const;
  Integers integers(std::string_view argument) const;
  /// A tensor or a number, as a tensor of the model.
  std::string operand(std::string_view argument);

  const std::vector<Size>& sizes(const std::string& value) const;
  std::int64_t type_of(const std::string& value) const;  ///< of ONNX
  /// Sizes that must be numbers. Errors (unsupported) name the operator.
  Integers fixed_sizes(const std::string& value) const;
  std::size_t rank(const std::string& value) const { return sizes(value).size(); }
  /// An axis that may count from the end. Errors (input): there is no such axis.
  std::size_t axis(std::string_view argument, std::size_t axes, std::int64_t otherwise = 0) const;

  // Nodes.
  void add(std::string_view op, std::vector<std::string> inputs, Attributes attributes = {});
  /// With a result of its own, for the next one.
  std::string add_inner(std::string_view op, std::vector<std::string> inputs,
                        Attributes attributes = {});
  void add_to(std::string_view op, std::vector<std::string> inputs,
              std::vector<std::string> outputs, Attributes attributes = {});
  /// The result is `from` in another shape: that of the output.
  void add_reshape(const std::string& from_value, const std::string& from_name);
  std::string constant(const Integers& numbers);
  /// Sizes as a tensor: symbols are taken from the inputs of the program. Errors (unsupported): a
  /// size is computed from symbols.
  std::string shape_tensor(const std::vector<Size>& wanted);
  std::string scalar(double number, std::int64_t type);
  std::string new_weight(std::string_view name, const Integers& sizes, std::int64_t type);

 private:
  const Json* argument(std::string_view name) const;

  Translation& translation_;
  const ProgramNode& node_;
  std::size_t inner_ = 0;
};

/// Writes a call as nodes of ONNX.
using Translate = void (*)(OpCall& call);

struct AtenRow {
  std::string_view name;  ///< without the overload: "aten.conv2d"
  Translate translate;
};

std::span<const AtenRow> layer_rows();
std::span<const AtenRow> pointwise_rows();
std::span<const AtenRow> movement_rows();

}  // namespace strata::torch_export
