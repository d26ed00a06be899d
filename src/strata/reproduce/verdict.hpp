// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/reproduce/analytical.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What a row of a study says about the published statement.
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

/// Rows by their verdict. Those that a study does not print are not in it.
struct Tally {
  std::size_t held = 0;
  std::size_t not_held = 0;
  std::size_t not_judged = 0;

  std::size_t statements() const { return held + not_held + not_judged; }
  void add(Verdict verdict);
};

/// A note is its rule ("holds above 30 %", "rule: above 30 %"), where the row has one of its own,
/// and behind "; " the reason or remark.
struct NoteParts {
  std::string_view rule;
  std::string_view reason;
};
NoteParts note_parts(std::string_view note);

}  // namespace strata
