// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Under which names of modules the nodes of a network may have been recorded. Exporters name nodes
/// in several ways: "/layer1/layer1.0/conv1/Conv", "layer1.0.conv1", "Conv_12" with a weight
/// "layer1.0.conv1.weight"; a module that is called again gets a number behind its name.
namespace strata {

enum class FoundBy : std::uint8_t {
  parameter,  ///< the module that owns the node's weight
  name,       ///< the node's own name
  ancestor,   ///< a module around it
};

struct NodePath {
  std::string path;
  FoundBy by = FoundBy::name;
};

/// Best first.
std::vector<NodePath> paths_of_node(const Graph& graph, NodeId node);

/// "layer1.0.conv1.Conv" of "/layer1/layer1.0/conv1/Conv": a part that repeats the one before it
/// stands for both.
std::string dotted_path(std::string_view name);

/// Without its first part: "layer1.0" of "model.layer1.0"; empty where there is but one.
std::string_view without_root(std::string_view path);

struct FoundModule {
  std::string path;  ///< as it was recorded
  FoundBy by = FoundBy::name;
};

/// For every node the module of the recording that it is in; nothing where there is none.
/// Where no node is found by weight or name, a root that only
/// one side has ("model.") is left out.
std::vector<std::optional<FoundModule>> modules_of_nodes(const Graph& graph,
                                                         const std::vector<std::string>& recorded);

}  // namespace strata
