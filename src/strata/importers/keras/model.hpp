// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/importers/keras/config.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// A model as its file describes it, without what its layers do: layers, the calls of
/// each (a shared layer has several), and an order in which they can run. Sequential and Functional
/// models, of Keras 1, 2 and 3, become the same thing.
namespace strata::keras {

/// One output of one call of one layer of a model.
struct Reference {
  std::uint32_t layer = 0;
  std::uint32_t call = 0;
  std::uint32_t output = 0;
};

/// An argument of a call: a tensor, several of them (a list), or a constant.
struct Argument {
  std::string name;  ///< empty: given by position
  std::vector<Reference> tensors;
  const Json* value = nullptr;  ///< as the file has it
};

struct Call {
  std::vector<Argument> arguments;
};

/// Extents of a tensor in Keras's order, the batch first; an extent may be left open (None).
using OpenShape = std::vector<std::optional<std::int64_t>>;

struct Model;

struct Layer {
  std::string name;
  std::string class_name;
  const Json* entry = nullptr;     ///< the whole entry of the file
  const Json* config = nullptr;    ///< its arguments
  std::optional<OpenShape> shape;  ///< what an InputLayer takes, if the file says so
  std::vector<Call> calls;
  std::unique_ptr<Model> model;  ///< when the layer is a model itself
  std::unique_ptr<Layer> inner;  ///< the layer that a wrapper (TimeDistributed) applies
  /// The weights of the nodes that the layer's first call made, by what follows the layer's name:
  /// every further call shares them.
  std::unordered_map<std::string, std::vector<TensorId>> weights;

  bool is_input() const { return class_name == "InputLayer"; }
};

struct Step {
  std::uint32_t layer = 0;
  std::uint32_t call = 0;
};

struct Model {
  std::string name;
  std::vector<Layer> layers;
  std::vector<Step> order;  ///< every call of every layer, after those that it needs
  std::vector<Reference> inputs;
  std::vector<Reference> outputs;
  /// Where each layer's outputs go, first use first: shapes that a layer does not tell are often
  /// told by those that read it.
  std::vector<std::vector<std::uint32_t>> readers;
  bool is_trainable = true;
};

/// Reads {"class_name", "config"}, which must outlive the model. Errors (input) name the layer.
Model read_model(const Json& architecture);

/// A shape as files write it: a list with null for what is open. Nothing when it is no such list.
std::optional<OpenShape> shape_in(const Json& value);

}  // namespace strata::keras
