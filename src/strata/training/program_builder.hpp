// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/cost/cost.hpp"
#include "strata/training/gradients.hpp"
#include "strata/training/tensor_values.hpp"

namespace strata {

/// What every part of make_program works on. Private to training/.
struct ProgramBuilder {
  ProgramBuilder(const BoundGraph& bound_graph, const TrainingOptions& training_options);

  const BoundGraph& bound;
  const Graph& graph;
  TrainingOptions options;
  Mode mode;
  Unrolling unrolling;
  ProgramWriter writer;
  TensorValues values;
  Gradients gradients;
};

}  // namespace strata
