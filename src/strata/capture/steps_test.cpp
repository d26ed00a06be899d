// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/steps.hpp"

#include "strata/capture/recorded_network_test.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

/// By the definition, trying every length and comparing every number.
std::size_t repeated_length_by_trying(const std::vector<std::uint64_t>& sequence) {
  const std::size_t n = sequence.size();
  for (std::size_t length = 1; 2 * length <= n; ++length) {
    std::size_t repeated = length;
    while (repeated < n && sequence[n - 1 - repeated] == sequence[n - 1 - repeated + length])
      ++repeated;
    if (repeated >= 2 * length && 2 * repeated >= n) return length;
  }
  return 0;
}

TEST(Steps, RepetitionsAreFoundAsByTryingAll) {
  std::mt19937 random(11);
  int found = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> sequence;
    const std::size_t start = random() % 6;
    for (std::size_t i = 0; i < start; ++i) sequence.push_back(random() % 3);
    std::vector<std::uint64_t> piece;
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) piece.push_back(random() % 3);
    for (std::size_t i = 0; i < random() % 5; ++i)
      sequence.insert(sequence.end(), piece.begin(), piece.end());
    EXPECT_EQ(repeated_length(sequence), repeated_length_by_trying(sequence));
    found += repeated_length(sequence) > 0 ? 1 : 0;
  }
  EXPECT_GT(found, 100);
}

FoundSteps found_in(RecordingForge& forge, Recording& recording) {
  recording = forge.finish();
  return find_steps(recording, origins_of_kernels(recording, LaunchCalls(recording)));
}

TEST(Steps, RangesMarkThem) {
  RecordingForge forge;
  forge.launch("before", {});
  for (int i = 0; i < 3; ++i) {
    forge.open("step " + std::to_string(i));
    forge.launch("a", {});
    forge.launch("b", {});
    forge.close();
  }
  Recording recording;
  const FoundSteps steps = found_in(forge, recording);
  EXPECT_EQ(steps.count, 3U);
  EXPECT_EQ(steps.step_of_kernel, (std::vector<std::size_t>{no_index, 0, 0, 1, 1, 2, 2}));
}

TEST(Steps, MarksWithoutLengthLastUntilTheNext) {
  RecordingForge forge;
  forge.launch("before", {});
  for (int i = 0; i < 2; ++i) {
    forge.mark("iteration " + std::to_string(i));
    forge.launch("a", {});
    forge.launch("b", {});
  }
  Recording recording;
  const FoundSteps steps = found_in(forge, recording);
  EXPECT_EQ(steps.step_of_kernel, (std::vector<std::size_t>{no_index, 0, 0, 1, 1}));
}

TEST(Steps, ExecutionsOfXlaAreThoseOfTheLongestProgram) {
  RecordingForge forge;
  for (int i = 0; i < 2; ++i) {
    forge.open("XlaModule:#hlo_module=jit_small,program_id=1#");
    forge.launch("a", {});
    forge.close();
    forge.open("XlaModule:#hlo_module=jit_step,program_id=2#");
    for (int k = 0; k < 4; ++k) forge.launch("b", {});
    forge.close();
  }
  Recording recording;
  const FoundSteps steps = found_in(forge, recording);
  EXPECT_EQ(steps.how, "executions of jit_step");
  EXPECT_EQ(steps.count, 2U);
  EXPECT_EQ(steps.step_of_kernel[0], no_index);
  EXPECT_EQ(steps.step_of_kernel[1], 0U);
  EXPECT_EQ(steps.step_of_kernel[9], 1U);
}

TEST(Steps, TheMedianIsThatOfTheirLengths) {
  FoundSteps steps;
  steps.spans = {{0, 30}, {40, 50}, {60, 80}, {90, 90}};
  EXPECT_EQ(median_step(steps), 2U);
  steps.spans.push_back({100, 125});  // of an even number the shorter
  EXPECT_EQ(median_step(steps), 2U);
  EXPECT_EQ(median_step(FoundSteps{}), no_index);
}

}  // namespace
}  // namespace strata
