// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/graph.hpp"

#include <optional>
#include <string_view>

/// The words of the format that are not names of operators or fields.
namespace strata::network {

/// A dimension with this in place of a number has no default: whoever uses the network must give
/// one.
inline constexpr std::string_view no_default = "required";

/// "input", "parameter", "buffer", "constant": entries of the list of layers that hold data instead
/// of computing.
std::optional<TensorKind> stored_kind_named(std::string_view name);
std::string_view word_for(TensorKind kind);

/// "layer_major", "time_major".
RecurrentOrder recurrent_order_named(std::string_view name);
std::string_view word_for(RecurrentOrder order);

/// Suggests the name that Strata uses, also for what other programs call it.
[[noreturn]] void fail_unknown_operator(std::string_view name);

}  // namespace strata::network
