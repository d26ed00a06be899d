// SPDX-License-Identifier: Apache-2.0
// Whether measured rows come near their roofs, or are above them.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

/// Rows of one operator that take much longer than their roof.
struct FarRows {
  std::size_t count = 0;
  double time_s = 0;
  double roof_s = 0;
  double lost_s = 0;
  double flop = 0;
  double bytes = 0;
  std::size_t worst = 0;  // the row that loses most
  double worst_s = 0;
  std::string worst_share;
};

FarRows far_rows(const ExplainContext& context, const RowSet& set, Bound bound) {
  FarRows far;
  const RowTimes& times = *context.times();
  const auto& rows = times.rows();
  for (const std::size_t i : set.rows) {
    const RooflinePoint& point = rows[i].point;
    if (is_communication(context.profile().rows[i])) continue;  // its roof is a link's
    if (point.bound != bound || !times.is_far_from_roof(i)) continue;
    const double lost_s = rows[i].work.time_s - times.at_roof_s(i);
    const double roof_s = bound == Bound::compute ? point.compute_roof_s : point.memory_roof_s;
    ++far.count;
    far.time_s += rows[i].work.time_s;
    far.roof_s += roof_s;
    far.lost_s += lost_s;
    far.flop += static_cast<double>(rows[i].work.flop);
    far.bytes += static_cast<double>(rows[i].work.bytes);
    if (lost_s > far.worst_s) {
      far.worst_s = lost_s;
      far.worst = i;
      far.worst_share = percent_of(roof_s, rows[i].work.time_s);
    }
  }
  return far;
}

std::string utilisation_advice(const ProfileRow& row) {
  if (row.op.find("conv") != std::string::npos) {
    return "a strategy that fits the shape better may reach more: compare them on it (strata "
           "conv), round channels to what the units take at once, or enlarge the batch";
  }
  if (is_dense(row)) {
    return "round the sides of the product to what the units take at once, enlarge the batch, or "
           "join products that share an operand";
  }
  return "it has too little to do at once, or is written for another shape: do its arithmetic in "
         "the kernel that makes its data, or give it a larger batch";
}

constexpr std::string_view bandwidth_advice =
    "memory is not what it waits for: it reads or writes more than is counted (each tensor once), "
    "has work that is no FLOP (powers, comparisons, places to compute), or too little to do at "
    "once; another kernel may reach more, or do it where its data is made (fusion)";

constexpr std::string_view counted_bandwidth_advice =
    "memory is not what it waits for, by the bytes that were counted: it has work that is no FLOP "
    "(powers, comparisons, places to compute), or too little to do at once; another kernel may "
    "reach more, or do it where its data is made (fusion)";

std::string advice_for(const ExplainContext& context, std::size_t row, bool is_compute) {
  if (is_compute) return utilisation_advice(context.profile().rows[row]);
  const bool is_counted = context.times()->rows()[row].work.counts_bytes;
  return std::string(is_counted ? counted_bandwidth_advice : bandwidth_advice);
}

void find_far(const ExplainContext& context, Bound bound, Findings& found) {
  if (!context.has_kernel_times() || context.times() == nullptr) return;
  const bool is_compute = bound == Bound::compute;
  for (const RowSet& set : rows_by(context.profile(), operator_of)) {
    const bool has_own_finding = set.name == "gradient_sum" || set.name == "update";
    if (has_own_finding && !context.is_measured()) continue;
    const FarRows far = far_rows(context, set, bound);
    if (far.count == 0 || !context.is_noticeable(far.lost_s)) continue;
    const RooflinePoint& point = context.times()->rows()[far.worst].point;
    const ProfileRow& worst = context.profile().rows[far.worst];
    ProfileFinding finding =
        context.finding(is_compute ? FindingCode::low_utilisation : FindingCode::low_bandwidth,
                        set.name, far.lost_s);
    const std::string peak = point.peaks.empty() ? "the peak" : point.peaks.front().name;
    finding.what =
        fmt::format("{} reaches {} of {} in {} where {} is the limit; worst {}, {}", set.name,
                    percent_of(far.roof_s, far.time_s), is_compute ? peak : point.memory_level,
                    counted(far.count, "row"), is_compute ? "arithmetic" : "memory",
                    row_name(worst), far.worst_share);
    finding.evidence = {
        {"time of these rows", far.time_s, Measure::seconds},
        {is_compute ? "at the peak" : "at the bandwidth", far.roof_s, Measure::seconds}};
    if (is_compute) {
      finding.evidence.push_back({"reached", far.flop / far.time_s, Measure::flop_per_s});
      finding.evidence.push_back({"peak", point.peak_flop_per_s, Measure::flop_per_s});
    } else {
      finding.evidence.push_back({"reached", far.bytes / far.time_s, Measure::bytes_per_s});
      finding.evidence.push_back({"bandwidth", far.bytes / far.roof_s, Measure::bytes_per_s});
    }
    finding.advice = advice_for(context, far.worst, is_compute);
    finding.what_ifs.push_back(
        context.computed(fmt::format("these rows of {} ran at their roof", set.name), far.lost_s));
    found.push_back(std::move(finding));
  }
}

}  // namespace

void find_low_utilisation(const ExplainContext& context, Findings& found) {
  find_far(context, Bound::compute, found);
}
void find_low_bandwidth(const ExplainContext& context, Findings& found) {
  find_far(context, Bound::memory, found);
}

void find_above_roof(const ExplainContext& context, Findings& found) {
  if (!context.is_measured() || context.times() == nullptr) return;
  std::size_t above = 0;
  double time_s = 0;
  double least = 1;
  std::string example;
  for (std::size_t i = 0; i < context.profile().rows.size(); ++i) {
    const RooflineRow& row = context.times()->rows()[i];
    if (why_above_roof(row, context.machine()) != AboveRoof::unexplained) continue;
    ++above;
    time_s += context.profile().rows[i].totals.time_s;
    if (row.point.distance < least) {
      least = row.point.distance;
      example = row_name(context.profile().rows[i]);
    }
  }
  if (above == 0) return;
  ProfileFinding finding = context.finding(FindingCode::above_roof, example, 0);
  finding.what = fmt::format(
      "{} faster than {} can be by its numbers, {} at {:.2f} times the time at the roof",
      above == 1 ? "1 row is" : fmt::format("{} rows are", above), context.machine().name, example,
      least);
  finding.evidence = {{"rows", static_cast<double>(above), Measure::count},
                      {"their time", time_s, Measure::seconds},
                      {"time over time at the roof", least, Measure::ratio}};
  finding.advice =
      "the profile is of another machine, its counts are of other rows, or the roofs are too low: "
      "measure them on the machine that ran it (strata machine measure)";
  found.push_back(std::move(finding));
}

}  // namespace strata
