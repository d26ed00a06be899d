// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/explain/finding.hpp"
#include "strata/explain/prediction_facts.hpp"
#include "strata/machine/machine.hpp"
#include "strata/profile/profile.hpp"

#include <optional>
#include <string>
#include <vector>

/// Explains a profile on a machine: what limits it, what that costs, what to do, and what would
/// change. A pure function of the profile, the machine, the facts of a prediction, and a callback
/// that predicts again.
/// docs/explain.md says how each number is found.
///
///     const Explanation answer = explain({.profile = profile, .machine = machine});
///     for (const ProfileFinding& finding : answer.findings) … finding.what, finding.gain_s() …
namespace strata {

struct ExplainInput {
  const Profile& profile;
  const Machine& machine;                  ///< whose roofs
  const PredictionFacts* facts = nullptr;  ///< of a prediction, where they are known
  PredictAgain predict_again = {};         ///< empty: what-ifs go row by row
  PredictAgain expect_again = {};          ///< the same of expected times
  std::vector<Change> changes = {};        ///< that a user can make, for expected times
  std::string no_prediction_reason = {};   ///< why a prediction is not made again
  /// Of a recording: what stands out in all of it (find_in_trace). Nothing: it is none.
  const std::vector<ProfileFinding>* recorded = nullptr;
};

/// A scope of reuse in words, for predictions.
struct ReuseExplanation {
  ReuseFacts facts;
  std::string text;
};

struct Explanation {
  ProfileSubject subject;
  Evidence evidence = Evidence::predicted;
  std::string machine;
  std::string machine_title;
  std::string machine_kind = {};  ///< gpu, cpu, …
  std::string strategy = {};      ///< of many devices: "dp=8,tp=8"; empty: there is one
  double time_s = 0;  ///< of the iteration: expected where it is known, else as iteration_of has it
  TimeFrom time_from = TimeFrom::rows;
  std::optional<ExpectedIteration> expected = {};
  std::optional<double> limit_s = {};     ///< beside an expected time
  std::optional<MemoryNeed> memory = {};  ///< of predictions, where the device says what it has
  std::vector<ProfileFinding> findings;   ///< those of the recording first, then out of memory,
                                          ///< then the largest gain; what is of the limit behind
                                          ///< what is expected
  std::vector<WhatIf> what_ifs;           ///< of the whole iteration, in the same order
  std::vector<ReuseExplanation> reuse;    ///< empty unless it is a prediction
  std::vector<std::string> notes;
};

/// Errors (input): the profile has no times, so nothing can be said of where they go.
Explanation explain(const ExplainInput& input);

}  // namespace strata
