// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain.hpp"

#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

namespace strata {
namespace {

using Rule = void (*)(const ExplainContext&, Findings&);

constexpr Rule rules[] = {find_out_of_memory,
                          find_memory_bound,
                          find_one_layer,
                          find_communication,
                          find_launch_bound,
                          find_between_kernels,
                          find_low_utilisation,
                          find_low_bandwidth,
                          find_zero_flop,
                          find_vector_products,
                          find_wide_type,
                          find_wide_products,
                          find_backward_heavy,
                          find_gradient_sums,
                          find_update_share,
                          find_stalls,
                          find_capacity_below_scope,
                          find_sliced_weights,
                          find_far_from_bound,
                          find_above_roof,
                          find_missing_columns,
                          find_prediction_limit,
                          find_warp_stalls,
                          find_cache_hits,
                          find_interconnect_bound,
                          find_extra_traffic,
                          find_other_algorithm,
                          find_counted_occupancy,
                          find_idle_processors,
                          find_access_efficiency};
/// Of the expected times of a framework's kernels.
constexpr Rule expected_rules[] = {find_host_bound,   find_slow_precision,  find_memory_bound,
                                   find_one_layer,    find_low_utilisation, find_low_bandwidth,
                                   find_zero_flop,    find_backward_heavy,  find_gradient_sums,
                                   find_update_share, find_missing_columns};
/// What is left to say of the limit beside them: what only another chip or schedule changes.
constexpr Rule limit_rules[] = {find_out_of_memory, find_stalls, find_capacity_below_scope,
                                find_sliced_weights, find_far_from_bound};

/// What-ifs about the iteration as a whole, whatever was found.
std::vector<WhatIf> whole_what_ifs(const ExplainContext& context) {
  std::vector<WhatIf> all;
  if (context.times() == nullptr) return all;
  all.push_back(context.asked(BandwidthTimes{2}));
  all.push_back(context.asked(ThroughputTimes{2}));
  if (could_allow_tf32(context)) all.push_back(context.asked(InDType{DType::tf32}));
  if (const auto type = lower_precision(context)) all.push_back(context.asked(InDType{*type}));
  if (const PredictionFacts* facts = context.facts()) {
    if (const auto twice = twice_the_capacity(facts->capacity_bytes))
      all.push_back(context.asked(*twice));
    all.push_back(context.asked(BatchTimes{2}));
  }
  return all;
}

/// What a user can change; where nobody predicts again, what the roofline answers.
std::vector<WhatIf> expected_what_ifs(const ExplainContext& context) {
  if (!context.predicts_again()) return whole_what_ifs(context);
  std::vector<WhatIf> all;
  for (const Change& change : context.changes()) all.push_back(context.asked(change));
  return all;
}

/// What another chip would do to the limit.
std::vector<WhatIf> chip_what_ifs(const ExplainContext& context) {
  std::vector<WhatIf> all;
  if (!context.predicts_again() || context.facts() == nullptr) return all;
  all.push_back(context.asked(BandwidthTimes{2}));
  all.push_back(context.asked(ThroughputTimes{2}));
  if (const auto twice = twice_the_capacity(context.facts()->capacity_bytes))
    all.push_back(context.asked(*twice));
  return all;
}

/// Asks for all what-ifs at once, each change one time: whoever predicts may do so side by side.
void answer_all(const PredictAgain& predict_again, Findings& findings, std::vector<WhatIf>& whole) {
  if (!predict_again) return;
  std::vector<WhatIf*> open;
  const auto collect = [&](std::vector<WhatIf>& what_ifs) {
    for (WhatIf& what_if : what_ifs) {
      if (what_if.basis == Basis::predicted_again) open.push_back(&what_if);
    }
  };
  for (ProfileFinding& finding : findings) collect(finding.what_ifs);
  collect(whole);
  std::vector<Change> changes;
  const auto place_of = [&](const Change& change) {
    const auto same = std::find(changes.begin(), changes.end(), change);
    const auto place = static_cast<std::size_t>(same - changes.begin());
    if (same == changes.end()) changes.push_back(change);
    return place;
  };
  std::vector<std::pair<std::size_t, std::optional<std::size_t>>> which;  // and what it is beyond
  for (const WhatIf* what_if : open) {
    const std::size_t place = place_of(what_if->change);
    which.emplace_back(place,
                       what_if->beyond ? std::optional(place_of(*what_if->beyond)) : std::nullopt);
  }
  const std::vector<ChangeAnswer> answers = predict_again(changes);
  STRATA_CHECK(answers.size() == changes.size(), "an answer for every change");
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto& [place, before] = which[i];
    open[i]->time_s = answers[place].time_s;
    open[i]->reason = answers[place].reason;
    if (!before) continue;
    if (answers[*before].time_s) {
      open[i]->base_s = *answers[*before].time_s;
    } else {  // without it nobody can say what the change adds
      open[i]->time_s.reset();
      open[i]->reason = answers[*before].reason;
    }
  }
}

/// Whether somebody can make the change, and it helps; a kernel that were faster is no such change.
bool has_user_change(const ProfileFinding& finding) {
  return std::any_of(finding.what_ifs.begin(), finding.what_ifs.end(), [](const WhatIf& what_if) {
    return what_if.basis == Basis::predicted_again && what_if.gain_s() > 0;
  });
}

/// What stops the iteration, what makes every other advice void, what a user can change, what else
/// costs time, and last how far the numbers can be trusted.
int rank_of(const ProfileFinding& finding) {
  if (finding.code == FindingCode::out_of_memory) return 0;
  if (finding.code == FindingCode::host_bound) return 1;
  if (!kind_of(finding.code).is_about_time) return 4;
  return finding.is_expected && has_user_change(finding) ? 2 : 3;
}

bool stands_before(const ProfileFinding& a, const ProfileFinding& b) {
  if (rank_of(a) != rank_of(b)) return rank_of(a) < rank_of(b);
  if (a.gain_s() != b.gain_s()) return a.gain_s() > b.gain_s();
  return a.cost_s > b.cost_s;
}

void settle_costs(Findings& findings, double time_s) {
  for (ProfileFinding& finding : findings) {
    sort_by_gain(finding.what_ifs);
    if (!finding.is_cost_the_gain) continue;
    finding.cost_s = finding.gain_s();
    finding.cost_share = time_s > 0 ? finding.cost_s / time_s : 0;
  }
  std::erase_if(findings, [&](const ProfileFinding& finding) {
    return finding.is_cost_the_gain && finding.cost_s < noticeable_share * time_s;
  });
  std::stable_sort(findings.begin(), findings.end(), stands_before);
}

/// Findings and what-ifs of one kind of times.
struct Explained {
  Findings findings;
  std::vector<WhatIf> what_ifs;
};

Explained explain_times(const ExplainContext& context, std::span<const Rule> rules_used,
                        std::vector<WhatIf> what_ifs, const PredictAgain& predict_again) {
  Explained explained{{}, std::move(what_ifs)};
  for (const Rule rule : rules_used) rule(context, explained.findings);
  answer_all(predict_again, explained.findings, explained.what_ifs);
  settle_costs(explained.findings, context.time_s());
  sort_by_gain(explained.what_ifs);
  return explained;
}

/// The expected times first, the limit behind them; but what does not fit is said first.
Explained explain_expected(const ExplainInput& input, const ExplainContext& limit) {
  const Profile profile = with_expected_times(input.profile);
  const ExplainInput as_expected{.profile = profile,
                                 .machine = input.machine,
                                 .predict_again = input.expect_again,
                                 .changes = input.changes,
                                 .no_prediction_reason = input.no_prediction_reason};
  const ExplainContext context(as_expected, true);
  Explained all =
      explain_times(context, expected_rules, expected_what_ifs(context), input.expect_again);
  Explained of_limit = explain_times(limit, limit_rules, chip_what_ifs(limit), input.predict_again);
  for (ProfileFinding& finding : of_limit.findings) {
    const bool is_first = finding.code == FindingCode::out_of_memory;
    finding.is_expected |= is_first;
    all.findings.insert(is_first ? all.findings.begin() : all.findings.end(), std::move(finding));
  }
  std::move(of_limit.what_ifs.begin(), of_limit.what_ifs.end(), std::back_inserter(all.what_ifs));
  return all;
}

void add_expected_notes(const ExpectedIteration& expected, std::vector<std::string>& notes) {
  if (expected.calibration == "transferred")
    notes.push_back(fmt::format(
        "times of kernels are transferred from {}: take the order of changes from them rather "
        "than the milliseconds",
        expected.calibrated_on));
  if (expected.uncovered_share >= noticeable_share)
    notes.push_back(fmt::format("{} of the kernel time are of classes that nobody measured",
                                percent_of(expected.uncovered_share, 1)));
}

/// Findings of the recording come first; what they say, the profile's do not repeat. They are of
/// all steps that were recorded: of one they cost the same share.
void put_first(const std::vector<ProfileFinding>& recorded, const IterationTime& iteration,
               Findings& findings) {
  std::erase_if(findings, [&](const ProfileFinding& finding) {
    return std::any_of(recorded.begin(), recorded.end(), [&](const ProfileFinding& one) {
      return one.code == finding.code && one.subject == finding.subject;
    });
  });
  findings.insert(findings.begin(), recorded.begin(), recorded.end());
  if (iteration.from != TimeFrom::step) return;
  for (std::size_t i = 0; i < recorded.size(); ++i)
    findings[i].cost_s = recorded[i].cost_share * iteration.time_s;
}

/// Why what saves time of kernels may save nothing of the step.
void add_host_note(const IterationTime& iteration, const RecordedStep& step,
                   std::vector<std::string>& notes) {
  if (!step.host_s || *step.host_s <= step.busy_s) return;
  notes.push_back(
      fmt::format("the host takes {} to launch the kernels of a step, which run for {}: faster "
                  "kernels make it no shorter than that",
                  format_time(std::min(*step.host_s, iteration.time_s)), format_time(step.busy_s)));
}

std::vector<std::string> notes_of(const ExplainInput& input) {
  std::vector<std::string> notes;
  const Profile& profile = input.profile;
  if (!profile.subject.machine.empty() && profile.subject.machine != input.machine.name) {
    notes.push_back(fmt::format("the profile is of {}, the roofs are of {}",
                                profile.subject.machine, input.machine.name));
  }
  const IterationTime iteration = iteration_of(profile);
  if (iteration.from == TimeFrom::rows)
    notes.push_back("the profile does not say the time of the iteration: its rows are added up");
  if (iteration.from == TimeFrom::recording)
    notes.push_back("no steps were found: times are those of the whole recording");
  if (profile.recorded) add_host_note(iteration, *profile.recorded, notes);
  if (!input.no_prediction_reason.empty() && !input.predict_again)
    notes.push_back(fmt::format("not predicted again: {}", input.no_prediction_reason));
  if (profile.expected) add_expected_notes(*profile.expected, notes);
  return notes;
}

}  // namespace

Explanation explain(const ExplainInput& input) {
  const Profile& profile = input.profile;
  if (!profile.columns.has_time) {
    fail(ErrorKind::input,
         "its rows have no time ('time_s'), without which nobody can say where it goes");
  }
  const ExplainContext context(input);
  if (!(context.time_s() > 0))
    fail(ErrorKind::input, "its rows take no time at all: there is nothing to explain");
  Explanation answer{.subject = profile.subject,
                     .evidence = profile.evidence,
                     .machine = input.machine.name,
                     .machine_title = input.machine.title,
                     .machine_kind = input.machine.kind,
                     .time_s = context.time_s(),
                     .time_from = context.iteration().from,
                     .expected = profile.expected,
                     .findings = {},
                     .what_ifs = {},
                     .reuse = {},
                     .notes = notes_of(input)};
  Explained explained = profile.expected ? explain_expected(input, context)
                                         : explain_times(context, rules, whole_what_ifs(context),
                                                         input.predict_again);
  answer.findings = std::move(explained.findings);
  if (input.recorded != nullptr) put_first(*input.recorded, context.iteration(), answer.findings);
  answer.what_ifs = std::move(explained.what_ifs);
  if (profile.expected) {
    answer.limit_s = answer.time_s;
    answer.time_s = profile.expected->time_s;
  }
  if (input.facts != nullptr) {
    answer.memory = input.facts->memory;
    for (const ReuseFacts& reuse : input.facts->reuse) {
      if (reuse.offered_bytes > 0)
        answer.reuse.push_back({reuse, reuse_text(reuse, input.facts->capacity_bytes)});
    }
  }
  return answer;
}

}  // namespace strata
