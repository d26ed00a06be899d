// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/thesis_rows.hpp"

#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/thesis_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
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

ThesisVerdict rounds_to(std::int64_t printed_mib, std::int64_t found_bytes) {
  const double found_mib = static_cast<double>(found_bytes) / (1 << 20);
  return {std::llround(found_mib) == printed_mib, fmt::format("rounds to {} MiB", printed_mib)};
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

std::string thesis_text(ThesisForm form, double value) {
  switch (form) {
    case ThesisForm::share:
    case ThesisForm::about: return thesis_percent(value);
    case ThesisForm::part: return fmt::format("{:.1f} %", 100 * value);
    case ThesisForm::factor: return thesis_times(value);
    case ThesisForm::mebibytes: break;
  }
  return fmt::format("{:.0f} MiB", value);
}

namespace {

std::string why_apart(std::string_view network) {
  const bool is_inferred =
      std::any_of(std::begin(thesis_networks), std::end(thesis_networks),
                  [&](const auto& one) { return one.is_inferred && one.model == network; });
  return is_inferred ? std::string(inferred_networks) : "";
}

}  // namespace

void ThesisRows::add(Claim claim, const ThesisVerdict& verdict) {
  std::string note = "rule: " + verdict.rule;
  if (!verdict.holds && !claim.why_not.empty()) note += "; " + claim.why_not;
  findings_.push_back({.observation = std::move(claim.observation),
                       .network = claim.network,
                       .what = std::move(claim.what),
                       .printed = std::move(claim.printed),
                       .found = std::move(claim.found),
                       .holds = verdict.holds,
                       .note = std::move(note),
                       .sentence = std::move(claim.sentence),
                       .apart = why_apart(claim.network)});
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
      constexpr int of_figures = 100, of_readings = 200;
      if (finding.observation == readings_observation) return of_readings;
      const int number = std::atoi(finding.observation.c_str());
      return number == 0 ? of_figures : number;
    };
    return rank(a) < rank(b);
  });
  group_by_sentence(findings_);
  return std::move(findings_);
}

}  // namespace strata
