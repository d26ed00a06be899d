// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a row of a study says about the published statement, and how many say what.
namespace strata {

enum class Verdict : std::uint8_t {
  holds,
  does_not_hold,
  not_judged,   ///< the study states it; the data at hand cannot decide it
  not_printed,  ///< no statement of the study: a number of ours beside it
};

/// "holds", "does_not_hold", "not_judged", "not_printed": as in JSON.
std::string_view name_of(Verdict verdict);
/// "yes", "no", or nothing: as in a table.
std::string_view word_of(Verdict verdict);

Verdict verdict_of(const Finding& finding);
/// By what was measured beside it.
Verdict measured_verdict_of(const Finding& finding);

/// Statements of a study by their verdict. Rows that the study does not print are not in it, nor
/// those that stand apart.
struct Tally {
  std::size_t held = 0;
  std::size_t not_held = 0;
  std::size_t not_judged = 0;

  std::size_t statements() const { return held + not_held + not_judged; }
  void add(Verdict verdict);
};
Tally tally_of(std::span<const Finding> findings);
Tally measured_tally_of(std::span<const Finding> findings);
/// Different sentences of the statements that a tally counts.
std::size_t claims_of(std::span<const Finding> findings);
/// "20 claims in 33 rows: 15 yes, 14 no, 4 cannot be judged".
std::string counts_text(std::span<const Finding> findings);

/// Rows of one sentence together, in the order of the first of each; those that stand apart behind
/// all others.
void group_by_claim(std::vector<Finding>& findings);

/// A note is its rule ("holds above 30 %", "rule: above 30 %"), where the row has one of its own,
/// and behind "; " the reason or remark.
struct NoteParts {
  std::string_view rule;
  std::string_view reason;
};
NoteParts note_parts(std::string_view note);

}  // namespace strata
