// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/workers.hpp"
#include "strata/measure/engine/device.hpp"

#include <functional>
#include <string>

/// What the kernels of one node are made from, and how they are put together.
namespace strata::cpu_training {

class ConvolutionChoice;

struct Setting {
  const BoundGraph& bound;
  NodeId id;
  bool is_training;
  const Workers& workers;
  ConvolutionChoice& convolutions;

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

/// The kernels of a node as two functions. Backward computes every gradient that it is given a
/// place for; which ones belong to a pass is seen to around it.
struct Recipe {
  Compute forward;
  Compute backward;
  NodeNeeds needs = {};
  std::function<std::string(Pass)> implementation = {};
};
KernelsOrReason kernels_by(Recipe recipe, const Setting& setting);

template <class T>
T* real(void* memory) {
  return static_cast<T*>(memory);
}

/// Calls make(T()) with T the type of the tensors: float or double. The caller has seen to it that
/// it is one of them.
template <class Make>
auto with_real(DType dtype, const Make& make) {
  return dtype == DType::fp64 ? make(double{}) : make(float{});
}

/// Kernels of any node, or why there are none.
KernelsOrReason kernels_of(const Setting& setting);

}  // namespace strata::cpu_training
