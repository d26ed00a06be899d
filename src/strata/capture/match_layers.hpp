// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/step_work.hpp"
#include "strata/cost/cost.hpp"
#include "strata/training/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Matches the kernels of a recording to the layers of a network. A call of a module is matched by
/// the name of a weight or of a node. Where no name fits, operators of the framework are matched by
/// what they are and their order, else calls by their order, but only if the classes of all kernels
/// agree with the network and there is exactly one match; last, kernels of a forward pass alone.
/// Kernels outside of calls belong to the nodes between the calls around them. Kernels that no rule
/// matches stay without a layer and are listed.
namespace strata {

/// A network as it is matched: one iteration of it, and what its nodes do.
struct ModelLayers {
  explicit ModelLayers(const BoundGraph& bound, const TrainingOptions& options);

  const BoundGraph& bound;
  Program program;
  std::vector<NodeCost> costs;
  std::vector<bool> works;  ///< by node: forward does more than give a tensor another name

  const Graph& graph() const { return *bound.graph; }
};

enum class GroupKind : std::uint8_t {
  nodes,
  gradient_sum,  ///< of the gradients of the node's output
  loss,
  optimizer,
};

/// What a row of a profile is of: nearly always one node.
struct LayerGroup {
  GroupKind kind = GroupKind::nodes;
  bool is_backward = false;
  std::vector<NodeId> nodes = {};
  std::string module = {};  ///< as it was recorded; empty: outside of modules
};

struct UnmatchedWork {
  std::string layer;  ///< of the recording; empty: outside of ranges
  std::string pass;
  std::int64_t kernels = 0;
  std::int64_t time_ns = 0;
};

struct LayerMatch {
  std::vector<LayerGroup> groups;
  std::vector<std::size_t> group_of_kernel;  ///< no_index: none

  std::int64_t calls = 0;  ///< of modules, forward; kernels on their own are not among them
  std::int64_t by_parameter = 0;
  std::int64_t by_name = 0;
  std::int64_t by_order = 0;
  std::int64_t operators = 0;       ///< of the framework, forward, where layers were found by them
  std::int64_t by_operator = 0;     ///< of those, the ones that are layers
  bool has_operator_sizes = false;  ///< sizes of their inputs are recorded and agree
  std::int64_t by_kernel = 0;       ///< layers found by the order of kernels alone
  std::int64_t kernels = 0;         ///< of the step
  std::int64_t time_ns = 0;
  std::int64_t matched_kernels = 0;
  std::int64_t matched_ns = 0;
  std::int64_t collectives = 0;  ///< kernels of communication, which no layer has
  std::int64_t collectives_ns = 0;
  std::int64_t between_calls = 0;  ///< of the matched kernels, those outside of calls
  std::int64_t nodes = 0;          ///< that do something
  std::vector<std::string> nodes_without_kernel;
  std::vector<UnmatchedWork> unmatched;  ///< longest first
  std::string reason;           ///< why nothing was matched by order; empty: it was not tried
  std::string operator_reason;  ///< the same of operators
};

/// Of the kernels that `work` holds; classes are by NameId.
LayerMatch match_layers(const Recording& recording, const KernelOrigins& origins,
                        const std::vector<KernelClass>& classes, const StepWork& work,
                        const ModelLayers& model);

}  // namespace strata
