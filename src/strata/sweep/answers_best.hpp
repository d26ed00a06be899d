// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/table.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The fastest point that a constraint allows.
namespace strata {

/// A demand that the nearest point does not meet.
struct MissedDemand {
  std::string text;       ///< "area_mm2 < 800"
  std::string left_text;  ///< "area_mm2"
  double left = 0;        ///< what its two sides are there
  double right = 0;
  double beyond = 0;  ///< |left − right| / the larger of the two
};

/// The answer for one network.
struct BestUnder {
  std::size_t points = 0;         ///< that have a result and can be recommended
  std::size_t out_of_memory = 0;  ///< not among them: they do not fit their device
  std::size_t limit_alone = 0;    ///< nor are these: others have an expected time
  std::size_t satisfying = 0;
  /// Most samples per second, by the expected time where there is one; of equals the first. Without
  /// one that satisfies, the point that is nearest: whose worst miss is the smallest share, of
  /// equals the fastest. None when nothing can be said to be near.
  std::optional<std::size_t> row;
  std::vector<MissedDemand> missed;  ///< by the nearest point; empty when it satisfies
};

/// An answer for each network, in the order of the table. Near is defined for demands that && joins
/// and that compare by <, <=, >, >= or ==; any other must hold. Errors (usage) as formula.hpp says.
std::vector<BestUnder> best_under(const SweepTable& table, std::string_view constraint,
                                  std::string_view what);

}  // namespace strata
