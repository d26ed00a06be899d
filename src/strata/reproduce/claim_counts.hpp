// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"
#include "strata/reproduce/verdict.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How many sentences of a study its rows test, and how many rows say what.
namespace strata {

struct ClaimCounts {
  std::string apart = {};      ///< why these rows stand apart from the study's; empty: they do not
  std::size_t claims = 0;      ///< different sentences
  Tally rows = {};             ///< as computed, or predicted
  Tally measured = {};         ///< the same rows by what was measured beside
  std::size_t by_neither = 0;  ///< rows that neither of the two can judge

  /// "20 claims in 33 rows: 15 yes, 14 no, 4 cannot be judged"; both sides, where something was
  /// measured beside a prediction.
  std::string text(std::string_view measured_on = {}) const;
};

/// The first is of the study; each other one is of rows that stand apart for the same reason.
/// Numbers that a study does not print are in none.
std::vector<ClaimCounts> claim_counts(std::span<const Finding> findings);

/// Sorts rows so that those of a sentence follow one another, in the order in which sentences come
/// first. Behind the rows of the study stand those apart, and last numbers without a sentence.
void group_by_sentence(std::vector<Finding>& findings);

}  // namespace strata
