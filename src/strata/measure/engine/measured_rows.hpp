// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/engine/engine.hpp"
#include "strata/profile/profile.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace strata {

/// The rows to which the parts of an iteration add up, by layer and pass, named as a prediction
/// names them.
struct MeasuredRows {
  std::vector<ProfileRow> rows;     ///< with counts and implementations, without times
  std::vector<std::size_t> row_of;  ///< by part
};

/// `network_nodes`: nodes from there on are the loss.
MeasuredRows rows_of(std::span<const Engine::Part> parts, const BoundGraph& bound,
                     std::size_t network_nodes);

}  // namespace strata
