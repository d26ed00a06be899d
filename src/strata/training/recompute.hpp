// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/training/node_steps.hpp"

#include <cstddef>
#include <vector>

namespace strata {

/// Nodes that run one after the other, and those of them that run again before their backward
/// steps. What leaves a segment is kept; what stays inside, if backward needs it, is computed again
/// from that. Under `blocks` the segments are the network's own blocks of layers; under `all`,
/// where nothing is known, they have about √n of its n nodes (Chen et al., "Training deep nets with
/// sublinear memory cost", 2016). The last segment keeps everything: its backward comes at once.
struct Segment {
  std::size_t first = 0;  ///< in Unrolling::instances
  std::size_t end = 0;
  std::vector<Instance> again;
  std::vector<TensorId> dropped;  ///< tensors that get new values when they are made again
};

std::vector<Segment> segments_of(const ProgramBuilder& builder, NodeSteps& nodes);

}  // namespace strata
