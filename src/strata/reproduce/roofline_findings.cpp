// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/claim_counts.hpp"
#include "strata/reproduce/roofline_claims.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata {
namespace {

constexpr std::string_view not_counted = "needs a device's hardware counters: not yet measured";

/// "; predicted: weights are read once; measured: caches hold the rest".
std::string causes(const MaybeAnswer& found, const MaybeAnswer& seen) {
  const auto cause_of = [](const MaybeAnswer& answer) {
    return answer && !answer->holds.value_or(true) ? answer->why : "";
  };
  const std::string predicted = cause_of(found);
  const std::string measured = cause_of(seen);
  if (!predicted.empty() && predicted == measured)
    return fmt::format("; predicted and measured: {}", predicted);
  std::string text;
  if (!predicted.empty()) text += fmt::format("; predicted: {}", predicted);
  if (!measured.empty()) text += fmt::format("; measured: {}", measured);
  return text;
}

/// Both sides asked; the note is the rule, and the cause of every no.
Finding finding_of(const RooflineClaim& claim, const StudySide& predicted,
                   const std::optional<StudySide>& measured) {
  const MaybeAnswer found = claim.ask(predicted);
  Finding finding{.observation = claim.about,
                  .network = std::string(claim.kernel),
                  .what = claim.what,
                  .printed = claim.printed,
                  .found = found ? found->found : "not predicted",
                  .is_printed = found && found->holds,
                  .holds = found && found->holds.value_or(true),
                  .note = claim.rule,
                  .sentence = claim.sentence};
  if (!measured) {
    finding.note += causes(found, std::nullopt);
    if (claim.about == "counters") finding.note += fmt::format("; {}", not_counted);
    return finding;
  }
  const MaybeAnswer seen = claim.ask(*measured);
  finding.measured = seen ? MeasuredAnswer{seen->found, seen->holds}
                          : MeasuredAnswer{"not measured", std::nullopt};
  finding.note += causes(found, seen);
  return finding;
}

/// What was captured of frameworks is measured, not predicted.
Finding as_measured(Finding finding) {
  finding.measured = MeasuredAnswer{
      std::move(finding.found), finding.is_printed ? std::optional(finding.holds) : std::nullopt};
  finding.found = "not predicted";
  finding.is_printed = false;
  finding.holds = true;
  return finding;
}

}  // namespace

std::vector<Finding> roofline_findings(const RooflineStudy& predicted,
                                       const RooflineStudy* measured,
                                       const CaptureStudy* frameworks) {
  const StudySide predicted_side(predicted);
  std::optional<StudySide> measured_side;
  if (measured != nullptr) measured_side.emplace(*measured);
  std::vector<Finding> findings;
  for (const auto& claims : {machine_claims(), conv2d_claims(), lstm_claims()}) {
    for (const RooflineClaim& claim : claims)
      findings.push_back(finding_of(claim, predicted_side, measured_side));
  }
  if (measured == nullptr) {
    findings.push_back({.observation = "counters",
                        .network = "both",
                        .what = "the same sweeps on a device of today",
                        .printed = "",
                        .found = "not predicted",
                        .is_printed = false,
                        .holds = true,
                        .note = "not yet measured: no measured sweeps are at hand"});
  } else if (frameworks != nullptr) {
    for (Finding& one : frameworks_of_the_paper(*frameworks, *measured))
      findings.push_back(as_measured(std::move(one)));
  }
  group_by_sentence(findings);
  return findings;
}

}  // namespace strata
