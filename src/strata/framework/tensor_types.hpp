// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/framework.hpp"
#include "strata/graph/bind.hpp"

#include <optional>
#include <vector>

namespace strata {

/// In which type a node computes under autocast: 16 bits, fp32, or the widest of its inputs.
enum class AutocastKind : std::uint8_t { lower, fp32, widest };
AutocastKind autocast_kind(const AutocastRules& rules, std::string_view op);

/// The type of every tensor: as bound, or as autocast makes it.
std::vector<DType> tensor_types(const BoundGraph& bound, const Framework& framework,
                                std::optional<DType> autocast);

}  // namespace strata
