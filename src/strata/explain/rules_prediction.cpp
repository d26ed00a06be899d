// SPDX-License-Identifier: Apache-2.0
// What a prediction says of its own schedule, and how far numbers can be trusted.
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"
#include "strata/profile/scope_title.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace strata {
namespace {

constexpr double stall_share = 0.02;
constexpr std::size_t stalls_explained = 3;
constexpr double beyond_bound = 0.02;

double in_bytes(std::int64_t bytes) { return static_cast<double>(bytes); }

/// A share of a scope's reuse and the capacity that it needs.
struct ReuseMark {
  std::string_view name;
  double share = 0;
  std::int64_t capacity_bytes = 0;
};

/// Those that are not captured yet and need more than there is.
std::vector<ReuseMark> marks_above(const ReuseFacts& reuse, std::int64_t capacity_bytes) {
  const double captured = in_bytes(reuse.captured_bytes) / in_bytes(reuse.offered_bytes);
  std::vector<ReuseMark> marks = {{"half", 0.5, reuse.capacity_50_bytes},
                                  {"90 %", 0.9, reuse.capacity_90_bytes},
                                  {"all", 1, reuse.capacity_100_bytes}};
  std::erase_if(marks, [&](const ReuseMark& mark) {
    return mark.share <= captured || mark.capacity_bytes <= capacity_bytes;
  });
  return marks;
}

/// A column that a profile lacks, and what cannot be found without it.
struct MissingColumn {
  std::string_view keys;
  std::string_view without;
};

}  // namespace

void find_stalls(const ExplainContext& context, Findings& found) {
  const PredictionFacts* facts = context.facts();
  if (facts == nullptr) return;
  const std::size_t most = std::min(facts->stalls.size(), stalls_explained);
  for (std::size_t i = 0; i < most; ++i) {
    const StallFacts& stall = facts->stalls[i];
    if (stall.wait_s < stall_share * context.time_s()) return;
    ProfileFinding finding =
        context.finding(FindingCode::stall_on_value, stall.value, stall.wait_s);
    finding.what = fmt::format(
        "{} for {}, a {}, {} of the iteration: it is not on chip when it is needed",
        stall.steps == 1 ? fmt::format("1 step waits {}", format_time(stall.wait_s))
                         : fmt::format("{} steps wait {}", stall.steps, format_time(stall.wait_s)),
        stall.value, stall.kind, percent_of(stall.wait_s, context.time_s()));
    finding.evidence = {
        {"waits", stall.wait_s, Measure::seconds},
        {"steps", static_cast<double>(stall.steps), Measure::count},
        {"loaded in that time at most", stall.wait_s * facts->bytes_per_s, Measure::bytes}};
    finding.advice =
        "keep it on chip between its uses, load it earlier, or move work that needs it closer to "
        "where it is made";
    finding.what_ifs.push_back(
        context.computed(fmt::format("{} were there in time", stall.value), stall.wait_s));
    found.push_back(std::move(finding));
  }
}

std::optional<std::int64_t> next_capacity(const ReuseFacts& reuse, std::int64_t capacity_bytes) {
  const auto marks = marks_above(reuse, capacity_bytes);
  return marks.empty() ? std::nullopt : std::optional(marks.front().capacity_bytes);
}

std::string reuse_text(const ReuseFacts& reuse, std::int64_t capacity_bytes) {
  std::string text = fmt::format(
      "{}: {} of {} stay on chip at {}", title_of_scope(reuse.scope),
      percent_of(in_bytes(reuse.captured_bytes), in_bytes(reuse.offered_bytes)),
      format_bytes(in_bytes(reuse.offered_bytes)), format_capacity(in_bytes(capacity_bytes)));
  if (reuse.captured_bytes >= reuse.offered_bytes) return text + ", all of it";
  std::string needs;
  for (const ReuseMark& mark : marks_above(reuse, capacity_bytes)) {
    needs += fmt::format("{} {} needs {} more", needs.empty() ? ";" : ",", mark.name,
                         format_capacity(in_bytes(mark.capacity_bytes - capacity_bytes)));
  }
  return text + (needs.empty() ? "; each fits alone, but not beside the others" : needs);
}

namespace {

/// The capacity that every scope which needs less than this one needs for all of its reuse. More
/// capacity up to there helps them, too; what this scope gains by itself begins there. Nothing: the
/// chip has it, or no other scope needs less.
std::optional<CapacityOf> nearer_scopes(const PredictionFacts& facts, const ReuseFacts& reuse) {
  std::int64_t most = 0;
  for (const ReuseFacts& other : facts.reuse) {
    if (other.scope == reuse.scope || other.captured_bytes >= other.offered_bytes) continue;
    if (other.capacity_100_bytes < reuse.capacity_100_bytes)
      most = std::max(most, other.capacity_100_bytes);
  }
  return most > facts.capacity_bytes ? std::optional(CapacityOf{most}) : std::nullopt;
}

}  // namespace

void find_capacity_below_scope(const ExplainContext& context, Findings& found) {
  const PredictionFacts* facts = context.facts();
  if (facts == nullptr) return;
  for (const ReuseFacts& reuse : facts->reuse) {
    if (reuse.captured_bytes >= reuse.offered_bytes) continue;
    const auto nearer = nearer_scopes(*facts, reuse);
    const auto needed = next_capacity(reuse, nearer ? nearer->bytes : facts->capacity_bytes);
    if (!needed) continue;
    const double missed = in_bytes(reuse.offered_bytes - reuse.captured_bytes);
    ProfileFinding finding = context.finding(FindingCode::capacity_below_scope,
                                             std::string(title_of_scope(reuse.scope)), 0);
    finding.is_cost_the_gain = true;
    finding.what = reuse_text(reuse, facts->capacity_bytes);
    finding.evidence = {{"reused", in_bytes(reuse.offered_bytes), Measure::bytes},
                        {"stays on chip", in_bytes(reuse.captured_bytes), Measure::bytes},
                        {"to move the rest", missed / facts->bytes_per_s, Measure::seconds},
                        {"on-chip", in_bytes(facts->capacity_bytes), Measure::capacity},
                        {"on-chip needed for more", in_bytes(*needed), Measure::capacity}};
    finding.advice = fmt::format(
        "{} more on-chip memory would hold more of the working set; lower precision makes it "
        "smaller",
        format_capacity(in_bytes(*needed - facts->capacity_bytes)));
    const auto ask = [&](std::int64_t bytes) {
      WhatIf what_if = context.asked(CapacityOf{bytes});
      if (nearer) what_if.beyond = *nearer;
      finding.what_ifs.push_back(std::move(what_if));
    };
    ask(*needed);
    if (reuse.capacity_100_bytes > *needed) ask(reuse.capacity_100_bytes);
    found.push_back(std::move(finding));
  }
}

void find_sliced_weights(const ExplainContext& context, Findings& found) {
  const PredictionFacts* facts = context.facts();
  if (facts == nullptr || facts->refetch_bytes == 0) return;
  const double channel_s = in_bytes(facts->refetch_bytes) / facts->bytes_per_s;
  if (!context.is_noticeable(channel_s)) return;
  ProfileFinding finding =
      context.finding(FindingCode::sliced_weights, facts->minimum_step, channel_s);
  finding.what = fmt::format(
      "weights do not fit beside a row of everything else: {} are read again; {} needs {}",
      format_bytes(in_bytes(facts->refetch_bytes)), facts->minimum_step,
      format_capacity(in_bytes(facts->minimum_bytes)));
  finding.evidence = {{"read again", in_bytes(facts->refetch_bytes), Measure::bytes},
                      {"the channel is busy with it", channel_s, Measure::seconds},
                      {"on-chip", in_bytes(facts->capacity_bytes), Measure::capacity},
                      {"on-chip needed", in_bytes(facts->minimum_bytes), Measure::capacity}};
  finding.advice = fmt::format("{} on-chip end it; lower precision halves what is needed",
                               format_capacity(in_bytes(facts->minimum_bytes)));
  finding.what_ifs.push_back(context.asked(CapacityOf{facts->minimum_bytes}));
  found.push_back(std::move(finding));
}

void find_far_from_bound(const ExplainContext& context, Findings& found) {
  const PredictionFacts* facts = context.facts();
  if (facts == nullptr || !facts->bound_s || !(*facts->bound_s > 0)) return;
  const double above_s = context.time_s() - *facts->bound_s;
  if (above_s < beyond_bound * context.time_s()) return;
  ProfileFinding finding = context.finding(FindingCode::far_from_bound, "", above_s);
  finding.what = fmt::format(
      "the lower bound of this order of layers is {}; this schedule is {} above, so scheduling can "
      "win {} at most",
      format_time(*facts->bound_s), percent_of(above_s, *facts->bound_s), format_time(above_s));
  finding.evidence = {{"time", context.time_s(), Measure::seconds},
                      {"lower bound", *facts->bound_s, Measure::seconds}};
  finding.advice =
      "keeping parts of tensors instead of whole ones comes closer to the lower bound; beyond that "
      "only "
      "another order of the layers or more on-chip memory helps";
  finding.what_ifs.push_back(context.computed("the schedule met the lower bound", above_s));
  if (context.predicts_again())
    finding.what_ifs.push_back(context.asked(OptionSet{"granularity", "1MiB"}));
  found.push_back(std::move(finding));
}

void find_missing_columns(const ExplainContext& context, Findings& found) {
  const ProfileColumns& columns = context.profile().columns;
  std::vector<MissingColumn> missing;
  if (!columns.has_flop)
    missing.push_back(
        {"FLOP ('flop')", "what is bound by arithmetic, low utilisation, data types"});
  if (!columns.has_bytes)
    missing.push_back({"bytes ('traffic_in_bytes', 'traffic_out_bytes')",
                       "what is bound by memory, twice the bandwidth"});
  if (!columns.has_launches)
    missing.push_back({"launches ('launches')", "what is bound by starting kernels"});
  for (const MissingColumn& column : missing) {
    ProfileFinding finding =
        context.finding(FindingCode::missing_column, std::string(column.keys), 0);
    finding.what = fmt::format("the rows have no {}; without it nobody can say: {}", column.keys,
                               column.without);
    finding.evidence = {
        {"rows", static_cast<double>(context.profile().rows.size()), Measure::count}};
    finding.advice =
        "record it, or predict the network beside it (strata predict --json) and compare";
    found.push_back(std::move(finding));
  }
}

void find_prediction_limit(const ExplainContext& context, Findings& found) {
  if (context.is_measured()) return;
  const Totals total = total_of(context.profile());
  ProfileFinding finding = context.finding(FindingCode::prediction_limit, "", 0);
  finding.what =
      "the times are the limit that capacity, bandwidth and peak set: rates are full, launches "
      "cost "
      "nothing, every kernel is as good as the machine allows";
  finding.evidence = {{"compute at full rate", total.compute_s, Measure::seconds}};
  if (const auto& latency = context.machine().launch_latency_s) {
    finding.evidence.push_back({"launches one by one",
                                static_cast<double>(total.launches) * latency->value,
                                Measure::seconds});
  }
  finding.advice = "take shares and comparisons from it, and the time from a measurement";
  found.push_back(std::move(finding));
}

}  // namespace strata
