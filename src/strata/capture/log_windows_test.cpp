// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/log_windows.hpp"

#include "strata/capture/capture_run.hpp"
#include "strata/capture/join_counters.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace strata {
namespace {

/// Kernels of which each runs long after it was launched.
class MadeUp {
 public:
  void launch(std::string_view name, std::uint32_t grid = 1) {
    at_ += 10;
    const auto correlation = static_cast<std::uint64_t>(recording.kernels.size() + 1);
    ApiRecord call;
    call.time = {at_, at_ + 5};
    call.correlation = correlation;
    recording.calls.push_back(call);
    KernelRecord kernel;
    kernel.time = {at_ + 1000, at_ + 1004};
    kernel.correlation = correlation;
    kernel.name = recording.names.id_of(name);
    kernel.grid = {grid, 1, 1};
    recording.kernels.push_back(kernel);
  }
  void pause(std::int64_t ns) { at_ += ns; }

  Recording recording;

 private:
  std::int64_t at_ = 0;
};

TEST(LogWindows, kernels_belong_to_their_launch) {
  MadeUp made;
  for (int i = 0; i < 10; ++i) made.launch("k");  // at 10, 20, … 100
  const std::vector<TimeSpan> windows = {{25, 45}, {80, 80}};
  keep_windows(made.recording, windows);
  ASSERT_EQ(made.recording.kernels.size(), 3U);
  EXPECT_EQ(made.recording.kernels[0].correlation, 3U);
  EXPECT_EQ(made.recording.kernels[1].correlation, 4U);
  EXPECT_EQ(made.recording.kernels[2].correlation, 8U);
  EXPECT_EQ(made.recording.calls.size(), 3U);
}

TEST(LogWindows, counters_stay_with_their_kernels) {
  MadeUp made;
  for (int i = 0; i < 4; ++i) made.launch("k");
  made.recording.counters.names = {made.recording.names.id_of("c")};
  made.recording.counters.units = {0};
  made.recording.counters.values = {1, 2, 3, 4};
  const TimeSpan window{15, 35};
  keep_windows(made.recording, std::span(&window, 1));
  EXPECT_EQ(made.recording.counters.values, (std::vector<double>{2, 3}));
}

TEST(LogWindows, finds_the_steps_that_kernels_repeat) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    MadeUp made;
    const std::size_t before = random() % 30;
    for (std::size_t i = 0; i < before; ++i) made.launch("set up " + std::to_string(random() % 9));
    // A step has runs of the same kernel inside, as an optimizer has.
    std::vector<std::string> step;
    const std::size_t distinct = 3 + random() % 6;
    for (std::size_t i = 0; i < distinct; ++i) step.push_back("layer " + std::to_string(i));
    for (std::size_t i = 0; i < 5; ++i) step.push_back("update");
    const std::size_t steps = 3 + random() % 5;
    for (std::size_t i = 0; i < steps; ++i) {
      made.pause(500);
      for (const std::string& name : step) made.launch(name);
    }
    for (std::size_t i = 0; i < random() % 4; ++i) made.launch("evaluate");
    const std::vector<TimeSpan> found = repeated_steps(made.recording);
    ASSERT_EQ(found.size(), steps) << round;
    const std::size_t kernels = made.recording.kernels.size();
    EXPECT_NE(keep_steps(made.recording, 1, 1), "");
    EXPECT_EQ(made.recording.kernels.size(), step.size()) << kernels;
    EXPECT_EQ(made.recording.names.text(made.recording.kernels.front().name), "layer 0");
  }
}

TEST(LogWindows, nothing_repeats) {
  MadeUp made;
  for (int i = 0; i < 5; ++i) made.launch("k" + std::to_string(i));
  EXPECT_TRUE(repeated_steps(made.recording).empty());
  EXPECT_NE(keep_steps(made.recording, 0, 2), "");
  EXPECT_EQ(made.recording.kernels.size(), 5U);
}

TEST(JoinCounters, by_name_and_turn) {
  MadeUp timed;
  for (const char* name : {"a", "b", "a", "c", "a"}) timed.launch(name);
  MadeUp counted;
  for (const char* name : {"a", "a", "b", "d"}) counted.launch(name);
  counted.recording.counters.names = {counted.recording.names.id_of("bytes")};
  counted.recording.counters.units = {0};
  counted.recording.counters.values = {1, 2, 3, 4};
  const CounterJoin join = join_counters(timed.recording, counted.recording);
  EXPECT_EQ(join.joined, 3);
  EXPECT_EQ(join.without, 2);
  EXPECT_EQ(join.unused, 1);
  const std::vector<double>& values = timed.recording.counters.values;
  ASSERT_EQ(values.size(), 5U);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 3);
  EXPECT_EQ(values[2], 2);
  EXPECT_TRUE(std::isnan(values[3]) && std::isnan(values[4]));
  join_counters(timed.recording, counted.recording);  // a second session
  ASSERT_EQ(timed.recording.counters.values.size(), 10U);
  EXPECT_EQ(timed.recording.counters.values[2], 3);
  EXPECT_EQ(timed.recording.counters.values[3], 3);
}

}  // namespace
}  // namespace strata
