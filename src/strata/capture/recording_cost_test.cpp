// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording_cost.hpp"

#include "strata/capture/call_budget.hpp"
#include "strata/capture/steps.hpp"
#include "strata/capture/trace_tables.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

/// Two steps of 100 kernels: a kernel of 4 µs begins every `every_ns`, each with `calls` calls.
Recording recorded_steps(std::int64_t every_ns, int calls, std::string_view format) {
  Recording recording;
  recording.process.source_format = format;
  std::int64_t now = 1'000'000;
  for (int step = 0; step < 2; ++step) {
    RangeRecord range;
    range.name = recording.names.id_of(step == 0 ? "step 1" : "step 2");
    range.time.start_ns = now - 10;
    for (int i = 0; i < 100; ++i, now += every_ns) {
      KernelRecord kernel;
      kernel.time = {now, now + 4000};
      kernel.correlation = recording.kernels.size() + 1;
      kernel.name = recording.names.id_of("kernel");
      kernel.device = 0;
      recording.kernels.push_back(kernel);
      for (int k = 0; k < calls; ++k) {
        ApiRecord call;
        call.time = {now - 5 + k, now - 4 + k};
        call.correlation = k == 0 ? kernel.correlation : 0;
        recording.calls.push_back(call);
      }
    }
    range.time.end_ns = now - 20;
    recording.ranges.push_back(range);
    now += 50'000;
  }
  sort_by_start(recording);
  return recording;
}

RecordingCost cost_of(const Recording& recording) {
  const LaunchCalls calls(recording);
  const auto cost =
      recording_cost(recording, find_steps(recording, origins_of_kernels(recording, calls)));
  EXPECT_TRUE(cost.has_value());
  return cost.value_or(RecordingCost{});
}

TEST(RecordingCost, IsAFigurePerLaunchAndCall) {
  const RecordingCost light = cost_of(recorded_steps(10'000, 0, "strata capture"));
  EXPECT_NEAR(light.per_launch.likely_s, 1.6e-6, 1e-12);
  const RecordingCost full = cost_of(recorded_steps(10'000, 12, "strata capture"));
  EXPECT_EQ(full.launches, 200);
  EXPECT_NEAR(full.per_launch.likely_s, 1.6e-6 + 12 * 0.3e-6, 1e-12);
  EXPECT_NEAR(full.in_all.likely_s, 200 * 5.2e-6, 1e-9);
  EXPECT_LT(full.per_launch.least_s, full.per_launch.likely_s);
  EXPECT_GT(full.per_launch.most_s, full.per_launch.likely_s);
}

TEST(RecordingCost, IsTakenOutOfAStepThatWaitsForTheHost) {
  const RecordingCost cost = cost_of(recorded_steps(10'000, 12, "strata capture"));
  ASSERT_TRUE(cost.step_s && cost.step_without);
  EXPECT_NEAR(*cost.step_s, 99 * 10e-6 + 4e-6, 1e-9);
  // The device waited for 6 µs before each kernel but the first: 594 of 994 µs. Recording took 520
  // µs of the host, 52.3 % of the step: between 52.3 % of the waiting and 520 µs are saved.
  EXPECT_NEAR(cost.step_without->likely_s, 994e-6 - (594e-6 * 520 / 994 + 520e-6) / 2, 1e-9);
  // Never more than the device waited.
  EXPECT_NEAR(cost.step_without->least_s, 994e-6 - 594e-6, 1e-9);
  EXPECT_NEAR(cost.step_without->most_s, 994e-6 - 594e-6 * 0.6 * 520 / 994, 1e-9);
}

TEST(RecordingCost, CostsNothingWhereTheDeviceIsBusy) {
  const RecordingCost cost = cost_of(recorded_steps(4'000, 12, "strata capture"));
  ASSERT_TRUE(cost.step_s && cost.step_without);
  EXPECT_DOUBLE_EQ(cost.step_without->likely_s, *cost.step_s);
  EXPECT_DOUBLE_EQ(cost.step_without->least_s, *cost.step_s);
}

TEST(RecordingCost, NodesOfAGraphAreOneLaunch) {
  Recording recording = recorded_steps(10'000, 0, "strata capture");
  for (KernelRecord& kernel : recording.kernels) kernel.correlation = 7;
  EXPECT_EQ(cost_of(recording).launches, 1);
}

TEST(RecordingCost, IsNotStatedOfRecordersThatNobodyMeasured) {
  const Recording recording = recorded_steps(10'000, 1, "Nsight Systems SQLite");
  EXPECT_FALSE(recording_cost(recording, {}).has_value());
  Recording hip = recorded_steps(10'000, 1, "Kineto JSON");
  EXPECT_TRUE(recording_cost(hip, {}).has_value());
  hip.calls.front().name = hip.names.id_of("hipLaunchKernel");
  EXPECT_FALSE(recording_cost(hip, {}).has_value());
}

TEST(CallBudget, GivesCallsUpWhereTheyAreMany) {
  CallBudget budget(0);
  // ResNet-50 at batch 128: 754 launches and 12,156 calls in 61 ms.
  EXPECT_FALSE(budget.is_over(754, 12'156, 61'400'000));
  // At batch 4: 933 launches and as many calls in 24 ms.
  EXPECT_TRUE(budget.is_over(754 + 933, 2 * 12'156, 61'400'000 + 24'000'000));
  EXPECT_FALSE(CallBudget(0, 754 + 933, 2 * 12'156).is_over(754 + 933, 2 * 12'156, 1'000'000));
  // Without calls there is nothing to give up.
  EXPECT_FALSE(budget.is_over(1'000'000, 2 * 12'156, 90'000'000));
}

}  // namespace
}  // namespace strata
