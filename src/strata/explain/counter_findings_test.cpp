// SPDX-License-Identifier: Apache-2.0
#include "strata/explain/explain.hpp"
#include "strata/explain/small_case_test.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

namespace strata {
namespace {

using test::explained;
using test::HandRow;
using test::measured_profile;
using test::to_row;
using test::with_code;

using RowCounters = std::map<std::string, double, std::less<>>;

/// Fractions unless the name says bytes or FLOP.
std::string unit_of(std::string_view key) {
  if (key.ends_with("_bytes")) return "bytes";
  return key.ends_with("_flop") ? "flop" : "fraction";
}

/// Rows with counters by name; a column is there when any row has it.
Profile counted_profile(std::vector<std::pair<HandRow, RowCounters>> given) {
  std::vector<ProfileRow> rows;
  RowCounters keys;
  for (const auto& [hand, counters] : given) {
    rows.push_back(to_row(hand));
    keys.insert(counters.begin(), counters.end());
  }
  Profile profile = measured_profile(std::move(rows));
  for (const auto& [key, value] : keys)
    profile.counters.columns.push_back({key, unit_of(key), "about " + key});
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (const CounterColumn& column : profile.counters.columns) {
      const auto found = given[i].second.find(column.key);
      profile.rows[i].counters.push_back(
          found == given[i].second.end() ? std::nullopt : std::optional(found->second));
    }
  }
  return profile;
}

ProfileFinding only(const Profile& profile, FindingCode code) {
  const auto found = with_code(explained(profile), code);
  EXPECT_EQ(found.size(), 1U) << kind_of(code).name;
  return found.empty() ? ProfileFinding{} : found[0];
}

bool has(const Profile& profile, FindingCode code) {
  return !with_code(explained(profile), code).empty();
}

double evidence_of(const ProfileFinding& finding, std::string_view what) {
  for (const EvidenceNumber& number : finding.evidence) {
    if (number.what == what) return number.value;
  }
  ADD_FAILURE() << "no evidence '" << what << "'";
  return -1;
}

bool says(const ProfileFinding& finding, std::string_view part) {
  return finding.what.find(part) != std::string::npos;
}

HandRow slow_row(std::string layer, double time_s) {
  return {.layer = std::move(layer), .op = "conv", .is_dense = true, .time_s = time_s};
}

TEST(CounterFindings, a_profile_without_counters_has_none) {
  const Explanation answer = explained(measured_profile({to_row(slow_row("a", 10))}));
  for (const FindingCode code :
       {FindingCode::warp_stalls, FindingCode::cache_hits, FindingCode::interconnect_bound,
        FindingCode::extra_traffic, FindingCode::other_algorithm, FindingCode::low_occupancy,
        FindingCode::few_blocks, FindingCode::uncoalesced})
    EXPECT_TRUE(with_code(answer, code).empty()) << kind_of(code).name;
}

// a waits 6 s × 0.5 + b 2 s × 0.1 = 3.2 s for shared memory; for data 6 × 0.1 + 2 × 0.8 = 2.2 s.
TEST(CounterFindings, the_main_stall_reason_is_that_of_the_most_time) {
  const RowCounters a = {{"stall_short_scoreboard", 0.5},
                         {"stall_long_scoreboard", 0.1},
                         {"stall_selected", 0.2},
                         {"stall_not_selected", 0.9},
                         {"stall_data_access", 0.95}};
  const RowCounters b = {{"stall_short_scoreboard", 0.1}, {"stall_long_scoreboard", 0.8}};
  const ProfileFinding finding = only(
      counted_profile({{slow_row("a", 6), a}, {slow_row("b", 2), b}}), FindingCode::warp_stalls);
  EXPECT_EQ(finding.subject, "short_scoreboard");
  EXPECT_DOUBLE_EQ(finding.cost_s, 3.2);
  EXPECT_TRUE(says(finding, "warps spend 40 % of the time about stall_short_scoreboard"))
      << finding.what;
  EXPECT_TRUE(says(finding, "most in a forward 50 %, b forward 10 %")) << finding.what;
  EXPECT_DOUBLE_EQ(evidence_of(finding, "long_scoreboard"), 2.2 / 8);
  EXPECT_DOUBLE_EQ(evidence_of(finding, "of the waiting, for data"), 0.95);
  // Each of the slowest rows has its own reason beside it.
  EXPECT_DOUBLE_EQ(evidence_of(finding, "a forward: short_scoreboard"), 0.5);
  EXPECT_DOUBLE_EQ(evidence_of(finding, "b forward: long_scoreboard"), 0.8);
  EXPECT_NE(finding.advice.find("shared memory"), std::string::npos);
}

TEST(CounterFindings, short_waiting_is_no_finding) {
  EXPECT_FALSE(has(counted_profile({{slow_row("a", 10), {{"stall_wait", 0.04}}}}),
                   FindingCode::warp_stalls));
  EXPECT_TRUE(has(counted_profile({{slow_row("a", 10), {{"stall_wait", 0.06}}}}),
                  FindingCode::warp_stalls));
}

TEST(CounterFindings, three_rows_are_named_and_the_others_counted) {
  std::vector<std::pair<HandRow, RowCounters>> rows;
  for (const char* layer : {"a", "b", "c", "d", "e"})
    rows.emplace_back(slow_row(layer, 1), RowCounters{{"stall_barrier", 0.3}});
  const ProfileFinding finding = only(counted_profile(rows), FindingCode::warp_stalls);
  EXPECT_TRUE(finding.what.ends_with("most in a forward 30 %, b forward 30 %, c forward 30 %"))
      << finding.what;
  for (auto& [row, counters] : rows) counters = {{"gld_efficiency", 0.3}};
  EXPECT_TRUE(says(only(counted_profile(rows), FindingCode::uncoalesced), "and 2 more"));
}

TEST(CounterFindings, hit_rates_say_where_loads_find_their_data) {
  const auto with_rates = [](double l1, double l2) {
    return counted_profile({{slow_row("a", 9),
                             {{"l1_load_hit_rate", l1},
                              {"l2_read_hit_rate", l2},
                              {"crossbar_read_bytes", 50},
                              {"crossbar_write_bytes", 10},
                              {"dram_read_bytes", 4},
                              {"dram_write_bytes", 1}}},
                            {slow_row("b", 1), {{"l1_load_hit_rate", 0.9}}}});
  };
  const ProfileFinding fits_l2 = only(with_rates(0.1, 0.9), FindingCode::cache_hits);
  EXPECT_TRUE(says(fits_l2,
                   "miss L1 and hit L2 in 1 row, 90 % of the iteration: the working set "
                   "fits L2, but not L1"))
      << fits_l2.what;
  EXPECT_DOUBLE_EQ(fits_l2.cost_s, 9);
  EXPECT_DOUBLE_EQ(evidence_of(fits_l2, "L2 read hits"), 0.9);
  EXPECT_DOUBLE_EQ(evidence_of(fits_l2, "between L1 and L2"), 60);
  EXPECT_DOUBLE_EQ(evidence_of(fits_l2, "of DRAM"), 5);
  const ProfileFinding from_dram = only(with_rates(0.1, 0.2), FindingCode::cache_hits);
  EXPECT_TRUE(says(from_dram, "miss both L1 and L2")) << from_dram.what;
  EXPECT_TRUE(says(from_dram, "a forward 20 %")) << from_dram.what;
  const ProfileFinding near = only(with_rates(0.6, 0.2), FindingCode::cache_hits);
  EXPECT_TRUE(says(near, "most loads hit L1 in 2 rows")) << near.what;
  EXPECT_EQ(near.cost_s, 0);
  EXPECT_FALSE(has(counted_profile({{slow_row("a", 9), {{"l1_load_hit_rate", 0.1}}}}),
                   FindingCode::cache_hits));  // what L2 does is not known
}

// DRAM 10 bytes/s; L2 gets 100 bytes/s here. 700 bytes in 10 s are 70 % of it.
TEST(CounterFindings, the_interconnect_is_the_limit_where_it_is_busier_than_dram) {
  const auto codes_with = [](double crossbar, double dram, bool says_bandwidth) {
    const Profile profile = counted_profile({{slow_row("a", 10),
                                              {{"crossbar_read_bytes", crossbar},
                                               {"crossbar_write_bytes", 0},
                                               {"dram_read_bytes", dram},
                                               {"dram_write_bytes", 0}}}});
    Machine machine = test::hand_machine();
    if (says_bandwidth) machine.memory[0].bandwidth_bytes_per_s = Sourced{100, "test"};
    return with_code(explain({.profile = profile, .machine = machine}),
                     FindingCode::interconnect_bound);
  };
  const auto found = codes_with(700, 20, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(says(found[0], "a forward 70 %")) << found[0].what;
  EXPECT_EQ(evidence_of(found[0], "of DRAM"), 20);
  EXPECT_TRUE(codes_with(590, 20, true).empty());
  EXPECT_TRUE(codes_with(700, 80, true).empty());  // DRAM has 80 %
  EXPECT_TRUE(codes_with(700, 20, false).empty());
}

// By definition 1 byte and 10 FLOP; counted 40 bytes, which take 4 s of 8; 10 FLOP take 0.1 s.
TEST(CounterFindings, more_bytes_than_the_tensors_have_cost_their_part_of_the_time) {
  const auto with_bytes = [](double bytes) {
    return counted_profile(
        {{slow_row("a", 8),
          {{"dram_read_bytes", bytes}, {"dram_write_bytes", 0}, {"fp32_flop", 10}}}});
  };
  const ProfileFinding finding = only(with_bytes(40), FindingCode::extra_traffic);
  EXPECT_DOUBLE_EQ(finding.cost_s, 8 * (1 - 0.1 / 4));  // the FLOP are the roof without the bytes
  EXPECT_TRUE(says(finding, "1 row moves 40.0 times the bytes of its tensors")) << finding.what;
  EXPECT_TRUE(says(finding, "a forward 40.0×")) << finding.what;
  EXPECT_EQ(evidence_of(finding, "rows by another algorithm"), 0);
  ASSERT_EQ(finding.what_ifs.size(), 1U);
  EXPECT_FALSE(has(with_bytes(1.4), FindingCode::extra_traffic));
}

TEST(CounterFindings, arithmetic_far_below_the_definition_is_another_algorithm) {
  const auto with_flop = [](double flop) {
    HandRow row = slow_row("a", 8);
    row.flop = 900;
    return counted_profile(
        {{row, {{"dram_read_bytes", 40}, {"dram_write_bytes", 0}, {"fma_pipe_flop", flop}}}});
  };
  Profile by_fft = with_flop(300);
  by_fft.rows[0].implementation = "engine 50: fft";
  const ProfileFinding finding = only(by_fft, FindingCode::other_algorithm);
  EXPECT_TRUE(says(finding, "a forward 0.33× (engine 50: fft)")) << finding.what;
  EXPECT_EQ(finding.cost_s, 0);
  EXPECT_EQ(evidence_of(finding, "FLOP counted"), 300);
  EXPECT_EQ(evidence_of(only(by_fft, FindingCode::extra_traffic), "rows by another algorithm"), 1);
  EXPECT_FALSE(has(with_flop(700), FindingCode::other_algorithm));
  EXPECT_FALSE(has(with_flop(2000), FindingCode::other_algorithm));
}

// The roof is 0.1 s: 8 s are far from it, 0.14 s are not.
TEST(CounterFindings, low_occupancy_counts_far_from_the_roof_and_where_there_are_blocks) {
  const auto with = [](double time_s, double occupancy, double active) {
    return counted_profile(
        {{slow_row("a", time_s), {{"occupancy", occupancy}, {"sm_active", active}}}});
  };
  const ProfileFinding finding = only(with(8, 0.2, 0.9), FindingCode::low_occupancy);
  EXPECT_TRUE(says(finding, "registers, shared memory or the size of the block limit them"));
  EXPECT_TRUE(says(finding, "a forward 20 %")) << finding.what;
  EXPECT_DOUBLE_EQ(evidence_of(finding, "cycles with work"), 0.9);
  const ProfileFinding traced = only(counted_profile({{slow_row("a", 8),
                                                       {{"occupancy", 0.2},
                                                        {"possible_occupancy", 0.25},
                                                        {"limited_by_registers", 0.2},
                                                        {"limited_by_shared_memory", 0.7},
                                                        {"limited_by_block_size", 0}}}}),
                                     FindingCode::low_occupancy);
  EXPECT_TRUE(says(traced, "shared memory in 70 % of their time, registers in 20 % limit them"))
      << traced.what;
  EXPECT_DOUBLE_EQ(evidence_of(traced, "occupancy that the launches allow"), 0.25);
  EXPECT_FALSE(has(with(8, 0.3, 0.9), FindingCode::low_occupancy));
  EXPECT_FALSE(has(with(0.14, 0.2, 0.9), FindingCode::low_occupancy));
  EXPECT_FALSE(has(with(8, 0.2, 0.4), FindingCode::low_occupancy));
  const ProfileFinding few = only(with(8, 0.2, 0.4), FindingCode::few_blocks);
  EXPECT_DOUBLE_EQ(few.cost_s, 8 * 0.6);
  EXPECT_FALSE(has(with(8, 0.2, 0.6), FindingCode::few_blocks));
}

TEST(CounterFindings, accesses_that_use_less_than_half_cost_what_they_waste) {
  const std::pair<const char*, FindingCode> columns[] = {
      {"gld_efficiency", FindingCode::uncoalesced},
      {"gst_efficiency", FindingCode::uncoalesced},
      {"shared_efficiency", FindingCode::bank_conflicts},
      {"warp_execution_efficiency", FindingCode::divergence}};
  for (const auto& [key, code] : columns) {
    const ProfileFinding finding = only(
        counted_profile({{slow_row("a", 8), {{key, 0.25}}}, {slow_row("b", 2), {{key, 1}}}}), code);
    EXPECT_DOUBLE_EQ(finding.cost_s, 6) << key;
    EXPECT_TRUE(says(finding, "in 1 row: a forward 25 %")) << finding.what;
    EXPECT_DOUBLE_EQ(evidence_of(finding, key), 0.25);
    EXPECT_FALSE(has(counted_profile({{slow_row("a", 8), {{key, 0.5}}}}), code)) << key;
  }
}

TEST(CounterFindings, are_sorted_by_their_time_behind_those_that_save_some) {
  const Profile profile = counted_profile(
      {{slow_row("a", 8),
        {{"stall_barrier", 0.3}, {"gld_efficiency", 0.1}, {"l1_load_hit_rate", 0.9}}}});
  std::vector<FindingCode> order;
  for (const ProfileFinding& finding : explained(profile).findings) {
    if (finding.code == FindingCode::warp_stalls || finding.code == FindingCode::uncoalesced ||
        finding.code == FindingCode::cache_hits)
      order.push_back(finding.code);
  }
  EXPECT_EQ(order, (std::vector{FindingCode::uncoalesced, FindingCode::warp_stalls,
                                FindingCode::cache_hits}));
}

}  // namespace
}  // namespace strata
