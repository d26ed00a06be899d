// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/graph/infer.hpp"
#include "strata/graph/name_hashes.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace strata {

/// Grows a Graph node by node, inferring shapes as it goes. Zoo networks and importers use nothing
/// else. An error carries the name of the node that could not be added.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name);

  /// Makes room at once, for callers that know how much is coming; never needed.
  void reserve(std::size_t nodes, std::size_t tensors);

  Symbols& symbols() { return graph_.symbols; }
  Graph& graph() { return graph_; }
  const TensorType& type(TensorId tensor) const { return graph_.tensors[tensor].type; }
  /// Extent of one axis as a number; an error when it is symbolic. Negative axes count from the
  /// end.
  std::int64_t extent(TensorId tensor, std::int64_t axis) const;

  TensorId input(std::string_view name, const Shape& shape, DType dtype = DType::fp32);
  /// A learnt or fixed tensor that is an operand of its own (position table, class token, shared
  /// weight).
  TensorId stored(std::string_view name, const Shape& shape,
                  TensorKind kind = TensorKind::parameter, DType dtype = DType::fp32);

  /// Adds a node with one output and returns it. Own tensors (weights) are made, named
  /// "<block>.<name>.weight".
  TensorId add(std::string_view name, const Operator& op, std::initializer_list<TensorId> inputs);
  TensorId add(std::string_view name, const Operator& op, std::span<const TensorId> inputs);

  /// The same for any number of outputs; `own` gives existing tensors for the operator's own
  /// (shared weights, initializers of a file) instead of new ones: either none or all of them.
  NodeId add_node(std::string_view name, const Operator& op, std::span<const TensorId> inputs,
                  std::span<const TensorId> own = {});
  TensorId output_of(NodeId node, std::size_t index = 0) const {
    return graph_.nodes[node].outputs[index];
  }
  /// The index-th own tensor of the node that made `tensor`: how a shared weight is picked up.
  TensorId own_of(TensorId tensor, std::size_t index = 0) const;

  void output(TensorId tensor) { graph_.outputs.push_back(tensor); }

  /// Nodes added while a Scope lives are named "<scope>.<name>" and belong to the block <scope>.
  /// Scopes nest.
  class Scope {
   public:
    Scope(GraphBuilder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t outer_length_;
  };

  /// Ends the building: tensors that nothing reads become outputs when none was named, and the
  /// graph is verified.
  Graph finish() &&;

 private:
  friend class Scope;
  TensorId add_tensor(std::string name, const TensorType& type, TensorKind kind, NodeId producer);
  void make_own_tensors(Node& node);
  void take_own_tensors(Node& node, std::span<const TensorId> given);
  std::string scoped(std::string_view name) const;
  std::string unique_name(std::string name);

  Graph graph_;
  Inference sheet_;
  std::string scope_;
  NameHashes names_;
  std::unordered_map<std::string, std::uint32_t> repeats_;  // how often a taken name was asked for
};

}  // namespace strata
