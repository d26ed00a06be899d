// SPDX-License-Identifier: Apache-2.0
// What explain says of expected times, by hand.
#include "strata/explain/small_case_test.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

using test::to_row;
using test::with_code;

/// A limit of 10 s that a framework is expected to take 100 s for.
Profile hand_expected(double host_s) {
  ProfileRow row = to_row({.op = "conv", .is_dense = true, .time_s = 10, .flop = 400, .bytes = 20});
  row.expected = ExpectedRow{.busy_s = 60, .kernels_s = 60, .host_s = host_s, .launches = 8};
  Profile profile = test::measured_profile({row});
  profile.evidence = Evidence::predicted;
  profile.iteration_s = 10;
  profile.iteration_from = TimeFrom::simulation;
  profile.expected = ExpectedIteration{.framework = "pytorch-eager",
                                       .calibration = "transferred",
                                       .calibrated_on = "h200",
                                       .time_s = 100,
                                       .low_s = 80,
                                       .high_s = 130,
                                       .busy_s = 60,
                                       .host_s = host_s,
                                       .arithmetic_s = 4,
                                       .samples_per_s = 2,
                                       .launches = 8,
                                       .uncovered_share = 0.25,
                                       .lost_to = {{"launches and host", 40}}};
  return profile;
}

const std::vector<Change>& hand_changes() {
  static const std::vector<Change> changes = {OptionSet{"dtype", "tf32"}, OptionSet{"amp", "fp16"},
                                              BatchOf{64}, OnMachine{"larger"}};
  return changes;
}

/// TF32 saves 10 s, autocast 40 s, the batch 50 s, the machine 90 s.
std::vector<ChangeAnswer> hand_answers(std::span<const Change> changes) {
  std::vector<ChangeAnswer> answers;
  for (const Change& change : changes) {
    const auto* option = std::get_if<OptionSet>(&change);
    if (std::holds_alternative<OnMachine>(change)) {
      answers.push_back({10, {}});
    } else if (option == nullptr) {
      answers.push_back({50, {}});
    } else {
      answers.push_back({option->name == "amp" ? 60 : 90, {}});
    }
  }
  return answers;
}

Explanation explained_expected(const Profile& profile, const PredictionFacts* facts = nullptr) {
  static const Machine machine = test::hand_machine();
  return explain({.profile = profile,
                  .machine = machine,
                  .facts = facts,
                  .expect_again = hand_answers,
                  .changes = hand_changes()});
}

TEST(ExplainExpected, costs_are_of_the_expected_time_and_the_limit_stands_beside_it) {
  const Explanation answer = explained_expected(hand_expected(30));
  EXPECT_EQ(answer.time_s, 100);
  EXPECT_EQ(answer.limit_s, 10);
  ASSERT_TRUE(answer.expected);
  EXPECT_EQ(answer.expected->low_s, 80);
  const auto slow = with_code(answer, FindingCode::low_utilisation);
  ASSERT_EQ(slow.size(), 1U);  // 400 FLOP at 100 FLOP/s take 4 s, not 60
  EXPECT_EQ(slow[0].cost_s, 56);
  EXPECT_TRUE(slow[0].is_expected);
  EXPECT_TRUE(with_code(answer, FindingCode::host_bound).empty());
  EXPECT_TRUE(with_code(answer, FindingCode::prediction_limit).empty());
  ASSERT_EQ(answer.notes.size(), 2U);
  EXPECT_NE(answer.notes[0].find("transferred from h200"), std::string::npos);
  EXPECT_NE(answer.notes[1].find("25 %"), std::string::npos);
}

TEST(ExplainExpected, what_a_user_can_change_stands_first_and_tf32_before_autocast) {
  const Explanation answer = explained_expected(hand_expected(30));
  ASSERT_FALSE(answer.findings.empty());
  const ProfileFinding& first = answer.findings.front();
  EXPECT_EQ(first.code, FindingCode::wide_type);  // 40 s, where faster kernels would save 56
  ASSERT_EQ(first.what_ifs.size(), 2U);
  EXPECT_EQ(text_of(first.what_ifs[0].change), "--dtype tf32");
  EXPECT_EQ(text_of(first.what_ifs[1].change), "--amp fp16");
  EXPECT_EQ(first.cost_s, 40);
  std::vector<std::string> changes;
  for (const WhatIf& what_if : answer.what_ifs) {
    EXPECT_TRUE(what_if.is_expected);
    EXPECT_EQ(what_if.base_s, 100);
    changes.push_back(text_of(what_if.change));
  }
  EXPECT_EQ(changes,
            (std::vector<std::string>{"batch 64", "--dtype tf32", "--amp fp16", "--on larger"}));
}

TEST(ExplainExpected, a_host_bound_iteration_says_so_first) {
  const Explanation answer = explained_expected(hand_expected(95));
  const ProfileFinding& first = answer.findings.at(0);
  EXPECT_EQ(first.code, FindingCode::host_bound);
  EXPECT_EQ(first.cost_s, 40);
  EXPECT_NE(first.what.find("a faster GPU hardly helps"), std::string::npos);
  EXPECT_NE(first.advice.find("CUDA graphs"), std::string::npos);
  ASSERT_EQ(first.what_ifs.size(), 2U);
  EXPECT_EQ(text_of(first.what_ifs[0].change), "batch 64");
  // As a graph: 60 s of kernels and 8 nodes of 0.1 s.
  EXPECT_NEAR(*first.what_ifs[1].time_s, 60.8, 1e-9);
}

TEST(ExplainExpected, out_of_memory_stands_before_everything) {
  PredictionFacts facts;
  facts.memory =
      MemoryNeed{.needed_bytes = 3000,
                 .device_bytes = 1000,
                 .largest_batch = 5,
                 .changes = {{"--recompute all", 900, true}, {"--optimizer sgd", 2500, false}}};
  const Explanation answer = explained_expected(hand_expected(95), &facts);
  const ProfileFinding& first = answer.findings.at(0);
  EXPECT_EQ(first.code, FindingCode::out_of_memory);
  EXPECT_TRUE(first.is_expected);
  EXPECT_NE(first.what.find("the largest batch that fits is 5"), std::string::npos) << first.what;
  EXPECT_EQ(first.evidence.back().value, 2500);
  EXPECT_EQ(answer.findings.at(1).code, FindingCode::host_bound);
  EXPECT_EQ(memory_changes_text(*facts.memory),
            "--recompute all needs 900 B and fits, --optimizer sgd needs 2.44 KiB");
  facts.memory->device_bytes = 3000;
  EXPECT_TRUE(
      with_code(explained_expected(hand_expected(95), &facts), FindingCode::out_of_memory).empty());
}

TEST(SortByGain, what_has_no_time_comes_last_but_other_machines_behind_it) {
  std::vector<WhatIf> what_ifs = {
      {.change = OnMachine{"m"}, .base_s = 10, .time_s = 1},
      {.change = BatchOf{4}, .base_s = 10, .time_s = {}, .reason = "out of memory"},
      {.change = BatchOf{2}, .base_s = 10, .time_s = 12}};
  sort_by_gain(what_ifs);
  EXPECT_EQ(text_of(what_ifs[0].change), "batch 2");
  EXPECT_EQ(text_of(what_ifs[1].change), "batch 4");
  EXPECT_EQ(text_of(what_ifs[2].change), "--on m");
}

TEST(WhatIfs, say_who_can_make_the_change) {
  const auto by = [](Change change) {
    return name_of(changed_by({.change = std::move(change), .time_s = {}, .reason = {}}));
  };
  EXPECT_EQ(by(OptionSet{"amp", "bf16"}), "user");
  EXPECT_EQ(by(InDType{DType::bf16}), "user");
  EXPECT_EQ(by(BatchOf{64}), "user");
  EXPECT_EQ(by(OnMachine{"b200"}), "machine");
  EXPECT_EQ(by(CapacityOf{1 << 20}), "chip");
  EXPECT_EQ(by(OptionSet{"granularity", "1MiB"}), "chip");
  EXPECT_EQ(by(Computed{"these rows ran at their roof"}), "supposed");
}

}  // namespace
}  // namespace strata
