// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/claim_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace strata {
namespace {

bool is_judged(Verdict verdict) {
  return verdict == Verdict::holds || verdict == Verdict::does_not_hold;
}

std::string tally_text(const Tally& tally) {
  return fmt::format("{} yes, {} no, {} cannot be judged", tally.held, tally.not_held,
                     tally.not_judged);
}

/// Numbers texts in the order in which they come first.
class FirstSeen {
 public:
  std::size_t number_of(const std::string& text) {
    return numbers_.try_emplace(text, numbers_.size()).first->second;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

std::string ClaimCounts::text(std::string_view measured_on) const {
  const std::string of = fmt::format("{} claim{} in {} row{}: ", claims, claims == 1 ? "" : "s",
                                     rows.statements(), rows.statements() == 1 ? "" : "s");
  if (measured_on.empty()) return of + tally_text(rows);
  return of + fmt::format("as predicted {}; as measured on {} {}; by neither {}", tally_text(rows),
                          measured_on, tally_text(measured), by_neither);
}

std::vector<ClaimCounts> claim_counts(std::span<const Finding> findings) {
  FirstSeen groups;
  groups.number_of("");
  std::vector<ClaimCounts> counts(1);
  std::vector<std::set<std::string_view>> sentences(1);
  for (const Finding& finding : findings) {
    const Verdict verdict = verdict_of(finding);
    const Verdict measured = measured_verdict_of(finding);
    if (verdict == Verdict::not_printed && measured == Verdict::not_printed) continue;
    const std::size_t group = groups.number_of(finding.apart);
    if (group == counts.size()) {
      counts.push_back({.apart = finding.apart});
      sentences.emplace_back();
    }
    if (!finding.sentence.empty()) sentences[group].insert(finding.sentence);
    counts[group].rows.add(verdict);
    counts[group].measured.add(measured);
    counts[group].by_neither += !is_judged(verdict) && !is_judged(measured) ? 1 : 0;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i].claims = sentences[i].size();
  return counts;
}

void group_by_sentence(std::vector<Finding>& findings) {
  FirstSeen groups, sentences;
  groups.number_of("");
  for (const Finding& finding : findings) {
    groups.number_of(finding.apart);
    sentences.number_of(finding.sentence);
  }
  const auto place_of = [&](const Finding& finding) {
    const bool is_number = finding.sentence.empty();
    return std::tuple(is_number, is_number ? 0 : groups.number_of(finding.apart),
                      sentences.number_of(finding.sentence));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return place_of(a) < place_of(b); });
}

}  // namespace strata
