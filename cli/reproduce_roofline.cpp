// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.hpp"
#include "cli/measured_sweep_study.hpp"
#include "cli/studies.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/reproduce/capture_study.hpp"
#include "strata/reproduce/measured_sweeps.hpp"
#include "strata/reproduce/roofline_study.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

namespace strata {
namespace {

constexpr std::string_view how_to_measure = "measure with `strata reproduce roofline --run`";

/// What was measured, and where it is from.
struct MeasuredSide {
  std::optional<RooflineStudy> study;
  std::string notes;  ///< lines for people: origin, or why there is nothing; what did not run
  bool is_interrupted = false;
};

std::string origin_of(const MeasuredSweeps& sweeps, std::string_view where) {
  return fmt::format("measured: {}{}{}, {} warm-up and the mean of {} iterations, {}\n",
                     sweeps.device, sweeps.date.empty() ? "" : " on ", sweeps.date.substr(0, 10),
                     sweeps.warm_up, sweeps.iterations, where);
}

/// "60 of 120 points did not run: no kernels for fp16", once for each reason.
std::string reasons_of(const MeasuredSweeps& sweeps) {
  std::map<std::string, std::size_t> not_run;
  std::map<std::string, std::size_t> not_counted;
  for (const MeasuredPoint& point : sweeps.points) {
    if (!point.not_run.empty()) {
      ++not_run[point.not_run];
    } else if (point.counters.empty() && !point.no_counters.empty()) {
      ++not_counted[point.no_counters];
    }
  }
  std::string text;
  for (const auto& [reason, count] : not_run)
    text += fmt::format("{} of {} points did not run: {}\n", count, sweeps.points.size(), reason);
  for (const auto& [reason, count] : not_counted)
    text +=
        fmt::format("{} of {} points without counters: {}\n", count, sweeps.points.size(), reason);
  return text;
}

MeasuredSide side_of(const StudyRequest& request, const MeasuredSweeps& sweeps,
                     std::string_view where) {
  return {study_of(sweeps, machine_of_sweeps(request, sweeps)),
          origin_of(sweeps, where) + reasons_of(sweeps)};
}

MeasuredSide measured_anew(const StudyRequest& request) {
  const std::string& path = *request.run;
  OutputPlace(path).expect_writable();  // before it measures for minutes
  const InterruptWatch interrupts;
  const MeasuredSweeps sweeps = run_sweeps(request, kernel_sweeps(), path, interrupts);
  const std::string where = fmt::format("written to {}", path);
  MeasuredSide side;
  try {
    side = side_of(request, sweeps, where);
  } catch (const Error& error) {  // what was measured is in the file; it can be shown later
    side.notes = fmt::format("{}{}not shown here: {}\n", origin_of(sweeps, where),
                             reasons_of(sweeps), error.what());
  }
  side.is_interrupted = interrupts.was_asked();
  return side;
}

/// Of a file of --run; else of --run itself; else what ships.
MeasuredSide measured_side(const StudyRequest& request) {
  if (request.from) return side_of(request, load_measured_sweeps(*request.from), *request.from);
  if (request.run) return measured_anew(request);
  if (const EmbeddedFile* file = shipped_roofline("sweeps"))
    return side_of(request, read_measured_sweeps(file->text), "ships with this program");
  return {std::nullopt,
          fmt::format("no measured sweeps ship with this program: {}\n", how_to_measure)};
}

/// Frameworks that were captured on the device of the sweeps; nothing where they were not.
std::optional<CaptureStudy> frameworks_on(const RooflineStudy* measured) {
  for (const EmbeddedFile& file : embedded_capture_studies()) {
    if (measured == nullptr || file.name != "study") continue;
    CaptureStudy study = read_capture_study(file.text);
    if (study.device == measured->title) return study;
  }
  return std::nullopt;
}

}  // namespace

StudyResult run_roofline_study(const StudyRequest& request) {
  MeasuredSide side = measured_side(request);
  const RooflineStudy study = predict_roofline_study(study_progress(request, "sweeps"));
  const RooflineStudy* measured = side.study ? &*side.study : nullptr;
  const std::optional<CaptureStudy> frameworks = frameworks_on(measured);
  return {.title = "Time-Based Roofline for Deep Learning Performance Analysis",
          .published = "2020, V100",
          .basis = "predicted for its V100",
          .place = "network",
          .rule = "by the rule in each row's note; rows without a verdict claim nothing of it",
          .findings = roofline_findings(study, measured, frameworks ? &*frameworks : nullptr),
          .figures = request.wants_figures
                         ? roofline_figures(study, measured, frameworks ? &*frameworks : nullptr)
                         : std::vector<Figure>{},
          .measured = measured == nullptr ? "" : measured->title,
          .notes = std::move(side.notes),
          .is_interrupted = side.is_interrupted};
}

}  // namespace strata
