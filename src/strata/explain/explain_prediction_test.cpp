// SPDX-License-Identifier: Apache-2.0
// What explain says of predictions: by hand, and against predictions made again.
#include "strata/base/error.hpp"
#include "strata/explain/small_case_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using test::explained;
using test::to_row;
using test::with_code;

PredictionFacts hand_facts() {
  return {.refetch_bytes = 50,
          .capacity_bytes = 64,
          .bytes_per_s = 10,
          .minimum_bytes = 80,
          .minimum_step = "fc forward",
          .bound_s = 90,
          .reuse = {{"adjacent", 1000, 400, 32, 96, 128}, {"block", 500, 500, 10, 20, 30}},
          .stalls = {{"w1", "weight", 30, 2}, {"x1", "feature", 1, 1}}};
}

Profile hand_prediction() {
  ProfileRow row = to_row({.op = "conv", .is_dense = true, .time_s = 98, .flop = 400, .bytes = 20});
  row.totals.compute_s = 60;
  row.totals.stall_s = 38;
  Profile profile = test::measured_profile({row});
  profile.evidence = Evidence::predicted;
  profile.iteration_s = 100;
  profile.drain_s = 2;
  return profile;
}

TEST(ExplainPrediction, its_own_facts_become_findings) {
  const PredictionFacts facts = hand_facts();
  std::vector<Change> asked;
  const auto again = [&](std::span<const Change> changes) {
    asked.assign(changes.begin(), changes.end());
    std::vector<ChangeAnswer> answers;
    for (const Change& change : changes) {
      const auto* capacity = std::get_if<CapacityOf>(&change);
      answers.push_back(capacity != nullptr
                            ? ChangeAnswer{100 - 0.1 * static_cast<double>(capacity->bytes), {}}
                            : ChangeAnswer{{}, "not here"});
    }
    return answers;
  };
  const Explanation answer = explained(hand_prediction(), &facts, again);
  EXPECT_EQ(answer.time_s, 100);

  const auto stalls = with_code(answer, FindingCode::stall_on_value);
  ASSERT_EQ(stalls.size(), 1U);  // the other is below 2 %
  EXPECT_EQ(stalls[0].subject, "w1");
  EXPECT_EQ(*stalls[0].what_ifs[0].time_s, 70);

  const auto scopes = with_code(answer, FindingCode::capacity_below_scope);
  ASSERT_EQ(scopes.size(), 1U);  // all of the other is captured
  EXPECT_NEAR(*scopes[0].what_ifs[0].time_s, 100 - 12.8, 1e-9);
  EXPECT_NEAR(*scopes[0].what_ifs[1].time_s, 100 - 9.6, 1e-9);
  EXPECT_NEAR(scopes[0].cost_s, 12.8, 1e-9);
  EXPECT_EQ(scopes[0].what_ifs[0].basis, Basis::predicted_again);

  const auto sliced = with_code(answer, FindingCode::sliced_weights);
  ASSERT_EQ(sliced.size(), 1U);
  EXPECT_EQ(sliced[0].cost_s, 5);
  EXPECT_EQ(sliced[0].subject, "fc forward");
  ASSERT_EQ(with_code(answer, FindingCode::far_from_bound).size(), 1U);
  EXPECT_EQ(with_code(answer, FindingCode::far_from_bound)[0].cost_s, 10);
  EXPECT_EQ(with_code(answer, FindingCode::memory_bound)[0].cost_s, 38);  // its stall, as it says
  EXPECT_EQ(with_code(answer, FindingCode::prediction_limit).size(), 1U);

  // Each change is asked once, however many findings want it.
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(asked[i] == asked[k]) << text_of(asked[i]);
  }
  ASSERT_EQ(answer.reuse.size(), 2U);
  EXPECT_NE(answer.reuse[0].text.find("40 %"), std::string::npos) << answer.reuse[0].text;
  EXPECT_NE(answer.reuse[0].text.find("90 % needs 32 B more, all needs 64 B more"),
            std::string::npos)
      << answer.reuse[0].text;
  EXPECT_NE(answer.reuse[1].text.find("all of it"), std::string::npos) << answer.reuse[1].text;
}

TEST(ExplainPrediction, what_is_captured_already_is_not_asked_for) {
  PredictionFacts facts = hand_facts();
  facts.reuse = {
      {"adjacent", 1000, 800, 96, 112, 128}};  // half of it would need more, but is there
  const Explanation answer = explained(hand_prediction(), &facts, [](auto changes) {
    return std::vector<ChangeAnswer>(changes.size(), {50, {}});
  });
  EXPECT_EQ(answer.reuse.at(0).text.find("half"), std::string::npos) << answer.reuse[0].text;
  const auto scopes = with_code(answer, FindingCode::capacity_below_scope);
  ASSERT_EQ(scopes.size(), 1U);
  EXPECT_EQ(std::get<CapacityOf>(scopes[0].what_ifs.at(0).change).bytes, 112);
  EXPECT_EQ(std::get<CapacityOf>(scopes[0].what_ifs.at(1).change).bytes, 128);
}

// Adjacent reuse is complete at 200 B, forward to backward at 1000 B: what 1000 B save is mostly
// what 200 B save already.
TEST(ExplainPrediction, a_scope_states_its_own_part) {
  PredictionFacts facts = hand_facts();
  facts.reuse = {{"forward-backward", 1000, 10, 500, 900, 1000},
                 {"adjacent", 1000, 400, 150, 180, 200}};
  const Explanation answer = explained(hand_prediction(), &facts, [](auto changes) {
    std::vector<ChangeAnswer> answers;
    for (const Change& change : changes) {
      const auto* capacity = std::get_if<CapacityOf>(&change);
      const bool is_small = capacity == nullptr || capacity->bytes < 200;
      answers.push_back({is_small ? 90.0 : capacity->bytes < 500 ? 60.0 : 58.0, {}});
    }
    return answers;
  });
  const auto scopes = with_code(answer, FindingCode::capacity_below_scope);
  ASSERT_EQ(scopes.size(), 2U);
  const bool is_first = scopes[0].subject == "adjacent layers";
  const ProfileFinding& adjacent = scopes[is_first ? 0 : 1];
  const ProfileFinding& saved = scopes[is_first ? 1 : 0];
  EXPECT_EQ(adjacent.cost_s, 40);  // 100 → 60
  EXPECT_EQ(saved.cost_s, 2);      // 60 → 58, not 100 → 58
  EXPECT_EQ(text_of(saved.what_ifs.at(0)), "500 B on-chip instead of 200 B on-chip");
}

// Half of the blocks' reuse would fit at 120 B, but adjacent reuse is complete at 200 B only: up to
// there nobody can tell whose gain it is.
TEST(ExplainPrediction, a_scope_is_not_charged_with_what_a_nearer_one_gains) {
  PredictionFacts facts = hand_facts();
  facts.reuse = {{"adjacent", 1000, 400, 150, 180, 200}, {"block", 1000, 10, 120, 250, 300}};
  const Explanation answer = explained(hand_prediction(), &facts, [](auto changes) {
    std::vector<ChangeAnswer> answers;
    for (const Change& change : changes) {
      const auto* capacity = std::get_if<CapacityOf>(&change);
      const bool is_small = capacity == nullptr || capacity->bytes < 200;
      answers.push_back({is_small ? 90.0 : capacity->bytes < 300 ? 60.0 : 55.0, {}});
    }
    return answers;
  });
  for (const ProfileFinding& scope : with_code(answer, FindingCode::capacity_below_scope)) {
    if (scope.subject == "adjacent layers") {
      EXPECT_EQ(scope.cost_s, 40);  // 100 → 60
      continue;
    }
    EXPECT_EQ(scope.cost_s, 5);            // 60 → 55
    EXPECT_EQ(scope.what_ifs.size(), 2U);  // 250 B and 300 B, not 120 B
    for (const WhatIf& what_if : scope.what_ifs)
      EXPECT_TRUE(text_of(what_if).ends_with("instead of 200 B on-chip")) << text_of(what_if);
  }
}

TEST(ExplainPrediction, what_nobody_predicts_again_has_a_reason) {
  const PredictionFacts facts = hand_facts();
  const Machine machine = test::hand_machine();
  const Profile profile = hand_prediction();
  const Explanation answer = explain({.profile = profile,
                                      .machine = machine,
                                      .facts = &facts,
                                      .no_prediction_reason = "the model is gone"});
  for (const WhatIf& what_if : answer.what_ifs) {
    const bool is_known = !std::holds_alternative<CapacityOf>(what_if.change) &&
                          !std::holds_alternative<BatchTimes>(what_if.change);
    EXPECT_EQ(what_if.time_s.has_value(), is_known) << text_of(what_if.change);
    EXPECT_EQ(what_if.reason, is_known ? "" : "the model is gone");
  }
  // A finding that costs what it would gain is not made up.
  EXPECT_TRUE(with_code(answer, FindingCode::capacity_below_scope).empty());
}

TEST(ExplainPrediction, a_file_that_is_no_prediction_has_no_facts_and_a_bad_one_is_refused) {
  EXPECT_FALSE(recorded_prediction(R"({"schema_version":1,"kind":"profile"})"));
  const auto refusal = [](std::string_view text) -> std::string {
    try {
      recorded_prediction(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refusal("{").find("not a JSON document"), std::string::npos);
  EXPECT_NE(refusal(R"({"kind":"prediction","totals":{"time_s":1,"refetch_bytes":-1}})")
                .find("totals.refetch_bytes: expected a whole number"),
            std::string::npos);
}

}  // namespace
}  // namespace strata
