// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/experts.hpp"

#include <cstdint>

/// Expert parallel training: which experts a rank has.
namespace strata {

/// Errors (unsupported) say why the experts cannot be spread over so many ranks: there are none,
/// their number is not divided, they take their words in another way than by a gather.
void check_experts(const Graph& graph, const ExpertList& experts, std::int64_t ranks);

/// Of a layer's experts the first `count / ranks` stay on a rank; all are of the same size.
bool stays(const ExpertList& experts, const ExpertPlace& place, std::int64_t ranks);

}  // namespace strata
