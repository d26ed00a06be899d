// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/claim_counts.hpp"

#include "strata/reproduce/verdict.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <set>

namespace strata {
namespace {

bool is_judged(Verdict verdict) {
  return verdict == Verdict::holds || verdict == Verdict::does_not_hold;
}

std::string tally_words(const Tally& tally) {
  return fmt::format("{} yes, {} no, {} cannot be judged", tally.held, tally.not_held,
                     tally.not_judged);
}

}  // namespace

std::string counted_claims(std::span<const Finding> findings, const std::string& measured_on) {
  std::set<std::string> claims;
  std::size_t rows = 0, open = 0;
  for (const Finding& finding : findings) {
    if (finding.claim.empty()) continue;
    claims.insert(finding.claim);
    ++rows;
    open += !is_judged(verdict_of(finding)) && !is_judged(measured_verdict_of(finding)) ? 1 : 0;
  }
  std::string text = fmt::format("claims: {}, in {} rows: ", claims.size(), rows);
  if (measured_on.empty()) return text + tally_words(tally_of(findings)) + "\n";
  return text + fmt::format("as predicted {}; as measured on {} {}; by neither {}\n",
                            tally_words(tally_of(findings)), measured_on,
                            tally_words(measured_tally_of(findings)), open);
}

}  // namespace strata
