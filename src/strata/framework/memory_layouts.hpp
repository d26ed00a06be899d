// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/framework.hpp"
#include "strata/graph/bind.hpp"

#include <vector>

namespace strata {

/// How tensors lie in memory in a framework whose transposes are views: nothing moves until an
/// operator wants its input in order.
struct MemoryLayouts {
  std::vector<bool> is_strided;        ///< by tensor: its axes lie in another order than they stand
  std::vector<bool> moves_last_axis;   ///< by tensor: and another axis is innermost
  std::vector<bool> is_channels_last;  ///< by tensor: images as N H W C
};

/// All tensors are in order where the framework's transposes launch kernels.
MemoryLayouts memory_layouts(const BoundGraph& bound, const Framework& framework);

/// Whether a node makes a copy of that input first.
bool copies_input(const MemoryLayouts& layouts, const Node& node, std::size_t input);

}  // namespace strata
