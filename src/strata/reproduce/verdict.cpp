// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/verdict.hpp"

namespace strata {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "holds";
    case Verdict::does_not_hold: return "does_not_hold";
    case Verdict::not_judged: return "not_judged";
    case Verdict::not_printed: break;
  }
  return "not_printed";
}

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds: return "yes";
    case Verdict::does_not_hold: return "no";
    case Verdict::not_judged:
    case Verdict::not_printed: break;
  }
  return "";
}

Verdict verdict_of(const Finding& finding) {
  if (finding.is_printed) return finding.holds ? Verdict::holds : Verdict::does_not_hold;
  return finding.printed.empty() ? Verdict::not_printed : Verdict::not_judged;
}

Verdict measured_verdict_of(const Finding& finding) {
  if (finding.measured && finding.measured->holds)
    return *finding.measured->holds ? Verdict::holds : Verdict::does_not_hold;
  return finding.printed.empty() ? Verdict::not_printed : Verdict::not_judged;
}

void Tally::add(Verdict verdict) {
  held += verdict == Verdict::holds;
  not_held += verdict == Verdict::does_not_hold;
  not_judged += verdict == Verdict::not_judged;
}

NoteParts note_parts(std::string_view note) {
  constexpr std::string_view head = "rule: ";
  if (note.starts_with(head)) {
    note.remove_prefix(head.size());
  } else if (!note.starts_with("holds ")) {
    return {.rule = {}, .reason = note};
  }
  const std::size_t end = note.find("; ");
  if (end == note.npos) return {.rule = note, .reason = {}};
  std::string_view reason = note.substr(end + 2);
  constexpr std::string_view of_no = "no: ";
  if (reason.starts_with(of_no)) reason.remove_prefix(of_no.size());
  return {.rule = note.substr(0, end), .reason = reason};
}

}  // namespace strata
