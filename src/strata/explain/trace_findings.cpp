// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/trace_findings.hpp"

#include "strata/base/units.hpp"
#include "strata/explain/trace_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double noticeable_in_trace = 0.01;
constexpr double noticeable_recording = 0.05;

void find_trust(const TraceContext& context, TraceFindings& found) {
  const TraceTables& tables = context.tables();
  if (tables.lost_records > 0) {
    ProfileFinding finding =
        context.finding(FindingCode::lost_records, 0,
                        fmt::format("{} records were lost, so times and counts are too small",
                                    format_exact(tables.lost_records)),
                        "record a shorter piece, or give the recorder larger buffers");
    finding.evidence.push_back(
        {"records lost", static_cast<double>(tables.lost_records), Measure::count});
    found.push_back(std::move(finding));
  }
  const double overhead_s = trace_seconds(tables.overhead_ns);
  if (context.is_noticeable(overhead_s)) {
    ProfileFinding finding = context.finding(
        FindingCode::recorder_overhead, 0,
        fmt::format("the recorder itself took {}, {} of the recording", format_time(overhead_s),
                    share_text(overhead_s, context.whole_s())),
        "gaps of the host are longer than without it; record less (no calls of the driver, no "
        "stacks)");
    finding.evidence.push_back({"overhead", overhead_s, Measure::seconds});
    found.push_back(std::move(finding));
  }
}

/// Recording makes programs longer that wait for the host.
void find_recording_cost(const TraceContext& context, TraceFindings& found) {
  const auto& cost = context.tables().recording_cost;
  if (!cost || !cost->step_s || !cost->step_without) return;
  const double gained_s = *cost->step_s - cost->step_without->likely_s;
  if (gained_s < noticeable_recording * *cost->step_s) return;
  ProfileFinding finding = context.finding(
      FindingCode::recorder_overhead, 0,
      fmt::format(
          "the device waits for the host, and recording makes the host slower: a step of {} "
          "takes about {} without it ({} to {})",
          format_time(*cost->step_s), format_time(cost->step_without->likely_s),
          format_time(cost->step_without->least_s), format_time(cost->step_without->most_s)),
      "times of kernels hold, gaps are too long; record less (strata capture --no-calls; no "
      "stacks, "
      "no shapes in PyTorch's profiler)");
  finding.evidence.push_back({"cost per launch", cost->per_launch.likely_s, Measure::seconds});
  finding.evidence.push_back({"launches", static_cast<double>(cost->launches), Measure::count});
  found.push_back(std::move(finding));
}

}  // namespace

TraceContext::TraceContext(const TraceTables& tables, const Machine* machine)
    : tables_(tables), machine_(machine) {
  for (const DeviceRow& device : tables.devices) whole_s_ += trace_seconds(device.span_ns);
}

bool TraceContext::is_noticeable(double cost_s) const {
  return whole_s_ > 0 && cost_s >= noticeable_in_trace * whole_s_;
}

ProfileFinding TraceContext::finding(FindingCode code, double cost_s, std::string what,
                                     std::string advice) const {
  ProfileFinding finding;
  finding.code = code;
  finding.what = std::move(what);
  finding.cost_s = cost_s;
  finding.is_of_recording = true;
  finding.cost_share = whole_s_ > 0 ? cost_s / whole_s_ : 0;
  finding.advice = std::move(advice);
  return finding;
}

double trace_seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

std::string share_text(double part, double whole) {
  const double share = whole > 0 ? 100 * part / whole : 0;
  return fmt::format("{:.{}f} %", share, share < 9.95 ? 1 : 0);
}

std::vector<ProfileFinding> find_in_trace(const TraceTables& tables, const Machine* machine) {
  const TraceContext context(tables, machine);
  TraceFindings found;
  find_idle(context, found);
  find_copies(context, found);
  find_kernels(context, found);
  find_counters(context, found);
  find_trust(context, found);
  find_recording_cost(context, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const ProfileFinding& a, const ProfileFinding& b) {
                     const bool a_is = kind_of(a.code).is_about_time;
                     const bool b_is = kind_of(b.code).is_about_time;
                     return a_is != b_is ? a_is : a.cost_s > b.cost_s;
                   });
  return found;
}

}  // namespace strata
