// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/cpu/loops/walk.hpp"

#include <optional>

/// Copies whose rows are columns of what is copied.
namespace strata::cpu_training {

/// The axis, other than the last, whose neighbours lie side by side in what is copied (operand 1 of
/// the walk), where neighbours along the last axis do not.
std::optional<std::size_t> axis_to_turn(const Walk& walk);

/// to = from, for elements of 1, 2, 4 or 8 bytes; `to` is operand 0 of the walk.
template <class Element>
void copy_turned(const Workers& workers, const Walk& walk, std::size_t axis, const Element* from,
                 Element* to);

}  // namespace strata::cpu_training
