// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_page.hpp"

#include "cli/explained_profile.hpp"
#include "cli/html_output.hpp"
#include "strata/base/error.hpp"
#include "strata/report/explain_report.hpp"
#include "strata/report/measurement_report.hpp"

#include <fmt/format.h>

#include <utility>

namespace strata {
namespace {

void add_explanation(HtmlPart& part, const Explanation& explanation, const Provenance& provenance) {
  part.extras.emplace_back("explanation", to_json(explanation, provenance));
}

void add_model(HtmlPart& part, const BoundGraph& bound, bool is_inference,
               const Provenance& provenance) {
  part.extras.emplace_back(
      "model",
      to_json(summarize(bound, is_inference ? Mode::inference : Mode::training), provenance));
}

/// What happens when in a predicted iteration, and what it is of.
void add_iteration(HtmlPart& part, const PredictedIteration& iteration,
                   const Provenance& provenance) {
  add_model(part, *iteration.bound, iteration.summary.training.inference, provenance);
  part.extras.emplace_back("timeline", timeline_json(iteration.program, iteration.prediction));
  part.extras.emplace_back("memory", memory_json(iteration.program, iteration.prediction));
}

/// The rest of a page is there without the findings, too.
template <class Explain>
void explain_or_note(HtmlPart& part, const Explain& explain_it) {
  try {
    explain_it();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    part.notes.push_back(fmt::format("no findings: {}", error.what()));
  }
}

void predict_again_for(HtmlPart& part, const RecordedRequest& recorded,
                       const Provenance& provenance) {
  PredictRequest request = recorded.request;
  request.bounds = WantBounds::not_at_all;
  request.wants_alternatives = false;
  request.wants_transfers = true;
  add_iteration(part, predict_model(recorded.graph, recorded.machine, request), provenance);
}

std::string name_or(const std::string& title, const std::string& otherwise) {
  return title.empty() ? otherwise : title;
}

}  // namespace

HtmlPart page_part(const PredictedIteration& iteration, const Machine& machine,
                   const Explanation& explanation, const Provenance& provenance) {
  const PredictionSummary& summary = iteration.summary;
  HtmlPart part{.name = name_or(summary.title, summary.network),
                .document = to_json(summary, provenance)};
  add_explanation(part, explanation, provenance);
  add_iteration(part, iteration, provenance);
  add_rooflines(part, summary.profile, machine, provenance);
  return part;
}

HtmlPart page_part(const MeasurementSummary& summary, const BoundGraph& bound,
                   const std::optional<Machine>& machine, const Provenance& provenance) {
  HtmlPart part{.name = name_or(summary.title, summary.network),
                .document = to_json(summary, provenance)};
  add_model(part, bound, summary.training.inference, provenance);
  if (!machine) {
    part.notes.emplace_back(
        "no findings and no rooflines: no machine is known for this device; give --on MACHINE, or "
        "run `strata machine measure` first");
    return part;
  }
  const Profile& profile = summary.measured.profile;
  explain_or_note(part, [&] {
    add_explanation(part, explain({.profile = profile, .machine = *machine}), provenance);
  });
  add_rooflines(part, profile, *machine, provenance);
  return part;
}

HtmlPart page_part(std::string name, StoredProfile stored, const AskedRoofs& asked,
                   const Provenance& provenance) {
  HtmlPart part{.name = std::move(name), .document = {}};
  if (asked.on) machine_for(asked, {});  // what was asked for must be there
  if (asked.is_empty() && stored.profile.subject.machine.empty()) {
    part.notes.emplace_back(
        "no findings and no rooflines: the profile names no machine; give --on MACHINE");
  } else {
    std::optional<Machine> machine;
    explain_or_note(part, [&] {
      const ExplainedProfile explained = explain_stored(stored, asked);
      machine = explained.machine;
      add_explanation(part, explained.explanation, provenance);
      if (explained.again.request) predict_again_for(part, *explained.again.request, provenance);
    });
    try {
      if (!machine) machine = machine_for(asked, stored.profile.subject.machine);
      add_rooflines(part, stored.profile, *machine, provenance);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      part.notes.push_back(fmt::format("no rooflines: {}", error.what()));
    }
  }
  part.document = std::move(stored.text);
  return part;
}

}  // namespace strata
