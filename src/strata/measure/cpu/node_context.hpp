// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/device.hpp"

#include <functional>
#include <string>
#include <variant>

/// What the kernels of one node on the CPU are made from, and what they are made into.
namespace strata::cpu_training {

class LabConvolutions;

struct NodeContext {
  const BoundGraph& bound;
  NodeId id;
  bool is_training;
  bool uses_onednn = true;         ///< false: plain loops compute everything, for tests
  LabConvolutions* lab = nullptr;  ///< strategies of the convolution lab; null: none was asked for

  const Node& node() const { return bound.graph->nodes[id]; }
  std::size_t input_count() const { return node().inputs.size(); }
  std::size_t first_own() const { return node().first_own; }
  const BoundTensor& input(std::size_t i = 0) const { return bound.tensors[node().inputs[i]]; }
  const BoundTensor& output(std::size_t i = 0) const { return bound.tensors[node().outputs[i]]; }
  bool is_parameter(std::size_t i) const {
    return bound.graph->tensors[node().inputs[i]].kind == TensorKind::parameter;
  }
  bool has_backward() const;  ///< training, and an output's gradient comes back
  bool wants(std::size_t i) const {
    return i < input_count() && input(i).wants_gradient && has_backward();
  }
  bool wants_any() const;
};

using Compute = std::function<void(const NodeMemory&)>;

/// What a row of a profile says where a plain loop ran.
inline constexpr const char* reference_code = "reference code";

/// The kernels of a node as two functions. Backward computes every gradient that it is given memory
/// for; make_node_kernels() leaves out those that do not belong to a pass.
struct KernelPair {
  Compute forward;
  Compute backward;
  NodeNeeds needs = {};
  std::string forward_by = reference_code;  ///< the implementations, as profiles name them
  std::string input_gradients_by = reference_code;
  std::string weight_gradients_by = reference_code;
};
using KernelPairOrReason = std::variant<KernelPair, NoKernels>;

std::unique_ptr<NodeKernels> make_node_kernels(KernelPair pair, const NodeContext& context);

/// Names joined by commas, each once.
std::string joined_names(const std::vector<std::string>& names);

/// Kernels of any node, or why there are none: by oneDNN where it has the operator for this type
/// and shape, else by a plain loop.
KernelsOrReason kernels_of(const NodeContext& context);

}  // namespace strata::cpu_training
