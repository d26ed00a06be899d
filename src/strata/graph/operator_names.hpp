// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"
#include "strata/graph/operators.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace strata {

/// What people call the operator, finer than the struct: "relu" and "gelu" are both Unary,
/// "max_pool" and "average_pool" both Pool, "lstm" a Recurrent. Network files and every table use
/// these names.
std::string_view name_of(const Operator& op);

/// The operator of that name with default attributes, e.g. "max_pool" → Pool{maximum}; nothing when
/// unknown.
std::optional<Operator> operator_named(std::string_view name);

/// Every name, in the order of operators.hpp.
std::span<const std::string_view> operator_names();

/// The same of a node, as people call it: layers of a recording go by their module, "Conv2d".
std::string_view operator_word(const Graph& graph, const Node& node);

}  // namespace strata
