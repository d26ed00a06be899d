// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/base/dtype.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace strata {

enum class Optimizer : std::uint8_t { none, sgd, momentum, adam };

std::string_view name_of(Optimizer optimizer);
std::optional<Optimizer> optimizer_named(std::string_view name);

/// Updating one parameter tensor. The state (momentum; Adam's two moments) has the parameter's size
/// and type.
struct UpdateCost {
  std::int64_t flop = 0;
  std::int64_t read_bytes = 0;   ///< parameter, gradient, state
  std::int64_t write_bytes = 0;  ///< parameter, state
  std::int64_t state_bytes = 0;  ///< what the optimizer keeps between iterations
};

UpdateCost update_cost(Optimizer optimizer, std::int64_t elements, DType dtype);

}  // namespace strata
