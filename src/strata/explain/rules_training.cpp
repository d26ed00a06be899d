// SPDX-License-Identifier: Apache-2.0
// What belongs to training and not to the network: backward, sums of gradients, the update.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr double heavier = 1.25;  // than its FLOP explain
constexpr double update_least = 0.02;

bool is_backward(const ProfileRow& row) { return row.pass.starts_with("backward"); }

/// Time of the rows that satisfy something, with what they wait.
struct PartOfTime {
  std::size_t rows = 0;
  double time_s = 0;
  double bytes = 0;
  double flop = 0;
};

template <class IsMeant>
PartOfTime part_of(const Profile& profile, const IsMeant& is_meant) {
  PartOfTime part;
  for (const ProfileRow& row : profile.rows) {
    if (!is_meant(row)) continue;
    ++part.rows;
    part.time_s += row.totals.time_s;
    part.bytes += static_cast<double>(row.totals.traffic_bytes());
    part.flop += static_cast<double>(row.totals.flop);
  }
  return part;
}

}  // namespace

void find_backward_heavy(const ExplainContext& context, Findings& found) {
  const Profile& profile = context.profile();
  if (!profile.columns.has_flop) return;
  const PartOfTime forward =
      part_of(profile, [](const ProfileRow& row) { return row.pass == "forward"; });
  const PartOfTime backward = part_of(profile, is_backward);
  if (!(forward.time_s > 0) || !(forward.flop > 0) || backward.rows == 0) return;
  const double by_time = backward.time_s / forward.time_s;
  const double by_flop = backward.flop / forward.flop;
  const double beyond_s = backward.time_s - by_flop * forward.time_s;
  if (by_time < heavier * by_flop || !context.is_noticeable(beyond_s)) return;
  ProfileFinding finding = context.finding(FindingCode::backward_heavy, "", beyond_s);
  finding.what = fmt::format(
      "backward takes {:.2f} times as long as forward, but does {:.2f} times the arithmetic: {} "
      "more than its share",
      by_time, by_flop, format_time(beyond_s));
  finding.evidence = {{"forward", forward.time_s, Measure::seconds},
                      {"backward", backward.time_s, Measure::seconds},
                      {"FLOP, backward over forward", by_flop, Measure::ratio},
                      {"bytes, backward over forward",
                       forward.bytes > 0 ? backward.bytes / forward.bytes : 0, Measure::ratio}};
  finding.advice = backward.bytes > by_flop * forward.bytes
                       ? "it moves more bytes than its arithmetic explains: what forward saved is "
                         "read again; recomputing cheap layers (--recompute) can be faster"
                       : "its kernels are slower than those of forward: look at the gradients of "
                         "weights first, their shapes are the hardest";
  finding.what_ifs.push_back(
      context.computed("backward did its arithmetic as fast as forward", beyond_s));
  found.push_back(std::move(finding));
}

void find_gradient_sums(const ExplainContext& context, Findings& found) {
  const PartOfTime sums =
      part_of(context.profile(), [](const ProfileRow& row) { return row.op == "gradient_sum"; });
  if (sums.rows == 0 || !context.is_noticeable(sums.time_s)) return;
  ProfileFinding finding = context.finding(FindingCode::gradient_sums, "", sums.time_s);
  finding.what =
      fmt::format("{} of {} add gradients where a tensor has several readers, {} of the iteration",
                  format_time(sums.time_s), counted(sums.rows, "row"),
                  percent_of(sums.time_s, context.time_s()));
  finding.evidence = {{"time", sums.time_s, Measure::seconds},
                      {"bytes", sums.bytes, Measure::bytes},
                      {"rows", static_cast<double>(sums.rows), Measure::count}};
  finding.advice =
      "let the kernel that makes the second gradient add to the first (an output scale of 1), then "
      "the sum costs no traffic of its own";
  finding.what_ifs.push_back(context.computed("they were added where they are made", sums.time_s));
  found.push_back(std::move(finding));
}

void find_update_share(const ExplainContext& context, Findings& found) {
  const PartOfTime update =
      part_of(context.profile(), [](const ProfileRow& row) { return row.pass == "update"; });
  if (update.rows == 0 || update.time_s < update_least * context.time_s()) return;
  ProfileFinding finding = context.finding(FindingCode::update_share, "", update.time_s);
  finding.what =
      fmt::format("the update of the weights takes {}, {} of the iteration",
                  format_time(update.time_s), percent_of(update.time_s, context.time_s()));
  finding.evidence = {{"time", update.time_s, Measure::seconds},
                      {"bytes", update.bytes, Measure::bytes},
                      {"rows", static_cast<double>(update.rows), Measure::count}};
  finding.advice =
      "a larger batch or several micro-batches share one update; updating a weight where its "
      "gradient is made saves reading it again; an optimizer with less state moves less";
  finding.what_ifs.push_back(context.computed("it were hidden behind backward", update.time_s));
  if (context.predicts_again())
    finding.what_ifs.push_back(context.asked(OptionSet{"optimizer", "sgd"}));
  found.push_back(std::move(finding));
}

}  // namespace strata
