// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/framework.hpp"
#include "strata/graph/bind.hpp"

namespace strata {

/// A node, and its tensors as they are bound.
struct BoundNode {
  const BoundGraph& bound;
  NodeId id;

  const Node& node() const { return bound.graph->nodes[id]; }
  const BoundTensor& input(std::size_t i = 0) const { return bound.tensors[node().inputs[i]]; }
  const BoundTensor& output(std::size_t i = 0) const { return bound.tensors[node().outputs[i]]; }
  bool has_bias() const;
  bool has_window() const;  ///< a convolution over more than single pixels
  /// Whether an input of a point-wise operator is smaller than its output.
  bool is_broadcast() const;
  /// Elements of the smallest input.
  std::int64_t smallest_input() const;
  /// Whether that input has one number for each column of the output.
  bool is_broadcast_along_rows() const;
};

/// The class that a rule means for a node: of convolutions the one of its kind (first, depthwise,
/// grouped) and layout. Forward of a transposed convolution is the input gradient of another one.
OperationClass class_for(const LaunchRule& rule, const BoundNode& node, bool channels_last);

/// Numbers of a tensor that a rule names.
double elements_of(RuleTensor of, const BoundNode& node);

/// The dimensions of a class for a node, as dims_of(form) names them.
KernelDims dims_for(OperationClass kernel_class, RuleTensor of, const BoundNode& node);

}  // namespace strata
