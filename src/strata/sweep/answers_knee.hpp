// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/table.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// From where on more of a resource hardly pays.
namespace strata {

struct KneeQuestion {
  std::size_t column = 0;
  double least_gain = 0.05;  ///< a share of the time
};

/// "capacity" or "capacity=5%". Errors (usage): an unknown column, one that is no axis, no
/// percentage.
KneeQuestion read_knee_question(std::string_view text, const SweepTable& table,
                                std::string_view what);

/// The answer for one combination of the other axes.
struct Knee {
  std::size_t row = 0;           ///< at the knee; without one, at the largest value judged
  std::optional<double> value;   ///< of the resource; none: doubling pays to the end
  double gain = 0;               ///< share of the time that doubling saves at that row
  std::optional<double> judged;  ///< the largest value of which the table has the double; none: the
                                 ///< question has no answer
};

/// For each combination of the other axes, the smallest value such that doubling it, and doubling
/// any larger one, saves less than that share of the time. What doubling saves is read off the
/// first value of the table that is at least twice as much; values for which there is none are not
/// judged, nor are points that do not fit their device's memory. Time per sample counts where the
/// table has samples_per_s.
std::vector<Knee> find_knees(const SweepTable& table, const KneeQuestion& question);

}  // namespace strata
