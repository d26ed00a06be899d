// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/match_between_calls.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// Layers of a recording in which no module has a name: by the operators that the framework was
/// called with, or by the order of kernels alone.
namespace strata {

struct OperatorMatchInput {
  const Recording& recording;
  const KernelOrigins& origins;
  const std::vector<KernelClass>& classes;  ///< by NameId
  const StepWork& work;
  const ModelLayers& model;
  std::vector<NodeId> nodes;  ///< those that do something, as the program runs them
};

struct OperatorLayers {
  std::vector<MatchedKernel> kernels;  ///< empty: there is no match
  std::int64_t operators = 0;          ///< forward
  std::int64_t by_operator = 0;        ///< of them, those that are layers
  std::int64_t by_kernel = 0;          ///< layers found by kernels alone
  bool has_sizes = false;              ///< sizes of inputs are recorded and agree
  std::string reason = {};             ///< why there is no match
};

/// Forward operators by what they are and their order (operator_match.hpp); kernels of a gradient
/// are of the layer whose operator has its sequence number.
OperatorLayers layers_by_operators(const OperatorMatchInput& input);

/// Runs of kernels of one class. What runs between two that have a layer is of the layers between,
/// else of the one before.
OperatorLayers layers_by_kernels(const OperatorMatchInput& input);

}  // namespace strata
