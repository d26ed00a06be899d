// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/recording_window.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata {
namespace {

TEST(RecordingWindow, is_open_from_the_beginning_unless_told_otherwise) {
  RecordingWindow window{CaptureOptions{}};
  EXPECT_EQ(window.begin(5), WindowChange::opens);
  EXPECT_EQ(window.push(1, "step", 6), WindowChange::none);
  EXPECT_EQ(window.tick(1'000'000'000'000), WindowChange::none);
}

TEST(RecordingWindow, waits_for_the_profiler) {
  CaptureOptions options;
  options.waits_for_profiler = true;
  RecordingWindow window(options);
  EXPECT_EQ(window.begin(1), WindowChange::none);
  EXPECT_EQ(window.profiler(true, 2), WindowChange::opens);
  EXPECT_EQ(window.profiler(true, 3), WindowChange::none);
  EXPECT_EQ(window.profiler(false, 4), WindowChange::closes);
  EXPECT_EQ(window.profiler(true, 5), WindowChange::opens);
}

TEST(RecordingWindow, counts_ranges_of_its_name_only) {
  CaptureOptions options;
  options.range = "step";
  options.skip = 1;
  options.steps = 2;
  RecordingWindow window(options);
  EXPECT_EQ(window.begin(0), WindowChange::none);
  std::vector<WindowChange> changes;
  for (std::uint64_t step = 0; step < 5; ++step) {
    changes.push_back(window.push(1, "step", step));
    EXPECT_EQ(window.push(1, "layer", step), WindowChange::none);
    EXPECT_EQ(window.push(2, "step", step), WindowChange::none);  // inside of the other one
    EXPECT_EQ(window.pop(2, step), WindowChange::none);
    EXPECT_EQ(window.pop(1, step), WindowChange::none);
    changes.push_back(window.pop(1, step));
  }
  using enum WindowChange;
  EXPECT_EQ(changes,
            (std::vector{none, none, opens, closes, opens, finishes, none, none, none, none}));
  EXPECT_TRUE(window.is_finished());
  EXPECT_FALSE(window.is_open());
}

TEST(RecordingWindow, steps_on_one_thread) {
  CaptureOptions options;
  options.range = "step";
  options.skip = 2;
  options.steps = 2;
  RecordingWindow window(options);
  window.begin(0);
  std::string seen;
  for (int step = 0; step < 6; ++step) {
    if (window.push(1, "step", 1) == WindowChange::opens) seen += '(';
    window.push(1, "step", 1);  // nested, of the same name: part of the outer one
    window.pop(1, 1);
    const WindowChange change = window.pop(1, 2);
    if (change == WindowChange::closes) seen += ')';
    if (change == WindowChange::finishes) seen += ']';
  }
  EXPECT_EQ(seen, "()(]");
}

TEST(RecordingWindow, ends_after_its_duration_from_the_first_opening) {
  CaptureOptions options;
  options.duration_s = 2;
  options.waits_for_profiler = true;
  RecordingWindow window(options);
  window.begin(0);
  EXPECT_EQ(window.tick(10'000'000'000), WindowChange::none);
  window.profiler(true, 20'000'000'000);
  EXPECT_EQ(window.tick(21'900'000'000), WindowChange::none);
  EXPECT_EQ(window.tick(22'000'000'000), WindowChange::finishes);
  EXPECT_EQ(window.tick(23'000'000'000), WindowChange::none);
  EXPECT_EQ(window.profiler(true, 24'000'000'000), WindowChange::none);
}

TEST(RecordingWindow, ranges_that_end_on_another_thread) {
  CaptureOptions options;
  options.range = "epoch";
  RecordingWindow window(options);
  window.begin(0);
  EXPECT_EQ(window.start(77, "epoch", 1), WindowChange::opens);
  EXPECT_EQ(window.stop(78, 2), WindowChange::none);
  EXPECT_EQ(window.stop(77, 3), WindowChange::closes);
}

TEST(CaptureOptions, survive_the_environment) {
  CaptureOptions options;
  options.log = "/tmp/a b/%p.log";
  options.duration_s = 0.125;
  options.ends_program = true;
  options.waits_for_profiler = true;
  options.range = "a=b step";
  options.skip = 3;
  options.steps = 12;
  options.traces_calls = false;
  options.may_drop_calls = true;
  options.metrics = {"dram__bytes_read.sum", "sm__x.avg"};
  CaptureOptions read;
  ASSERT_TRUE(read_variable(to_variable(options), read));
  EXPECT_EQ(read, options);
  EXPECT_TRUE(read_variable("log=x\nof_a_later_version=1\n", read));
  EXPECT_FALSE(read_variable("log=x\nskip=many\n", read));
  EXPECT_FALSE(read_variable("", read));
}

}  // namespace
}  // namespace strata
