// SPDX-License-Identifier: Apache-2.0
// What devices exchange.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

namespace strata {

void find_communication(const ExplainContext& context, Findings& found) {
  if (context.has_recorded_findings()) return;  // exposed-collectives says what nothing hides
  double time_s = 0;
  std::int64_t launches = 0;
  std::size_t rows = 0;
  for (const ProfileRow& row : context.profile().rows) {
    if (!is_communication(row)) continue;
    time_s += row.totals.time_s;
    launches += row.totals.launches;
    ++rows;
  }
  if (!context.is_noticeable(time_s)) return;
  ProfileFinding finding = context.finding(FindingCode::communication, "", time_s);
  finding.what = fmt::format(
      "kernels of collectives run for {}, {} of the iteration: communication, not arithmetic; "
      "strata trace says how much of it other kernels hide",
      format_time(time_s), percent_of(time_s, context.time_s()));
  finding.evidence = {{"time", time_s, Measure::seconds},
                      {"kernels", static_cast<double>(launches), Measure::count},
                      {"rows", static_cast<double>(rows), Measure::count}};
  finding.advice =
      "begin communication earlier (buckets of gradients), let it overlap with backward, send less "
      "(lower precision, accumulation over steps); waiting for a slower rank counts here, too";
  finding.what_ifs.push_back(context.computed("other kernels hid all of it", time_s));
  found.push_back(std::move(finding));
}

}  // namespace strata
