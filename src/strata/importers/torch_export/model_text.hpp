// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/torch_export/exported_program.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Writes an ONNX model (onnx.proto) piece by piece: nodes, tensors whose numbers are elsewhere,
/// small tables of numbers.
namespace strata::torch_export {

using Integers = std::vector<std::int64_t>;
using AttributeValue = std::variant<std::int64_t, double, std::string, Integers>;
using Attributes = std::vector<std::pair<std::string_view, AttributeValue>>;

struct OnnxNode {
  std::string_view op;
  std::vector<std::string> inputs;  ///< an empty name: left out
  std::vector<std::string> outputs;
  Attributes attributes = {};
  std::string name = {};
  std::vector<std::string> modules = {};  ///< around it, outermost first
};

class OnnxText {
 public:
  void add(const OnnxNode& node);
  /// A weight: its numbers are in another file.
  void add_tensor(std::string_view name, const Integers& sizes, std::int64_t type);
  void add_integers(std::string_view name, const Integers& numbers, bool is_scalar = false);
  void add_number(std::string_view name, double number, std::int64_t type);
  void add_input(std::string_view name, const TensorMeta& meta);
  void add_output(std::string_view name, const TensorMeta& meta);
  /// What is known of a tensor in between.
  void add_value(std::string_view name, const TensorMeta& meta);
  void say_learnt(std::string_view name, bool is_learnt);

  /// The bytes of the model.
  std::string finish() const;

 private:
  std::string graph_;
  std::string signature_;
};

/// TensorProto.DataType of a type as PyTorch numbers it; 0: there is none.
std::int64_t onnx_type(std::int64_t torch_type);

}  // namespace strata::torch_export
