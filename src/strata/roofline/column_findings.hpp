// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"

#include <span>
#include <string>
#include <vector>

/// What the columns of profiles betray without anybody looking for it: the findings that the
/// time-based roofline paper (2020) made by hand.
namespace strata {

struct NamedProfile {
  std::string name;
  const Profile* profile = nullptr;
};

/// In sentences, empty when nothing is odd:
/// - products in a type for which the machine has matrix units, done on vector units;
/// - products in fp32 in a profile of a shorter type: another algorithm, or a conversion;
/// - of two profiles of one network in a short type and in fp32, layers whose bytes do not grow:
/// the
///   short one converts.
std::vector<std::string> column_findings(std::span<const NamedProfile> profiles,
                                         const Machine& machine);

}  // namespace strata
