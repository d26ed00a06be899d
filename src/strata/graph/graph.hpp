// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"
#include "strata/graph/operators.hpp"
#include "strata/graph/shape.hpp"
#include "strata/graph/warning.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strata {

struct RecordedOperations;

using TensorId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = ~NodeId{0};

enum class TensorKind : std::uint8_t {
  input,       ///< given from outside, one value per iteration
  activation,  ///< made by a node
  parameter,   ///< learnt
  buffer,      ///< kept between iterations but not learnt: running statistics
  constant,    ///< fixed: tables, masks
};

struct TensorType {
  Shape shape;
  DType dtype = DType::fp32;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

struct Tensor {
  std::string name;
  TensorType type;
  TensorKind kind = TensorKind::activation;
  NodeId producer = no_node;
};

/// One operator applied to tensors. Its inputs are first the data, then, from `first_own` on, the
/// tensors that belong to the operator itself (weight, bias, statistics), in the order in which
/// shape inference names them.
struct Node {
  std::string name;   ///< unique in the graph; GraphBuilder sees to it
  std::string block;  ///< the group of layers it belongs to, e.g. "layer1.0"; empty: none
  Operator op;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::uint32_t first_own = 0;
};

/// In which order a recurrent network's cells run; training/ unrolls accordingly.
enum class RecurrentOrder : std::uint8_t { layer_major, time_major };

/// Two extents that shape inference had to take for equal without being able to know; bind checks
/// them.
struct Assumption {
  Dim left;
  Dim right;
  NodeId node = no_node;
};

/// A network: nodes in an order in which they can run, the tensors between them, sizes with
/// parameters still open. Built by GraphBuilder (graph/builder.hpp), checked by verify, given
/// numbers by bind.
struct Graph {
  std::string name;    ///< "resnet50", or the file's stem
  std::string title;   ///< for people: "ResNet-50"
  std::string source;  ///< where the network comes from: a paper, a library, a file
  Symbols symbols;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<Assumption> assumptions;
  std::vector<Warning> warnings;  ///< what a reader should know before trusting results; shown once
  RecurrentOrder recurrent_order = RecurrentOrder::layer_major;
  /// What a framework ran, where the network was recorded: its nodes are the layers, and what is
  /// computed stands here.
  std::shared_ptr<const RecordedOperations> recording;

  const Tensor& tensor(TensorId id) const { return tensors[id]; }

  // Defined in the source: else every file that copies one compiles all that it takes.
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();
};

}  // namespace strata
