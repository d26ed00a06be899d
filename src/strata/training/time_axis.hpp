// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/bind.hpp"

#include <cstdint>
#include <vector>

/// Which operators can run one time step after the other. Time is axis 1 of what a node puts out;
/// `time_axis` says of every tensor where it lies (-1: nowhere).
namespace strata {

/// Whether time step t of the node's output needs of this input only its time step t.
bool input_follows_time(const BoundGraph& bound, const std::vector<std::int8_t>& time_axis,
                        const Node& node, std::size_t input);

/// Where the time axis of a node's first input lies after a reshape of it; -1: nowhere.
std::int8_t axis_after_reshape(const BoundGraph& bound, const std::vector<std::int8_t>& time_axis,
                               const Node& node);

std::uint32_t gates_of(CellKind cell);

}  // namespace strata
