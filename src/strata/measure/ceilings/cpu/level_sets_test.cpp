// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/level_sets.hpp"

#include "strata/measure/ceilings/cpu/memory_curves.hpp"
#include "strata/measure/ceilings/cpu/system_load.hpp"

#include <gtest/gtest.h>

namespace strata::cpu {
namespace {

constexpr std::int64_t kib = 1 << 10;
constexpr std::int64_t mib = 1 << 20;

// Sets of every level are beyond the level inside it and within the two together.
TEST(CpuLevelSets, lie_between_the_levels) {
  const std::vector<std::vector<CacheLevel>> chips = {
      {{1, 48 * kib, 2, 1}, {2, 2 * mib, 2, 1}, {3, 105 * mib, 1, 2}},
      {{1, 48 * kib, 60, 1}, {2, 2 * mib, 60, 1}, {3, 112 * mib, 1, 60}},  // L3 share below L2
      {{1, 32 * kib, 96, 1}, {2, 1 * mib, 96, 1}, {3, 32 * mib, 12, 8}},
      {{1, 64 * kib, 4, 1}, {2, 512 * kib, 1, 4}},
  };
  for (const auto& caches : chips) {
    for (const int threads : {1, 2, 8, 60}) {
      for (std::size_t i = 0; i < caches.size(); ++i) {
        const std::int64_t share = share_of_core(caches[i], threads);
        const std::int64_t inside = i == 0 ? 0 : share_of_core(caches[i - 1], threads);
        const auto sets = sets_for_level(caches, i, threads);
        ASSERT_FALSE(sets.empty());
        for (const std::int64_t set : sets) {
          EXPECT_GT(set, inside);
          EXPECT_LT(set, share + inside);
        }
      }
    }
  }
}

TEST(CpuLevelSets, a_cache_is_shared_by_those_who_work) {
  const CacheLevel l3{3, 96 * mib, 2, 8};
  EXPECT_EQ(share_of_core(l3, 16), 12 * mib);
  EXPECT_EQ(share_of_core(l3, 4), 24 * mib);
  EXPECT_EQ(share_of_core(l3, 1), 96 * mib);
}

TEST(CpuLevelSets, outer_arrays_are_beyond_all_caches_and_within_memory) {
  const std::vector<CacheLevel> caches = {{1, 32 * kib, 16, 1}, {3, 32 * mib, 2, 8}};
  const OuterArrays plenty = outer_arrays(caches, 16, 12, std::int64_t{64} << 30);
  EXPECT_EQ(plenty.bytes_per_thread * 16, 12 * 2 * 32 * mib);
  EXPECT_FALSE(plenty.is_too_small);
  const OuterArrays less = outer_arrays(caches, 16, 12, 600 * mib);  // 300 are still 4 times 64
  EXPECT_FALSE(less.is_too_small);
  EXPECT_EQ(less.bytes_per_thread, 300 * mib / 16);
  const OuterArrays little = outer_arrays(caches, 16, 4, 320 * mib);
  EXPECT_TRUE(little.is_too_small);
  EXPECT_EQ(little.bytes_per_thread, 10 * mib);
  EXPECT_FALSE(outer_arrays(caches, 16, 12, std::nullopt).is_too_small);
  EXPECT_EQ(outer_arrays({}, 1, 4, std::nullopt).bytes_per_thread, 192 * mib);
}

TEST(CpuLevelSets, rising_sets_are_powers_of_two) {
  EXPECT_EQ(rising_sets(5000, 40000, 2), (std::vector<std::int64_t>{8192, 16384, 32768}));
  EXPECT_EQ(rising_sets(4096, 65536, 4), (std::vector<std::int64_t>{4096, 16384, 65536}));
  EXPECT_TRUE(rising_sets(4096, 4000, 2).empty());
}

MemoryLevel level_with(std::string name, double read, double write) {
  MemoryLevel level;
  level.name = std::move(name);
  level.mixes = {{AccessMix::read, {read, "measured", Measurement{}}},
                 {AccessMix::write, {write, "measured", Measurement{}}}};
  set_envelope(level);
  return level;
}

TEST(CpuLevelSets, the_envelope_is_the_best_mix) {
  const MemoryLevel level = level_with("L1", 3e9, 5e9);
  EXPECT_EQ(level.bandwidth_bytes_per_s->value, 5e9);
  EXPECT_EQ(level.bandwidth_bytes_per_s->evidence->notes.front(),
            "the best of its access mixes: write");
}

TEST(CpuLevelSets, what_cannot_be_is_left_out_and_said) {
  std::vector<MemoryLevel> levels = {level_with("L1", 9e9, 8e9), level_with("L2", 1e9, 2e9),
                                     level_with("L3", 4e9, 3e9), level_with("DRAM", 2e9, 1e9)};
  const auto said = drop_disturbed_levels(levels);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0],
            "L2 came out slower (2.000 GB/s) than L3 (4.000 GB/s), which cannot be: its bandwidth "
            "is left out; measure again when nothing else runs");
  EXPECT_FALSE(levels[1].bandwidth_bytes_per_s);
  EXPECT_TRUE(levels[1].mixes.empty());
  EXPECT_TRUE(drop_disturbed_levels(levels).empty());
}

TEST(CpuNodes, readers_take_the_memory_of_the_other_node_in_turn) {
  const std::vector<int> processors = {0, 1, 2, 8, 9};
  const NumaNode first{0, {0, 1, 2}, 0}, second{1, {8, 9, 10}, 0}, empty{2, {}, 0};
  EXPECT_EQ(owners_across_nodes(processors, first, second), (std::vector<int>{3, 4, 3, -1, -1}));
  EXPECT_EQ(owners_across_nodes(processors, second, first), (std::vector<int>{-1, -1, -1, 0, 1}));
  EXPECT_EQ(owners_across_nodes(processors, first, first), (std::vector<int>{0, 1, 2, -1, -1}));
  EXPECT_EQ(owners_across_nodes(processors, first, empty), std::vector<int>(5, -1));
}

TEST(CpuSystemLoad, times_of_our_processors_only) {
  const std::vector<std::string> stat = {
      "cpu  99 99 99 99 99 99 99 99 0 0", "cpu0 100 20 30 1000 50 5 5 40 7 7",
      "cpu1 1 1 1 1 1 1 1 1 0 0", "cpu10 200 0 0 0 0 0 0 0 0 0", "intr 5"};
  const std::vector<int> ours = {0, 10};
  const ProcessorTimes times = processor_times(stat, ours, 100);
  EXPECT_DOUBLE_EQ(times.busy_s, 3.6);
  EXPECT_DOUBLE_EQ(times.idle_s, 10.5);
  EXPECT_DOUBLE_EQ(times.stolen_s, 0.4);
}

TEST(CpuSystemLoad, a_busy_machine_is_warned_of) {
  const SystemLoad before{{.busy_s = 10, .idle_s = 10, .stolen_s = 0}, 1.0, 2.5};
  SystemLoad after{{.busy_s = 14, .idle_s = 16, .stolen_s = 0}, 5.0, 2.5};
  Disturbance found = disturbance_between(before, after);  // 4 s, all of them our own
  EXPECT_TRUE(found.warnings.empty());
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_EQ(found.notes[0], "load average before: 2.50");
  EXPECT_EQ(found.notes[1], "others had 0.0 % of the processors' time, 0.0 % stolen");
  after.times = {.busy_s = 16, .idle_s = 13, .stolen_s = 1};
  found = disturbance_between(before, after);
  ASSERT_EQ(found.warnings.size(), 2U);
  EXPECT_NE(found.warnings[0].find("other programs had 20 %"), std::string::npos);
  EXPECT_NE(found.warnings[1].find("the host took 10 %"), std::string::npos);
  EXPECT_DOUBLE_EQ(others_share(before, after).value(), 0.3);
  EXPECT_TRUE(disturbance_between({}, {}).warnings.empty());  // no /proc/stat
  EXPECT_FALSE(others_share({}, {}));
}

}  // namespace
}  // namespace strata::cpu
