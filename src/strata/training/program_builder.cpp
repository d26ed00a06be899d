// SPDX-License-Identifier: Apache-2.0
#include "strata/training/program_builder.hpp"

#include "strata/training/order.hpp"

namespace strata {

ProgramBuilder::ProgramBuilder(const BoundGraph& bound_graph,
                               const TrainingOptions& training_options)
    : bound(bound_graph),
      graph(*bound_graph.graph),
      options(training_options),
      mode(training_options.inference ? Mode::inference : Mode::training),
      unrolling(
          unroll(bound, execution_order(graph), options.unroll_recurrent, mode == Mode::training)),
      writer(bound),
      values(writer, bound, unrolling),
      gradients(writer, bound, options.separate_backward ? Pass::backward_input : Pass::backward) {}

}  // namespace strata
