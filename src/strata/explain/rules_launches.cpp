// SPDX-License-Identifier: Apache-2.0
// What starting kernels costs, and what passes between them.
#include "strata/base/units.hpp"
#include "strata/capture/trace_tables.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double gap_share = 0.02;

/// What kernels that are started one by one add to the time: Σ (n·λ − T)⁺.
double added_by_launches(const Profile& profile, double latency_s, bool is_one_per_row) {
  double added_s = 0;
  for (const ProfileRow& row : profile.rows) {
    const double launches = is_one_per_row
                                ? std::min<double>(1, static_cast<double>(row.totals.launches))
                                : static_cast<double>(row.totals.launches);
    added_s += std::max(0.0, launches * latency_s - row.totals.time_s);
  }
  return added_s;
}

/// Whether findings of the recording name the causes of its gaps.
bool says_why_idle(const ExplainContext& context) {
  const auto& recorded = context.profile().recorded;
  if (!context.has_recorded_findings() || !recorded) return false;
  return std::any_of(recorded->idle.begin(), recorded->idle.end(), [](const IdleShare& idle) {
    return idle.cause != name_of(IdleCause::unknown);
  });
}

}  // namespace

void find_launch_bound(const ExplainContext& context, Findings& found) {
  const Profile& profile = context.profile();
  if (!profile.columns.has_launches || !context.machine().launch_latency_s) return;
  if (context.is_of_recording()) return;  // its step has what launches added
  const double latency_s = context.machine().launch_latency_s->value;
  const double added_s = added_by_launches(profile, latency_s, false);
  std::size_t rows = 0;
  std::int64_t launches = 0;
  double kernels_s = 0;
  for (const ProfileRow& row : profile.rows) {
    if (static_cast<double>(row.totals.launches) * latency_s <= row.totals.time_s) continue;
    ++rows;
    launches += row.totals.launches;
    kernels_s += row.totals.time_s;
  }
  if (!context.is_noticeable(added_s)) return;
  ProfileFinding finding = context.finding(FindingCode::launch_bound, "", added_s);
  finding.is_cost_on_top = true;
  finding.what = fmt::format(
      "{} of {} are shorter than starting their {}: {} of kernels, {} of launches", rows,
      counted(profile.rows.size(), "row"), counted(static_cast<std::size_t>(launches), "kernel"),
      format_time(kernels_s), format_time(static_cast<double>(launches) * latency_s));
  finding.evidence = {{"kernels in these rows", static_cast<double>(launches), Measure::count},
                      {"their time", kernels_s, Measure::seconds},
                      {"one launch", latency_s, Measure::seconds},
                      {"added when started one by one", added_s, Measure::seconds}};
  finding.advice =
      "fuse what follows each other, record the iteration as a graph, or give each kernel more to "
      "do with a larger batch";
  const auto with_added = [&](std::string text, double still_s) {
    WhatIf what_if = context.computed(std::move(text), 0);
    what_if.base_s = context.time_s() + added_s;
    what_if.time_s = context.time_s() + still_s;
    return what_if;
  };
  if (const auto& node = context.machine().graph_node_latency_s) {
    finding.what_ifs.push_back(with_added(
        fmt::format("the kernels were started from a graph, {} each", format_time(node->value)),
        added_by_launches(profile, node->value, false)));
  }
  finding.what_ifs.push_back(
      with_added("every row were one kernel", added_by_launches(profile, latency_s, true)));
  found.push_back(std::move(finding));
}

void find_between_kernels(const ExplainContext& context, Findings& found) {
  if (!context.is_measured() || says_why_idle(context)) return;
  const IterationTime& iteration = context.iteration();
  if (iteration.gaps_s < gap_share * iteration.time_s) return;
  const ProfileRow* worst = nullptr;  // the row around whose kernels most time passes
  double worst_s = 0;
  for (const ProfileRow& row : context.profile().rows) {
    const double row_gap_s = row.wall_s.value_or(0) - row.totals.time_s;
    if (row_gap_s <= worst_s) continue;
    worst_s = row_gap_s;
    worst = &row;
  }
  ProfileFinding finding = context.finding(
      FindingCode::between_kernels, worst != nullptr ? row_name(*worst) : "", iteration.gaps_s);
  finding.what =
      fmt::format("{} pass outside kernels, {} of the iteration", format_time(iteration.gaps_s),
                  percent_of(iteration.gaps_s, iteration.time_s));
  if (worst != nullptr)
    finding.what += fmt::format("; most in {}, {}", row_name(*worst), format_time(worst_s));
  finding.evidence = {{"iteration", iteration.time_s, Measure::seconds},
                      {"kernels", iteration.busy_s, Measure::seconds},
                      {"between", iteration.gaps_s, Measure::seconds}};
  finding.advice =
      "the device waits for the host: start work earlier, avoid waiting for results, load data "
      "ahead, or record the iteration as a graph";
  finding.what_ifs.push_back(
      context.computed("kernels followed each other without a gap", iteration.gaps_s));
  found.push_back(std::move(finding));
}

}  // namespace strata
