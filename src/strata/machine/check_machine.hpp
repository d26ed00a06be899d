// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"

#include <optional>
#include <string>

namespace strata {

/// The first thing in which the numbers of a machine contradict each other, as one line that names
/// the fields, what was expected and what came; nothing when they agree. read_machine refuses such
/// a machine, so a measured machine is checked before it is written.
///
/// - a rate, a mix or a link stands twice;
/// - matrix units are slower than vector units of the same type;
/// - an on-chip level comes after one that is off chip;
/// - one part of a level (capacity / instances) is no larger than one of the level inside it;
/// - a level is faster than the one inside it, or a mix faster than its level;
/// - clocks fall from base to boost; sizes of a curve do not rise.
///
/// Measured bandwidths and rates scatter, so there 10 % the wrong way round are let pass.
std::optional<std::string> contradiction_in(const Machine& machine);

}  // namespace strata
