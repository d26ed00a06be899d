// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/graph/operators.hpp"

#include <optional>
#include <string_view>

namespace strata::darknet {

/// One of the words that follow "activation=".
struct Activation {
  std::string_view word;
  std::optional<Operator> op;  ///< none for "linear"
};

/// nullptr when darknet has no such activation.
const Activation* find_activation(std::string_view word);

/// What darknet takes in place of a word it does not know.
inline constexpr std::string_view fallback_activation = "relu";

}  // namespace strata::darknet
