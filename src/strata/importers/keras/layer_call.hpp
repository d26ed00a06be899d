// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/importers/keras/assembly.hpp"
#include "strata/importers/keras/config.hpp"
#include "strata/importers/keras/model.hpp"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::keras {

/// An argument of a call with its tensors made; `json` is what the file has in its place.
struct Given {
  std::string_view name;  ///< empty: by position
  Values values;
  const Json* json = nullptr;
};

/// One call of one layer: its arguments, its inputs, and the means to add nodes for it. Nodes are
/// called like the layer, or "<layer>/<part>"; weights are made on the first call and shared by the
/// others.
class LayerCall {
 public:
  LayerCall(Assembly& assembly, Layer& definition, std::string layer_name, bool trainable);

  Assembly& net;
  Layer& layer;
  std::string name;
  Config config;
  bool is_trainable;
  Values inputs;                 ///< every tensor that is given by position
  std::vector<Given> arguments;  ///< everything that is given; nothing inside a wrapper
  const Model* model = nullptr;  ///< that the layer belongs to; null inside a wrapper
  std::uint32_t index = 0;       ///< of the layer in it

  /// The input at that position; an error when there are fewer.
  Value input(std::size_t position = 0) const;
  /// The only input; an error when there are more.
  Value only_input() const;
  /// What the call gives by that name, or nullptr.
  const Given* named(std::string_view name) const;
  /// Whether the call gives that name the value true.
  bool is_asked(std::string_view name) const;

  Shape shape(Value x) const { return net.shape(x); }
  std::size_t rank(Value x) const { return net.rank(x); }
  /// An extent that must be a number.
  std::int64_t extent(Value x, std::int64_t axis) const;
  /// An axis in Keras's order, from an argument that may count from the end.
  std::size_t axis_of(Value x, std::int64_t axis) const;
  /// The place of such an axis in the graph.
  std::int64_t stored_axis_of(Value x, std::int64_t axis) const;

  std::string part(std::string_view suffix) const;

  /// Adds a node "<layer>" or "<layer>/<suffix>".
  TensorId add(const Operator& op, std::span<const TensorId> operands,
               std::string_view suffix = {});
  TensorId add(const Operator& op, std::initializer_list<TensorId> operands,
               std::string_view suffix = {});
  NodeId add_node(const Operator& op, std::span<const TensorId> operands,
                  std::string_view suffix = {});
  /// A tensor of the layer's own, "<layer>.<what>".
  TensorId stored(std::string_view what, const Shape& shape,
                  TensorKind kind = TensorKind::parameter);

  /// The value with every number kept and no work done, under the layer's name: what a layer does
  /// that does nothing to the cost.
  Value unchanged(Value x, std::string_view suffix = {});
  /// Stored as Keras has it.
  Value plain(Value x);
  /// With the channels at that place of the graph's order.
  Value with_channels_at(Value x, std::size_t channels_at);
  /// As N, C, space, for a layer that has a data format.
  Value image(Value x);
  bool is_channels_first() const;

  void note(WarningCode code, std::string_view what) const;

 private:
  std::vector<TensorId> own_tensors(NodeId node) const;
  void freeze(std::span<const TensorId> tensors);
};

}  // namespace strata::keras
