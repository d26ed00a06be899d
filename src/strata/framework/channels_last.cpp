// SPDX-License-Identifier: Apache-2.0
#include "strata/framework/channels_last.hpp"

#include <algorithm>

namespace strata {

bool prefers_channels_last(const BoundGraph& bound) {
  constexpr std::size_t few = 100;  // a convolution among so many nodes does not matter
  constexpr std::int64_t small = 64;
  std::size_t convolutions = 0;
  bool all_small = true;
  for (const Node& node : bound.graph->nodes) {
    const auto* convolution = std::get_if<Convolution>(&node.op);
    if (convolution == nullptr || node.first_own >= node.inputs.size()) continue;
    ++convolutions;
    const BoundTensor& weight = bound.tensors[node.inputs[node.first_own]];
    if (weight.axes() < 3) return false;
    const bool is_grouped = convolution->groups > 1 && weight[1] > 1;
    const bool narrows = 2 * weight[0] <= weight[1] && weight[2] > 1;
    if (is_grouped || narrows) return false;
    all_small &= weight[0] <= small && weight[1] <= small;
  }
  return convolutions > 0 && !all_small && bound.graph->nodes.size() < few * convolutions;
}

}  // namespace strata
