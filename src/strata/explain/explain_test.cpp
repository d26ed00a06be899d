// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain.hpp"

#include "strata/base/error.hpp"
#include "strata/explain/row_times.hpp"
#include "strata/explain/small_case_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <set>

namespace strata {
namespace {

namespace fs = std::filesystem;
using test::explained;
using test::HandRow;
using test::measured_profile;
using test::to_row;
using test::with_code;

TEST(Explain, every_code_has_a_page_and_every_page_a_code) {
  std::set<std::string> codes;
  for (const FindingKind& kind : finding_kinds()) {
    EXPECT_EQ(&kind_of(kind.code), &kind);
    EXPECT_TRUE(codes.emplace(kind.name).second) << kind.name;
  }
  std::set<std::string> pages;
  for (const auto& entry : fs::directory_iterator(fs::path(STRATA_SOURCE_DIR) / "docs/findings"))
    pages.insert(entry.path().stem().string());
  EXPECT_EQ(codes, pages);
}

// relu: F/P = 0.1 s, B/W = 6 s, T = 8 s: memory-bound, not far from its roof; its arithmetic alone
// takes 0.13 s at that distance, but starting it 0.5 s.
TEST(Explain, a_memory_bound_operator_by_hand) {
  const Profile profile = measured_profile(
      {to_row({.layer = "a", .op = "relu", .time_s = 8, .flop = 10, .bytes = 60}),
       to_row({.layer = "b", .op = "conv", .is_dense = true, .time_s = 12, .flop = 1200})});
  const Explanation answer = explained(profile);
  EXPECT_DOUBLE_EQ(answer.time_s, 20);
  const auto found = with_code(answer, FindingCode::memory_bound);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "relu");
  EXPECT_DOUBLE_EQ(found[0].cost_s, 7.5);
  EXPECT_DOUBLE_EQ(found[0].cost_share, 7.5 / 20);
  ASSERT_EQ(found[0].what_ifs.size(), 1U);
  EXPECT_DOUBLE_EQ(*found[0].what_ifs[0].time_s, 12.5);
  EXPECT_DOUBLE_EQ(found[0].what_ifs[0].gain_share(), 7.5 / 20);
}

TEST(Explain, a_measured_layer_under_its_launches_is_not_memorys) {
  const Profile profile =
      measured_profile({to_row({.op = "relu", .time_s = 1, .flop = 1, .bytes = 5, .launches = 4})});
  EXPECT_TRUE(with_code(explained(profile), FindingCode::memory_bound).empty());
}

TEST(Explain, launches_cost_what_exceeds_their_kernels) {
  // 4 launches of 0.5 s for 1 s of kernels, and one row that is longer than its launch.
  const Profile profile = measured_profile(
      {to_row({.layer = "a", .time_s = 1, .flop = 50, .bytes = 1, .launches = 4}),
       to_row({.layer = "b", .time_s = 3, .flop = 200, .bytes = 1, .launches = 1})});
  const auto found = with_code(explained(profile), FindingCode::launch_bound);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 1);
  EXPECT_TRUE(found[0].is_cost_on_top);
  ASSERT_EQ(found[0].what_ifs.size(), 2U);
  for (const WhatIf& what_if : found[0].what_ifs) {  // 4 × 0.1 s and 1 × 0.5 s hide behind 1 s
    EXPECT_DOUBLE_EQ(what_if.base_s, 5);
    EXPECT_DOUBLE_EQ(*what_if.time_s, 4);
  }
}

TEST(Explain, gaps_between_kernels_are_wall_time_less_kernels) {
  ProfileRow row = to_row({.time_s = 4, .flop = 400, .bytes = 1});
  row.wall_s = 5;
  const Explanation answer = explained(measured_profile({row, row}));
  EXPECT_DOUBLE_EQ(answer.time_s, 10);
  const auto found = with_code(answer, FindingCode::between_kernels);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 2);
  EXPECT_DOUBLE_EQ(*found[0].what_ifs[0].time_s, 8);
}

// Marks between layers cost something, so that the iteration without them has shorter gaps.
TEST(Explain, the_iteration_is_the_one_that_the_profile_says) {
  ProfileRow row = to_row({.time_s = 4, .flop = 400, .bytes = 1});
  row.wall_s = 5;
  Profile profile = measured_profile({row, row});
  profile.iteration_s = 9;
  profile.iteration_from = TimeFrom::whole_iterations;
  const Explanation answer = explained(profile);
  EXPECT_DOUBLE_EQ(answer.time_s, 9);
  const auto found = with_code(answer, FindingCode::between_kernels);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 1);
  EXPECT_DOUBLE_EQ(found[0].cost_share, 1.0 / 9);
  const auto says_added = [](const Explanation& of) {
    return std::any_of(of.notes.begin(), of.notes.end(), [](const std::string& note) {
      return note.find("rows are added up") != note.npos;
    });
  };
  EXPECT_FALSE(says_added(answer));
  profile.iteration_s.reset();
  EXPECT_TRUE(says_added(explained(profile)));
}

TEST(Explain, low_utilisation_is_the_time_above_the_peak) {
  // 400 FLOP take 4 s at the peak and took 10.
  const Profile profile = measured_profile(
      {to_row({.op = "conv", .is_dense = true, .time_s = 10, .flop = 400, .bytes = 1})});
  const auto found = with_code(explained(profile), FindingCode::low_utilisation);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 6);
  EXPECT_DOUBLE_EQ(*found[0].what_ifs[0].time_s, 4);
}

// 20 bytes take 2 s at the bandwidth: the row that took 2.5 waits for memory, the one that took 7
// mostly does not.
TEST(Explain, low_bandwidth_is_the_time_above_that_of_the_bytes) {
  const Profile profile = measured_profile(
      {to_row({.layer = "near", .op = "pool", .time_s = 2.5, .flop = 100, .bytes = 20}),
       to_row({.layer = "far", .op = "pool", .time_s = 7, .flop = 100, .bytes = 20})});
  const Explanation answer = explained(profile);
  const auto found = with_code(answer, FindingCode::low_bandwidth);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 5);
  EXPECT_DOUBLE_EQ(*found[0].what_ifs[0].time_s, 4.5);
  EXPECT_EQ(
      found[0].what,
      "pool reaches 29 % of DRAM in 1 row where memory is the limit; worst far forward, 29 %");
  const auto waits = with_code(answer, FindingCode::memory_bound);
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_DOUBLE_EQ(waits[0].cost_s, 2.5 - 2.5 / 2);  // 1 s of arithmetic at 1.25 times the roof
}

// A machine that reads at 5 bytes/s and copies at 10: what only reads is measured by the former.
TEST(Explain, bytes_are_held_against_the_mix_that_is_like_them) {
  Machine machine = test::hand_machine();
  machine.memory.back().mixes = {{AccessMix::read, {5, "test"}}, {AccessMix::copy, {10, "test"}}};
  Profile profile = measured_profile(
      {to_row({.op = "sum", .time_s = 4, .flop = 10, .bytes = 20}),
       to_row({.layer = "b", .op = "copy", .time_s = 4, .flop = 10, .bytes = 20})});
  profile.rows[1].totals.in_bytes = profile.rows[1].totals.out_bytes = 10;
  const auto found =
      with_code(explain({.profile = profile, .machine = machine}), FindingCode::low_bandwidth);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "copy");
  EXPECT_DOUBLE_EQ(found[0].cost_s, 2);
}

TEST(Explain, time_without_arithmetic) {
  const Profile profile =
      measured_profile({to_row({.op = "copy", .time_s = 1, .flop = 0, .bytes = 10, .launches = 2}),
                        to_row({.layer = "b", .time_s = 9, .flop = 900})});
  const auto found = with_code(explained(profile), FindingCode::zero_flop);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 1);
  EXPECT_DOUBLE_EQ(found[0].cost_share, 0.1);
  EXPECT_NE(found[0].what.find("2 kernels"), std::string::npos) << found[0].what;
}

TEST(Explain, products_on_lanes_where_there_are_matrix_units) {
  // 2000 FLOP in fp16: 10 s on lanes, 2 s on matrix units; 10 bytes take 1 s.
  const Profile profile = measured_profile(
      {to_row({.op = "conv", .is_dense = true, .time_s = 20, .flop = 2000, .bytes = 10},
              DType::fp16)},
      "fp16");
  const auto found = with_code(explained(profile), FindingCode::vector_products);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 16);  // 20 s × 2/10 are left
}

TEST(Explain, products_in_a_wider_type_than_the_network) {
  const Profile profile = measured_profile(
      {to_row({.op = "conv", .is_dense = true, .time_s = 20, .flop = 1000, .bytes = 10})}, "fp16");
  const auto found = with_code(explained(profile), FindingCode::wide_products);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 18);  // from 10 s at the roof to 1 s, which the bytes take too
}

TEST(Explain, a_shorter_type_halves_bytes_and_uses_matrix_units) {
  const Profile profile = measured_profile(
      {to_row(
           {.layer = "c", .op = "conv", .is_dense = true, .time_s = 10, .flop = 1000, .bytes = 20}),
       to_row({.layer = "r", .op = "relu", .time_s = 8, .flop = 10, .bytes = 40})});
  const Explanation answer = explained(profile);
  const auto found = with_code(answer, FindingCode::wide_type);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "fp16");
  // conv: max(1 s, 1 s) of 10 s; relu: 2 s of bytes instead of 4, at twice its roof.
  EXPECT_DOUBLE_EQ(*found[0].what_ifs[0].time_s, 1 + 4);
  EXPECT_EQ(found[0].what_ifs[0].basis, Basis::row_by_row);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 13);
  EXPECT_EQ(found[0].advice.find("TF32"), std::string::npos) << "the machine has none";
  Machine machine = test::hand_machine();
  machine.peaks.push_back(machine.peaks.front());
  machine.peaks.back().dtype = DType::tf32;
  machine.peaks.back().unit = ComputeUnit::matrix;
  const Explanation with_tf32 = explain({.profile = profile, .machine = machine});
  const ProfileFinding wide = with_code(with_tf32, FindingCode::wide_type)[0];
  EXPECT_EQ(wide.advice.find("allow TF32 first"), 0U);
  ASSERT_EQ(wide.what_ifs.size(), 2U);
  EXPECT_EQ(text_of(wide.what_ifs[0].change), "tf32");  // first, although it saves less
  EXPECT_LT(wide.what_ifs[0].gain_s(), wide.what_ifs[1].gain_s());
  const auto place = [&](const char* change) {
    return std::find_if(with_tf32.what_ifs.begin(), with_tf32.what_ifs.end(),
                        [&](const WhatIf& what_if) { return text_of(what_if.change) == change; });
  };
  EXPECT_LT(place("tf32"), place("fp16"));
}

TEST(Explain, backward_is_held_against_its_arithmetic) {
  const Profile profile =
      measured_profile({to_row({.pass = "forward", .time_s = 4, .flop = 400}),
                        to_row({.pass = "backward_input", .time_s = 8, .flop = 400}),
                        to_row({.pass = "backward_weight", .time_s = 4, .flop = 400})});
  const auto found = with_code(explained(profile), FindingCode::backward_heavy);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].cost_s, 12 - 2 * 4);
}

TEST(Explain, sums_of_gradients_and_the_update_have_findings_of_their_own) {
  const Profile profile = measured_profile(
      {to_row({.layer = "a", .op = "conv", .is_dense = true, .time_s = 6, .flop = 600}),
       to_row({.layer = "a",
               .pass = "backward",
               .op = "gradient_sum",
               .time_s = 3,
               .flop = 1,
               .bytes = 30}),
       to_row(
           {.layer = "a", .pass = "update", .op = "update", .time_s = 1, .flop = 1, .bytes = 10})});
  const Explanation answer = explained(profile);
  ASSERT_EQ(with_code(answer, FindingCode::gradient_sums).size(), 1U);
  EXPECT_DOUBLE_EQ(with_code(answer, FindingCode::gradient_sums)[0].cost_s, 3);
  ASSERT_EQ(with_code(answer, FindingCode::update_share).size(), 1U);
  EXPECT_DOUBLE_EQ(with_code(answer, FindingCode::update_share)[0].cost_share, 0.1);
  EXPECT_TRUE(with_code(answer, FindingCode::memory_bound).empty());
}

TEST(Explain, one_layer_among_many) {
  std::vector<ProfileRow> rows;
  for (int i = 0; i < 9; ++i)
    rows.push_back(to_row({.layer = "l" + std::to_string(i), .time_s = 1, .flop = 100}));
  rows.push_back(to_row({.layer = "big", .time_s = 11, .flop = 1100}));
  const auto found = with_code(explained(measured_profile(rows)), FindingCode::one_layer);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].subject, "big");
  EXPECT_DOUBLE_EQ(found[0].cost_share, 11.0 / 20);
  rows.back().totals.time_s = 2;
  EXPECT_TRUE(with_code(explained(measured_profile(rows)), FindingCode::one_layer).empty());
}

TEST(Explain, rows_faster_than_the_roofs_are_named) {
  const Profile profile = measured_profile({to_row({.time_s = 1, .flop = 200, .bytes = 1})});
  const auto found = with_code(explained(profile), FindingCode::above_roof);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].evidence.back().value, 0.5);
  EXPECT_EQ(found[0].cost_s, 0);
}

TEST(Explain, rows_above_the_roofs_that_explain_themselves_are_not_named) {
  // 200 FLOP need 2 s and took 1; 10 bytes, which fit into the cache of 10, need 1 s and took 0.6.
  ProfileRow winograd = to_row({.op = "conv", .is_dense = true, .time_s = 1, .flop = 200});
  winograd.implementation = "winograd4";
  const ProfileRow cached = to_row({.op = "add", .time_s = 0.6, .flop = 1, .bytes = 10});
  EXPECT_TRUE(
      with_code(explained(measured_profile({winograd, cached})), FindingCode::above_roof).empty());
  // Winograd saves operations, not bytes; the cache holds no more than its size.
  winograd.totals.in_bytes = 20;
  const ProfileRow larger = to_row({.op = "add", .time_s = 0.6, .flop = 1, .bytes = 11});
  const auto found =
      with_code(explained(measured_profile({winograd, larger})), FindingCode::above_roof);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence.front().value, 2);
}

TEST(Explain, missing_columns_are_findings_and_missing_time_is_an_error) {
  Profile profile = measured_profile({to_row({.op = "conv", .is_dense = true, .time_s = 4})});
  profile.columns.has_bytes = false;
  profile.columns.has_launches = false;
  const Explanation answer = explained(profile);
  EXPECT_EQ(with_code(answer, FindingCode::missing_column).size(), 2U);
  EXPECT_TRUE(answer.what_ifs.empty());
  profile.columns.has_time = false;
  try {
    explained(profile);
    FAIL() << "explained without times";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("'time_s'"), std::string::npos);
  }
}

TEST(Explain, findings_are_sorted_by_gain_and_what_is_not_about_time_comes_last) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<ProfileRow> rows;
    for (int i = 0; i < 12; ++i) {
      const auto roll = [&](int most) {
        return static_cast<int>(random() % static_cast<unsigned>(most));
      };
      const char* const ops[] = {"conv", "relu", "add", "gradient_sum", "copy"};
      const char* const passes[] = {"forward", "backward", "update"};
      const int op = roll(5);
      rows.push_back(to_row({.layer = "l" + std::to_string(i),
                             .pass = passes[roll(3)],
                             .op = ops[op],
                             .is_dense = op == 0,
                             .time_s = 1.0 + roll(100),
                             .flop = op == 4 ? 0 : 1 + roll(2000),
                             .bytes = 1 + roll(200),
                             .launches = 1 + roll(20)}));
    }
    const Explanation answer = explained(measured_profile(rows));
    bool is_about_time = true;
    double last = std::numeric_limits<double>::infinity();
    for (const ProfileFinding& finding : answer.findings) {
      const bool is_now = kind_of(finding.code).is_about_time;
      EXPECT_TRUE(is_about_time || !is_now);
      if (is_now != is_about_time) last = std::numeric_limits<double>::infinity();
      is_about_time = is_now;
      EXPECT_LE(finding.gain_s(), last);
      last = finding.gain_s();
      EXPECT_FALSE(finding.what.empty());
      EXPECT_FALSE(finding.advice.empty());
      EXPECT_FALSE(finding.evidence.empty());
      for (const EvidenceNumber& number : finding.evidence)
        EXPECT_TRUE(std::isfinite(number.value)) << number.what;
      for (const WhatIf& what_if : finding.what_ifs) EXPECT_GE(what_if.gain_s(), -1e-9);
    }
  }
}

// The time-based roofline says it in another way: T' is the larger of the pair, each scaled.
TEST(Explain, twice_the_bandwidth_halves_the_bandwidth_time_of_each_row) {
  const Machine machine = test::hand_machine();
  std::mt19937 random(11);
  std::vector<ProfileRow> rows;
  for (int i = 0; i < 200; ++i) {
    rows.push_back(to_row({.time_s = 1.0 + static_cast<double>(random() % 1000),
                           .flop = 1 + static_cast<std::int64_t>(random() % 100000),
                           .bytes = 1 + static_cast<std::int64_t>(random() % 10000)}));
  }
  const Profile profile = measured_profile(rows);
  const RowTimes times(profile, machine);
  const std::vector<double> faster = times.with_machine(with_bandwidth(machine, 2));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double compute_s = static_cast<double>(rows[i].totals.flop) / 100;
    const double bytes_s = static_cast<double>(rows[i].totals.in_bytes) / 10;
    const double scale = rows[i].totals.time_s / std::max(compute_s, bytes_s);
    const double expected = scale * std::max(compute_s, bytes_s / 2);
    EXPECT_NEAR(faster[i], std::max(expected, std::min(rows[i].totals.time_s, 0.5)),
                1e-9 * rows[i].totals.time_s);
  }
}

}  // namespace
}  // namespace strata
