// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain.hpp"

#include "strata/base/error.hpp"
#include "strata/explain/explain_context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

using Rule = void (*)(const ExplainContext&, Findings&);

constexpr Rule rules[] = {find_memory_bound,    find_one_layer,       find_launch_bound,
                          find_between_kernels, find_low_utilisation, find_low_bandwidth,
                          find_zero_flop,       find_vector_products, find_wide_type,
                          find_wide_products,   find_backward_heavy,  find_gradient_sums,
                          find_update_share,    find_stalls,          find_capacity_below_scope,
                          find_sliced_weights,  find_far_from_bound,  find_above_roof,
                          find_missing_columns, find_prediction_limit};

/// What-ifs about the iteration as a whole, whatever was found.
std::vector<WhatIf> whole_what_ifs(const ExplainContext& context) {
  std::vector<WhatIf> all;
  if (context.times() == nullptr) return all;
  all.push_back(context.asked(BandwidthTimes{2}));
  all.push_back(context.asked(ThroughputTimes{2}));
  if (const auto type = lower_precision(context)) all.push_back(context.asked(InDType{*type}));
  if (const PredictionFacts* facts = context.facts()) {
    if (const auto twice = twice_the_capacity(facts->capacity_bytes))
      all.push_back(context.asked(*twice));
    all.push_back(context.asked(BatchTimes{2}));
  }
  return all;
}

/// Asks for all what-ifs at once, each change one time: whoever predicts may do so side by side.
void answer_all(const ExplainInput& input, Findings& findings, std::vector<WhatIf>& whole) {
  if (!input.predict_again) return;
  std::vector<WhatIf*> open;
  const auto collect = [&](std::vector<WhatIf>& what_ifs) {
    for (WhatIf& what_if : what_ifs) {
      if (what_if.basis == Basis::predicted_again) open.push_back(&what_if);
    }
  };
  for (ProfileFinding& finding : findings) collect(finding.what_ifs);
  collect(whole);
  std::vector<Change> changes;
  std::vector<std::size_t> which;
  for (const WhatIf* what_if : open) {
    const auto same = std::find(changes.begin(), changes.end(), what_if->change);
    which.push_back(static_cast<std::size_t>(same - changes.begin()));
    if (same == changes.end()) changes.push_back(what_if->change);
  }
  const std::vector<ChangeAnswer> answers = input.predict_again(changes);
  STRATA_CHECK(answers.size() == changes.size(), "an answer for every change");
  for (std::size_t i = 0; i < open.size(); ++i) {
    open[i]->time_s = answers[which[i]].time_s;
    open[i]->reason = answers[which[i]].reason;
  }
}

void settle_costs(Findings& findings, double time_s) {
  for (ProfileFinding& finding : findings) {
    std::stable_sort(finding.what_ifs.begin(), finding.what_ifs.end(),
                     [](const WhatIf& a, const WhatIf& b) { return a.gain_s() > b.gain_s(); });
    if (!finding.is_cost_the_gain) continue;
    finding.cost_s = finding.gain_s();
    finding.cost_share = time_s > 0 ? finding.cost_s / time_s : 0;
  }
  std::erase_if(findings, [&](const ProfileFinding& finding) {
    return finding.is_cost_the_gain && finding.cost_s < noticeable_share * time_s;
  });
  const auto rank = [](const ProfileFinding& finding) {
    return kind_of(finding.code).is_about_time;
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const ProfileFinding& a, const ProfileFinding& b) {
                     if (rank(a) != rank(b)) return rank(a);
                     if (a.gain_s() != b.gain_s()) return a.gain_s() > b.gain_s();
                     return a.cost_s > b.cost_s;
                   });
}

std::vector<std::string> notes_of(const ExplainInput& input) {
  std::vector<std::string> notes;
  const Profile& profile = input.profile;
  if (!profile.subject.machine.empty() && profile.subject.machine != input.machine.name) {
    notes.push_back(fmt::format("the profile is of {}, the roofs are of {}",
                                profile.subject.machine, input.machine.name));
  }
  if (iteration_of(profile).from == TimeFrom::rows)
    notes.push_back("the profile does not say the time of the iteration: its rows are added up");
  if (!input.no_prediction_reason.empty() && !input.predict_again)
    notes.push_back(fmt::format("not predicted again: {}", input.no_prediction_reason));
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
                     .time_s = context.time_s(),
                     .findings = {},
                     .what_ifs = whole_what_ifs(context),
                     .reuse = {},
                     .notes = notes_of(input)};
  for (const Rule rule : rules) rule(context, answer.findings);
  answer_all(input, answer.findings, answer.what_ifs);
  settle_costs(answer.findings, context.time_s());
  std::stable_sort(answer.what_ifs.begin(), answer.what_ifs.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.gain_s() > b.gain_s(); });
  if (input.facts != nullptr) {
    for (const ReuseFacts& reuse : input.facts->reuse) {
      if (reuse.offered_bytes > 0)
        answer.reuse.push_back({reuse, reuse_text(reuse, input.facts->capacity_bytes)});
    }
  }
  return answer;
}

}  // namespace strata
