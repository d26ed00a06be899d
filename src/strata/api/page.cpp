// SPDX-License-Identifier: Apache-2.0
#include "strata/api/page.hpp"

#include "strata/base/error.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/explain/read_findings.hpp"
#include "strata/profile/read_profile.hpp"
#include "strata/report/explain_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <utility>

namespace strata {
namespace {

constexpr RooflineKind all_kinds[] = {RooflineKind::classic, RooflineKind::complexity,
                                      RooflineKind::time, RooflineKind::combined};

// The page draws for itself.
void add_roofline_pictures(PageSection& part, const RooflineSummary& summary) {
  if (has_report_page()) return;
  part.pictures.push_back(
      to_svg(roofline_grid(summary, {std::begin(all_kinds), std::end(all_kinds)})));
}

void add_explanation(PageSection& part, const Explanation& explanation,
                     const Provenance& provenance) {
  part.extras.emplace_back("explanation", to_json(explanation, provenance));
}

void add_model(PageSection& part, const BoundGraph& bound, bool is_inference,
               const Provenance& provenance) {
  part.extras.emplace_back(
      "model",
      to_json(summarize(bound, is_inference ? Mode::inference : Mode::training), provenance));
}

/// The network of a predicted iteration, what the iteration does when, and what memory it takes.
void add_iteration(PageSection& part, const PredictedIteration& iteration,
                   const Provenance& provenance) {
  add_model(part, *iteration.bound, iteration.summary.training.inference, provenance);
  part.extras.emplace_back("timeline", timeline_json(iteration.program, iteration.prediction));
  part.extras.emplace_back("memory", memory_json(iteration.program, iteration.prediction));
}

/// A page without its findings or its rooflines is still a page: a note says why.
template <class Make>
void make_or_note(PageSection& part, std::string_view what, const Make& make) {
  try {
    make();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    part.notes.push_back(fmt::format("no {}: {}", what, error.what()));
  }
}

void predict_again_for(PageSection& part, const RecordedRequest& recorded,
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

PageSection page_section(const ModelSummary& summary, const Provenance& provenance) {
  return {.name = name_or(summary.title, summary.name), .document = to_json(summary, provenance)};
}

PageSection page_section(const RooflineSummary& summary, const Provenance& provenance) {
  PageSection part{.name = name_or(summary.machine_title, summary.machine),
                   .document = to_json(summary, provenance)};
  add_roofline_pictures(part, summary);
  return part;
}

PageSection page_section(const ConvResults& results, const ConvView& view,
                         const Provenance& provenance) {
  PageSection part{.name = results.device, .document = to_json(results, view, provenance)};
  if (has_report_page()) return part;
  for (const ConvPicture& picture : conv_pictures(results))
    part.pictures.push_back(to_svg(picture.grid));
  return part;
}

PageSection page_section(const SweepTable& table, const Provenance& provenance,
                         const std::string& answers) {
  PageSection part{.name = "sweep", .document = sweep_json(table, provenance)};
  if (!answers.empty()) part.extras.emplace_back("answers", answers);
  return part;
}

PageSection page_section(const ParallelSummary& summary, const Explanation* explanation,
                         const Provenance& provenance) {
  PageSection part{.name = name_or(summary.context.title, summary.context.network),
                   .document = to_json(summary, provenance)};
  if (explanation != nullptr) add_explanation(part, *explanation, {.command = provenance.command});
  return part;
}

PageSection page_section(const ParallelChoice& choice, const Explanation* explanation,
                         const Provenance& provenance) {
  PageSection part{.name = name_or(choice.context.title, choice.context.network),
                   .document = to_json(choice, provenance)};
  if (explanation != nullptr) add_explanation(part, *explanation, {.command = provenance.command});
  return part;
}

PageSection page_section(const ParallelScaling& scaling, const Provenance& provenance) {
  return {.name = name_or(scaling.context.title, scaling.context.network),
          .document = to_json(scaling, provenance)};
}

void add_rooflines(PageSection& part, const Profile& profile, const Machine& machine,
                   const Provenance& provenance) {
  make_or_note(part, "rooflines", [&] {
    const RooflineSummary summary =
        summarize_roofline({{part.name, profile}}, machine, {}, RooflineBy::row, false);
    part.extras.emplace_back("roofline", to_json(summary, provenance));
    add_roofline_pictures(part, summary);
  });
}

PageSection page_section(const PredictedIteration& iteration, const Machine& roofs,
                         const Explanation& explanation, const Provenance& provenance) {
  const PredictionSummary& summary = iteration.summary;
  PageSection part{.name = name_or(summary.title, summary.network),
                   .document = to_json(summary, provenance)};
  const Provenance of_rest{.command = provenance.command};
  add_explanation(part, explanation, of_rest);
  add_iteration(part, iteration, of_rest);
  add_rooflines(part, summary.profile, roofs, of_rest);
  return part;
}

PageSection page_section(const MeasuredModel& measured, const Provenance& provenance) {
  const MeasurementSummary& summary = measured.summary;
  PageSection part{.name = name_or(summary.title, summary.network),
                   .document = to_json(summary, provenance)};
  const Provenance of_rest{.command = provenance.command};
  add_model(part, measured.model->bound, summary.training.inference, of_rest);
  if (!measured.machine) {
    part.notes.emplace_back(
        "no findings and no rooflines: no machine is known for this device; give --on MACHINE, or "
        "run `strata machine measure` first");
    return part;
  }
  const Profile& profile = summary.measured.profile;
  make_or_note(part, "findings", [&] {
    add_explanation(part, explain({.profile = profile, .machine = *measured.machine}), of_rest);
  });
  add_rooflines(part, profile, *measured.machine, of_rest);
  return part;
}

PageSection page_section(std::string name, StoredProfile stored, const AskedRoofs& asked,
                         const Provenance& provenance) {
  PageSection part{.name = std::move(name), .document = {}};
  if (asked.on) machine_for(asked, std::string_view());  // what was asked for must be there
  const bool has_machine = !asked.is_empty() || !stored.profile.subject.machine.empty();
  if (!has_machine && !recorded_findings(stored.text)) {
    part.notes.emplace_back(
        "no findings and no rooflines: the profile names no machine; give --on MACHINE");
  } else {
    std::optional<Machine> machine;
    make_or_note(part, "findings", [&] {
      const ExplainedProfile explained = explain_stored(stored, asked);
      machine = explained.machine;
      add_explanation(part, explained.explanation, provenance);
      if (explained.again.request) predict_again_for(part, *explained.again.request, provenance);
    });
    make_or_note(part, "rooflines", [&] {
      if (!machine) machine = machine_for(asked, stored.profile);
      add_rooflines(part, stored.profile, *machine, provenance);
    });
  }
  part.document = std::move(stored.text);
  return part;
}

}  // namespace strata
