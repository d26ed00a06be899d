// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recorded_step.hpp"

#include "strata/capture/made_up_trace_test.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

Profile recorded_profile_of(MadeUpTrace& made) {
  sort_by_start(made.recording);
  return profile_of(made.recording);
}

double idle_for(const Profile& profile, std::string_view cause) {
  for (const IdleShare& idle : profile.recorded->idle)
    if (idle.cause == cause) return idle.time_s;
  return 0;
}

// Two kernels of 10 µs in a step of 100 µs, and the first of the next step far behind.
TEST(RecordedStep, ItsTimeIsFromTheFirstKernelToTheLastWithItsGapsByCause) {
  MadeUpTrace made;
  for (const std::int64_t at : {0, 1'000'000}) {
    made.range({at, at + 200'000}, at == 0 ? "step 0" : "step 1", RangeKind::user);
    made.kernel({at + 10'000, at + 20'000}, {at, at + 4'000}, "a");
    made.call({at + 20'000, at + 50'000}, "cudaStreamSynchronize");
    made.kernel({at + 100'000, at + 110'000}, {at + 90'000, at + 95'000}, "b");
  }
  const Profile profile = recorded_profile_of(made);
  const IterationTime iteration = iteration_of(profile);
  EXPECT_EQ(iteration.from, TimeFrom::step);
  EXPECT_DOUBLE_EQ(iteration.time_s, 100e-6);
  EXPECT_DOUBLE_EQ(iteration.busy_s, 20e-6);
  EXPECT_DOUBLE_EQ(iteration.gaps_s, 80e-6);
  EXPECT_EQ(iteration.overlap_s, 0);
  EXPECT_DOUBLE_EQ(idle_for(profile, "sync"), 30e-6);
  EXPECT_DOUBLE_EQ(idle_for(profile, "host"), 40e-6);
  EXPECT_DOUBLE_EQ(idle_for(profile, "launch"), 10e-6);
  EXPECT_EQ(profile.recorded->idle.front().cause, "host");  // the longest first
  // 95 µs from the first launch to the end of the last, of which 30 waited for the device.
  EXPECT_DOUBLE_EQ(profile.recorded->host_s.value(), 65e-6);
  EXPECT_FALSE(profile.rows[0].step_s.has_value());
}

TEST(RecordedStep, WithoutStepsItIsTheWholeRecording) {
  MadeUpTrace made;
  made.kernel({0, 10'000}, {0, 10}, "a");
  made.kernel({50'000, 70'000}, {40'000, 40'010}, "b");
  const Profile profile = recorded_profile_of(made);
  EXPECT_EQ(iteration_of(profile).from, TimeFrom::recording);
  EXPECT_DOUBLE_EQ(iteration_of(profile).time_s, 70e-6);
}

TEST(RecordedStep, OneStepAmongOtherWorkIsTheStep) {
  MadeUpTrace made;
  made.kernel({0, 10'000}, {0, 10}, "warm up");
  made.range({50'000, 90'000}, "ProfilerStep#7", RangeKind::user);
  made.kernel({60'000, 70'000}, {55'000, 55'010}, "a");
  const Profile profile = recorded_profile_of(made);
  EXPECT_EQ(iteration_of(profile).from, TimeFrom::step);
  EXPECT_DOUBLE_EQ(iteration_of(profile).time_s, 10e-6);
  ASSERT_EQ(profile.rows.size(), 1U);
  EXPECT_EQ(make_trace_tables(made.recording).steps.median_ns, 10'000);
}

// "a" runs 40, "b" 40, of which 20 at once: each has 20 alone and half of what they share.
TEST(RecordedStep, KernelsAtTheSameTimeShareItsMoments) {
  MadeUpTrace made;
  made.kernel({0, 40'000}, {0, 10}, "a");
  made.kernel({20'000, 60'000}, {20, 30}, "b");
  made.kernel({100'000, 110'000}, {90'000, 90'010}, "c");
  const Profile profile = recorded_profile_of(made);
  const IterationTime iteration = iteration_of(profile);
  EXPECT_DOUBLE_EQ(iteration.busy_s, 90e-6);
  EXPECT_DOUBLE_EQ(iteration.overlap_s, 20e-6);
  EXPECT_DOUBLE_EQ(iteration.gaps_s, 40e-6);
  EXPECT_DOUBLE_EQ(iteration.time_s, 110e-6);
  ASSERT_EQ(profile.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(profile.rows[0].step_s.value(), 30e-6);
  EXPECT_DOUBLE_EQ(profile.rows[1].step_s.value(), 30e-6);
  EXPECT_DOUBLE_EQ(profile.rows[2].step_s.value(), 10e-6);
}

TEST(RecordedStep, RowsAndGapsAddUpToItHoweverKernelsOverlap) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    MadeUpTrace made;
    std::int64_t at = 0;
    for (int i = 0; i < 40; ++i) {
      at += static_cast<std::int64_t>(random() % 3000);
      const auto length = static_cast<std::int64_t>(1 + random() % 5000);
      made.kernel({at, at + length}, {at - 10, at - 5}, std::string(1, "abcd"[random() % 4]));
    }
    const Profile profile = recorded_profile_of(made);
    double parts_s = 0;
    for (const ProfileRow& row : profile.rows) parts_s += row.step_s.value_or(row.totals.time_s);
    EXPECT_NEAR(parts_s, profile.recorded->busy_s, 1e-12);
    for (const IdleShare& idle : profile.recorded->idle) parts_s += idle.time_s;
    EXPECT_NEAR(parts_s, iteration_of(profile).time_s, 1e-12);
  }
}

// The queue is full: a launch returns when the kernel before it is done. The host is not why.
TEST(RecordedStep, ALaunchThatWaitsForRoomInTheQueueIsNoTimeOfTheHost) {
  MadeUpTrace made;
  made.kernel({10, 1'000'000}, {0, 10}, "a");
  made.kernel({1'000'000, 2'000'000}, {20, 900'000}, "b");
  const Profile profile = recorded_profile_of(made);
  EXPECT_DOUBLE_EQ(profile.recorded->host_s.value(), 20e-9);
}

// To memory that is not pinned cudaMemcpyAsync returns when the copy is done; to pinned, at once.
TEST(RecordedStep, ACopyThatItsCallWaitsForIsNoTimeOfTheHost) {
  const auto host_s_with_call = [](TimeSpan call) {
    MadeUpTrace made;
    made.kernel({10'000, 80'000}, {0, 5'000}, "a");
    made.copy({80'000, 90'000}, call, "cudaMemcpyAsync");
    made.kernel({110'000, 120'000}, {100'000, 105'000}, "b");
    return recorded_profile_of(made).recorded->host_s.value();
  };
  EXPECT_DOUBLE_EQ(host_s_with_call({10'000, 90'000}), 25e-6);
  EXPECT_DOUBLE_EQ(host_s_with_call({10'000, 15'000}), 105e-6);
}

TEST(RecordedStep, WhatSaysNoTimesHasNone) {
  MadeUpTrace made;
  made.kernel({0, 40'000}, {0, 10}, "a");
  made.kernel({60'000, 80'000}, {50'000, 50'010}, "b");
  made.recording.process.kernels_were_serialised = true;  // to count: gaps mean nothing
  const Profile profile = recorded_profile_of(made);
  EXPECT_EQ(iteration_of(profile).from, TimeFrom::rows);
  EXPECT_DOUBLE_EQ(iteration_of(profile).time_s, 60e-6);
}

}  // namespace
}  // namespace strata
