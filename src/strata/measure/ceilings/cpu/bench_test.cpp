// SPDX-License-Identifier: Apache-2.0
#include "strata/measure/ceilings/cpu/bench.hpp"

#include "strata/base/error.hpp"
#include "strata/cpu/allowance.hpp"
#include "strata/measure/ceilings/cpu/bandwidth_memory.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

namespace strata::cpu {
namespace {

TEST(CpuThreadTeam, every_thread_runs_on_its_processor_and_the_caller_is_free_again) {
  const std::vector<int> allowed = allowed_processors();
  {
    ThreadTeam team(allowed);
    EXPECT_EQ(team.problem(), "");
    std::vector<int> seen(allowed.size(), -1);
    team.run([&](int worker) { seen[static_cast<std::size_t>(worker)] = sched_getcpu(); });
    EXPECT_EQ(seen, allowed);
    EXPECT_GE(team.handoff_s(), 0);
  }
  EXPECT_EQ(allowed_processors(), allowed);
}

TEST(CpuThreadTeam, only_so_many_work_as_are_asked) {
  ThreadTeam team(std::vector<int>(3, allowed_processors().front()));
  for (const int active : {1, 2, 3}) {
    std::atomic<int> mask = 0;
    const ThreadTeam::Span span = team.run([&](int worker) { mask |= 1 << worker; }, active);
    EXPECT_EQ(mask, (1 << active) - 1);
    EXPECT_GE(span.seconds, 0);
  }
}

TEST(CpuThreadTeam, goes_on_where_a_processor_is_not_to_be_had) {
  ThreadTeam team(std::vector<int>{allowed_processors().front(), 60000});
  EXPECT_NE(team.problem().find("processor 60000"), std::string::npos) << team.problem();
  std::atomic<int> count = 0;
  team.run([&](int) { ++count; });
  EXPECT_EQ(count, 2);
}

TEST(CpuBench, a_rate_is_amount_over_median_with_all_samples) {
  Timing timing;
  timing.samples_s = {2, 4, 3};
  timing.clocks_hz = {1e9, 3e9, 2e9};
  timing.disturbed = 5;
  const Sourced rate = rate_of(12, timing, "how");
  EXPECT_EQ(rate.value, 4);
  EXPECT_EQ(rate.evidence->samples_s, timing.samples_s);
  EXPECT_EQ(rate.evidence->clock_hz, 2e9);
  EXPECT_EQ(rate.evidence->deviation_s, 1);
  ASSERT_EQ(rate.evidence->notes.size(), 1U);
  EXPECT_NE(rate.evidence->notes[0].find("5 more samples left out"), std::string::npos);
}

TEST(CpuBench, takes_as_many_samples_as_asked_and_counts_the_clock) {
  ThreadTeam team(std::vector<int>{allowed_processors().front()});
  const Bench bench({.is_quick = true}, team);
  std::atomic<std::int64_t> passes_made = 0;
  const Timing timing = bench.time(
      [&](int, std::int64_t passes) {
        for (std::int64_t i = 0; i < passes; ++i) ++passes_made;
      },
      1, {.samples = 4, .sample_s = 1e-4, .warm_up_s = 0});
  EXPECT_GE(timing.samples_s.size(), 3U);
  EXPECT_LE(timing.samples_s.size(), 4U);
  EXPECT_GT(passes_made, 4);
  for (const double hz : timing.clocks_hz) {
    EXPECT_GT(hz, 1e7);
    EXPECT_LT(hz, 2e10);  // more would mean that additions were left out
  }
}

TEST(CpuBandwidthMemory, plans_stay_within_the_arrays_and_come_to_every_place) {
  ThreadTeam team(std::vector<int>{allowed_processors().front()});
  const Bench bench({.is_quick = true}, team);
  BandwidthMemory memory(bench, 30 << 20);
  for (const AccessMix mix :
       {AccessMix::read, AccessMix::write, AccessMix::copy, AccessMix::triad}) {
    for (const std::int64_t set : {std::int64_t{1}, std::int64_t{5000}, std::int64_t{1} << 16,
                                   std::int64_t{7} << 20, std::int64_t{1} << 40}) {
      const BandwidthPlan plan = memory.plan(mix, Store::cached, set);
      EXPECT_GE(plan.slice, loop_granule);
      EXPECT_EQ(plan.slice % loop_granule, 0);
      EXPECT_LE(plan.doubles() * 8 * arrays_of(mix), memory.bytes());
      EXPECT_GE(plan.array_offset, plan.doubles());
      EXPECT_EQ(plan.array_offset * 8 % 64, 0);
      if (set >= 1 << 16) {
        EXPECT_LE(plan.doubles() * 8 * arrays_of(mix), set);
      }
      memory.check(bench, plan, 1);
      memory.work(plan)(0, 2 * plan.slices + 1);
    }
  }
  const BandwidthPlan whole = memory.plan(AccessMix::write, Store::cached, memory.bytes());
  EXPECT_GT(whole.slices, 1);
  EXPECT_GE(whole.doubles() * 8, memory.bytes() - whole.slices * loop_granule * 8);
}

}  // namespace
}  // namespace strata::cpu
