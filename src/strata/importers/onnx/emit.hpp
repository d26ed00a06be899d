// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/onnx/session.hpp"

#include <string>

namespace strata::onnx {

/// The draft as a Graph called `name`. The draft is used up. Errors (unsupported) when no output
/// depends on a layer.
Graph emit(Session& session, const std::string& name);

/// An output that is an input or a constant is left out: it costs nothing.
void warn_of_idle_output(Session& session, std::string_view name);

/// What a node of the file is called, and the block it is in.
struct NodeName {
  std::string name;
  std::string block;
};

/// Names come from the node itself, or, where PyTorch wrote the path of modules beside it, from
/// there: 'layer1.0.conv1' says more than 'node_Conv_757'.
class NodeNames {
 public:
  NodeNames(const FlatGraph& flat, const Draft& draft);
  NodeName name_of(std::uint32_t node) const;

 private:
  NodeName from_scopes(const NodeDef& def) const;

  const FlatGraph& flat_;
  std::unordered_map<std::string_view, int> nodes_per_module_;
};

}  // namespace strata::onnx
