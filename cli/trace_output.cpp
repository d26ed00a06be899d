// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_output.hpp"

#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_file.hpp"
#include "strata/explain/explain.hpp"
#include "strata/report/explain_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace strata {
namespace {

/// The findings of a recording, as the page shows those of any profile.
Explanation trace_explanation(const TraceReport& report) {
  const IterationTime iteration = iteration_of(*report.profile);
  Explanation explanation{.subject = report.profile->subject,
                          .evidence = Evidence::measured,
                          .machine_title = report.profile->subject.machine_title,
                          .time_s = iteration.time_s,
                          .time_from = iteration.from};
  explanation.findings = report.findings;
  return explanation;
}

PageSection trace_page_part(const TraceReport& report, const Provenance& provenance) {
  PageSection part{.name = std::filesystem::path(report.file).stem().string(),
                   .document = to_json(std::span(&report, 1), provenance)};
  if (!report.findings.empty())
    part.extras.emplace_back("explanation", to_json(trace_explanation(report), provenance));
  return part;
}

}  // namespace

void write_trace_timeline(const std::string& path, std::span<const Recording> recordings) {
  if (path == "-") {
    write_timeline(recordings, [](std::string_view text) { print_bytes(text); });
    return;
  }
  OutputFile file(path);
  write_timeline(recordings, [&](std::string_view text) { file.write(text); });
  file.finish();
}

std::string trace_page(std::span<const TraceReport> reports, const Provenance& provenance) {
  std::vector<PageSection> parts;
  for (const TraceReport& report : reports) {
    if (report.profile) parts.push_back(trace_page_part(report, provenance));
  }
  if (parts.empty()) fail(ErrorKind::input, "no kernel is recorded, so there is nothing to show");
  return page_text(reports.front().file, parts);
}

}  // namespace strata
