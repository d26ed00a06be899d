// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/compare.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

/// Any number of profiles side by side: predicted, measured and captured.
namespace strata {

/// A layer and pass, or a group of them, in each of the profiles; nothing where one lacks it.
struct SideRow {
  std::string layer;  ///< of a group: what its rows have in common
  std::string pass;
  std::string op;
  std::string block;
  std::vector<std::optional<Totals>> totals;  ///< one per profile

  /// Between the longest and the shortest; what a profile lacks takes none.
  double spread_s() const;
};

struct SideBySide {
  std::vector<ProfileLabel> labels;  ///< one per profile, as the iterations
  std::vector<IterationTime> iterations;
  std::vector<SideRow> rows;  ///< in the order of the first, then what only later ones have
};

/// Joined as `compare_profiles` joins two: told apart as far as all of them do. Errors (input) when
/// one of them has no times.
SideBySide side_by_side(std::span<const Profile> profiles,
                        ComparedTimes times = ComparedTimes::expected);

/// Groups in the order in which they first appear.
std::vector<SideRow> grouped(const SideBySide& all, std::string SideRow::*key);

}  // namespace strata
