// SPDX-License-Identifier: Apache-2.0
#include "strata/report/trace_report.hpp"

#include "strata/base/printable.hpp"
#include "strata/capture/recording_profile.hpp"
#include "strata/explain/trace_findings.hpp"

namespace strata {

TraceReport make_trace_report(std::string file, const Recording& recording,
                              const Machine* machine) {
  TraceReport report;
  report.file = std::move(file);
  report.tables = make_trace_tables(recording);
  report.findings = find_in_trace(report.tables, machine);
  if (!recording.kernels.empty()) {
    report.profile = profile_of(recording);
    if (report.profile->subject.network.empty()) report.profile->subject.network = report.file;
    if (report.profile->subject.title.empty())
      report.profile->subject.title = report.profile->subject.network;
  }
  if (machine != nullptr) report.machine = machine->title;
  for (const CopyRow& row : report.tables.by_copy) {
    report.copy_ceilings.push_back(machine == nullptr ? std::nullopt : copy_ceiling(row, *machine));
  }
  return report;
}

}  // namespace strata
