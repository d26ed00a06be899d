// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cuda/node.cuh"

#include <memory>
#include <string>
#include <utility>

namespace strata::cuda::train {

/// A graph that all nodes of one description share, made with the first of them: cuDNN compiles
/// a graph for about a second, and a transformer has dozens of equal norms. Memory comes with each
/// run. Descriptions begin with the operation and the pass, so that each stands for one type.
template <class Graph, class... Arguments>
std::shared_ptr<Graph> shared_graph(const TrainingContext& context, const std::string& description,
                                    Arguments&&... arguments) {
  std::shared_ptr<void>& found = (*context.graphs)[description];
  if (!found) found = std::make_shared<Graph>(context.cudnn, std::forward<Arguments>(arguments)...);
  return std::static_pointer_cast<Graph>(found);
}

}  // namespace strata::cuda::train
