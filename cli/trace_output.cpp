// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_output.hpp"

#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace strata {
namespace {

PageSection trace_page_part(const TraceReport& report, const Provenance& provenance) {
  PageSection part{.name = std::filesystem::path(report.file).stem().string(),
                   .document = to_json(std::span(&report, 1), provenance)};
  for (const ProfileFinding& finding : report.findings)
    part.notes.push_back(fmt::format("{}: {}", kind_of(finding.code).title, finding.what));
  return part;
}

}  // namespace

void write_trace_timeline(const std::string& path, std::span<const Recording> recordings) {
  if (path == "-") {
    write_timeline(recordings, [](std::string_view text) { print_bytes(text); });
    return;
  }
  std::ofstream file(path, std::ios::binary);
  write_timeline(recordings, [&](std::string_view text) {
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
  });
  file.close();
  if (!file) fail(ErrorKind::environment, "cannot write {}", path);
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
