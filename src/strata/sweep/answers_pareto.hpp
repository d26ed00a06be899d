// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/sweep/table.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

/// The Pareto front: points that no other point betters in one goal without losing in another.
namespace strata {

inline constexpr std::string_view usual_goals_word = "auto";

struct Goal {
  std::size_t column = 0;
  bool is_most = false;        ///< more is better
  bool is_per_sample = false;  ///< of a time: an iteration of another batch is another job
};

/// "time_s,capacity": less is better; "max:samples_per_s" or "-samples_per_s" for more. "auto" is
/// the expected time and the memory where there is an expected time and capacities do not vary,
/// else time and capacity. Where samples vary, times are per sample. Errors (usage): an unknown
/// column, one of texts, one twice.
std::vector<Goal> read_goals(std::string_view text, const SweepTable& table, std::string_view what);

/// The front of one network.
struct ParetoFront {
  std::vector<std::size_t>
      rows;                    ///< best in the first goal first; points that are equal are all in
  std::size_t considered = 0;  ///< rows that have a number for every goal, and can be recommended
  std::size_t out_of_memory = 0;  ///< rows left out: they do not fit their device
};

/// A front for each network, in the order of the table.
std::vector<ParetoFront> pareto_fronts(const SweepTable& table, std::span<const Goal> goals);

/// The front of points with `dimension` numbers each, one point after the other, less being better:
/// the indices of those that no other point is at most equal to in every number and below in one.
/// Sorted by their numbers. O(n log n) for up to three numbers; beyond, each point is compared with
/// the front found before it.
std::vector<std::size_t> pareto_front(std::span<const double> points, std::size_t dimension);

}  // namespace strata
