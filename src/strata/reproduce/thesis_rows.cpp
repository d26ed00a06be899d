// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_rows.hpp"

#include "strata/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace strata {

ThesisVerdict within_points(double printed, double found, double points) {
  return {std::fabs(100 * (found - printed)) <= points,
          fmt::format("within {:.0f} percentage points", points)};
}

ThesisVerdict within_factor(double printed, double found) {
  return {std::fabs(found - printed) <= most_factor, fmt::format("within {:.2f}×", most_factor)};
}

ThesisVerdict below(double found, double bound, const std::string& text) {
  return {found < bound, fmt::format("below {}", text)};
}

ThesisVerdict at_least(double found, double bound, const std::string& text) {
  return {found >= bound, fmt::format("at least {}", text)};
}

ThesisVerdict between(double found, double least, double most, const std::string& text) {
  return {found >= least && found <= most, fmt::format("from {}", text)};
}

ThesisVerdict same_bytes(std::int64_t printed, std::int64_t found) {
  return {printed == found,
          fmt::format("exactly {}", format_capacity(static_cast<double>(printed)))};
}

ThesisVerdict same_order(double printed, double found) {
  const bool is_same =
      found > 0 && std::lround(std::log10(printed)) == std::lround(std::log10(found));
  return {is_same, "the same power of ten, rounded"};
}

std::string thesis_percent(double share) {
  std::string text = fmt::format("{:+.1f} %", 100 * share);
  if (text.front() == '-') text.replace(0, 1, "−");
  return text;
}

std::string thesis_times(double factor) { return fmt::format("{:.2f}×", factor); }

void ThesisRows::add(Claim claim, const ThesisVerdict& verdict) {
  std::string note = "rule: " + verdict.rule;
  if (!verdict.holds && !claim.why_not.empty()) note += "; " + claim.why_not;
  findings_.push_back({.observation = std::move(claim.observation),
                       .network = std::move(claim.network),
                       .what = std::move(claim.what),
                       .printed = std::move(claim.printed),
                       .found = std::move(claim.found),
                       .holds = verdict.holds,
                       .note = std::move(note)});
}

void ThesisRows::beside(Claim claim, std::string note) {
  findings_.push_back({.observation = std::move(claim.observation),
                       .network = std::move(claim.network),
                       .what = std::move(claim.what),
                       .printed = std::move(claim.printed),
                       .found = std::move(claim.found),
                       .is_printed = false,
                       .holds = true,
                       .note = std::move(note)});
}

std::vector<Finding> ThesisRows::sorted() && {
  std::stable_sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
    const auto rank = [](const Finding& finding) {
      const int number = std::atoi(finding.observation.c_str());
      return number == 0 ? 100 : number;
    };
    return rank(a) < rank(b);
  });
  return std::move(findings_);
}

}  // namespace strata
