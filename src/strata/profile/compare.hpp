// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/profile/profile.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Two profiles side by side, whoever made them: a prediction and a measurement, two measurements,
/// before and after.
namespace strata {

/// Rows of one layer and pass in both, sums of gradients by themselves. What only one of them tells
/// apart, gradients of inputs and weights or those sums, counts as "backward" in both.
struct ComparedRow {
  std::string layer;
  std::string pass;
  std::string op;
  std::string block;
  std::optional<Totals> a;  ///< nothing: only the other has it
  std::optional<Totals> b;

  double a_s() const { return a ? a->time_s : 0; }
  double b_s() const { return b ? b->time_s : 0; }
  double difference_s() const { return b_s() - a_s(); }
};

/// Rows that have something in common, added up on both sides.
struct ComparedGroup {
  std::string name;
  Totals a;
  Totals b;
};

/// Time of a recorded step in which no kernel ran, for one cause; 0 where that is no cause.
struct ComparedIdle {
  std::string cause;
  double a_s = 0;
  double b_s = 0;
};

/// Which times of predictions are compared.
enum class ComparedTimes : std::uint8_t {
  expected,  ///< expected times where every prediction has them, else limits
  limit,
};

struct ProfileLabel {
  ProfileSubject subject;
  Evidence evidence = Evidence::predicted;
  std::optional<ExpectedIteration> expected =
      {};                              ///< whose times are compared; nothing: others are
  std::optional<double> limit_s = {};  ///< of a prediction, whatever is compared
  bool mac_is_one = false;             ///< whether its FLOP count a multiply-add as 1 operation

  /// "measured", "expected", "limit": what its times are.
  std::string_view times() const;
};

/// Whether expected times are compared: no prediction lacks them, and one has them.
bool compares_expected(std::span<const Profile* const> profiles, ComparedTimes times);
ProfileLabel label_of(const Profile& profile, bool of_expected);

struct ProfileComparison {
  ProfileLabel a;
  ProfileLabel b;
  IterationTime iteration_a;  ///< what ratio and threshold are about
  IterationTime iteration_b;
  Totals total_a;  ///< all rows together
  Totals total_b;
  std::vector<ComparedIdle> idle;  ///< of recordings, the longest of both first
  std::vector<ComparedRow> rows;   ///< in the order of a, then what only b has

  /// Iteration of b over iteration of a; nothing when a took none.
  std::optional<double> ratio() const;
  /// Whether one iteration takes more than (1 + threshold) times as long as the other.
  bool is_beyond(double threshold) const;
};

/// Errors (input) when one of them has no times.
ProfileComparison compare_profiles(const Profile& a, const Profile& b,
                                   ComparedTimes times = ComparedTimes::expected);

/// Rows, those that differ most first, whichever is slower.
std::vector<const ComparedRow*> largest_differences(const ProfileComparison& comparison);

/// Groups in the order in which they first appear.
std::vector<ComparedGroup> grouped(const ProfileComparison& comparison,
                                   std::string ComparedRow::*key);

}  // namespace strata
