// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/onnx/model.hpp"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The nodes of a file as one list: local functions inlined, names turned into numbers, what no
/// output needs left out, and an order in which everything can run.
namespace strata::onnx {

using FlatValueId = std::uint32_t;
inline constexpr FlatValueId no_flat_value = 0;  ///< an optional input that was left out

/// One call of a local function, or the main graph (index 0).
struct Frame {
  const NodeDef* call = nullptr;
  const FunctionDef* function = nullptr;
  std::uint32_t caller = 0;
};

struct FlatNode {
  const NodeDef* def = nullptr;
  std::uint32_t first_operand = 0;  ///< into FlatGraph::operands: inputs, then outputs
  std::uint32_t input_count = 0;
  std::uint32_t output_count = 0;
  std::uint32_t frame = 0;
};

struct FlatGraph {
  std::vector<FlatNode> nodes;
  std::vector<FlatValueId> operands;
  std::vector<std::string_view> value_names;  ///< by FlatValueId
  std::vector<Frame> frames;
  std::vector<FlatValueId>
      inputs;  ///< as GraphDef::inputs; no_flat_value for one that is an initializer
  std::vector<FlatValueId> outputs;                       ///< as GraphDef::outputs
  std::vector<FlatValueId> initializers;                  ///< as GraphDef::initializers
  std::unordered_map<std::string_view, FlatValueId> ids;  ///< names of the main graph

  std::span<const FlatValueId> inputs_of(const FlatNode& node) const {
    return std::span(operands).subspan(node.first_operand, node.input_count);
  }
  std::span<const FlatValueId> outputs_of(const FlatNode& node) const {
    return std::span(operands).subspan(node.first_operand + node.input_count, node.output_count);
  }
};

/// Tells operators that Strata reads itself: they are not inlined even where the file has a
/// function for them.
using IsKnownOperator = bool (*)(std::string_view domain, std::string_view op);

/// Errors (input): a value that is made twice or by nobody, a cycle; more nodes, or functions in
/// functions, than real networks have.
FlatGraph flatten(const ModelDef& model, IsKnownOperator is_known);

/// The attribute of a node, looked up through the calls around it; nullptr when it is not set.
const AttributeDef* find_attribute(const FlatGraph& flat, const FlatNode& node,
                                   std::string_view name);

/// The version of the operator set that the node is written in; 0 when the file does not say.
std::int64_t opset_of(const ModelDef& model, const FlatGraph& flat, const FlatNode& node);

/// Text from a file as it may stand as the name of a node or a tensor: printable, and cut where it
/// is longer than any real one.
std::string short_name(std::string_view text);
/// Text from a file as it may stand in a message: printable, in quotes and short.
std::string quoted(std::string_view text);

/// "node 'conv1' (Conv)".
std::string place_of(const NodeDef& node);

}  // namespace strata::onnx
