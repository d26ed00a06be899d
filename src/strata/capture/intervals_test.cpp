// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/intervals.hpp"

#include "strata/capture/steps.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

constexpr int moments = 60;

std::vector<TimeSpan> random_spans(std::mt19937& random, int count) {
  std::vector<TimeSpan> spans;
  std::uniform_int_distribution<int> moment(0, moments);
  for (int i = 0; i < count; ++i) {
    const int a = moment(random);
    const int b = moment(random);
    spans.push_back({std::min(a, b), std::max(a, b)});
  }
  return spans;
}

int running_at(const std::vector<TimeSpan>& spans, int moment) {
  int count = 0;
  for (const TimeSpan& span : spans) count += span.start_ns <= moment && moment < span.end_ns;
  return count;
}

// Against counting every unit of time by itself.
TEST(Intervals, agree_with_counting_every_moment) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const std::vector<TimeSpan> a = random_spans(random, round % 9);
    const std::vector<TimeSpan> b = random_spans(random, (round / 9) % 9);
    const Coverage covered(a);
    const Coverage other(b);
    const TimeSpan window = random_spans(random, 1)[0];
    std::int64_t in_a = 0;
    std::int64_t in_both = 0;
    std::int64_t in_window = 0;
    std::vector<std::int64_t> at_once(a.size() + 1, 0);
    for (int moment = 0; moment < moments; ++moment) {
      const int running = running_at(a, moment);
      if (running > 0) ++at_once[static_cast<std::size_t>(running)];
      in_a += running > 0;
      in_both += running > 0 && running_at(b, moment) > 0;
      in_window += running > 0 && window.start_ns <= moment && moment < window.end_ns;
    }
    EXPECT_EQ(covered.total(), in_a);
    EXPECT_EQ(total_ns(union_of(a)), in_a);
    EXPECT_EQ(common_ns(covered, other), in_both);
    EXPECT_EQ(covered.within(window), in_window);
    while (at_once.size() > 1 && at_once.back() == 0) at_once.pop_back();
    EXPECT_EQ(times_at_once(a), at_once);
  }
}

TEST(Intervals, many_at_once_count_as_the_most) {
  const std::vector<TimeSpan> spans(5, TimeSpan{0, 10});
  EXPECT_EQ(times_at_once(spans, 3), (std::vector<std::int64_t>{0, 0, 0, 10}));
}

std::size_t naive_repeated_length(const std::vector<std::uint64_t>& text) {
  for (std::size_t length = 1; length <= text.size() / 2; ++length) {
    std::size_t same = length;
    while (same < text.size() &&
           text[text.size() - 1 - same] == text[text.size() - 1 - same + length])
      ++same;
    if (same >= 2 * length && 2 * same >= text.size()) return length;
  }
  return 0;
}

TEST(Steps, a_repeated_sequence_is_found_as_by_trying_every_length) {
  EXPECT_EQ(repeated_length({9, 1, 2, 3, 1, 2, 3, 1, 2, 3}), 3U);
  EXPECT_EQ(repeated_length({1, 2, 3, 4}), 0U);
  EXPECT_EQ(repeated_length({}), 0U);
  // The end repeats, but it is the lesser part of the whole.
  EXPECT_EQ(repeated_length({1, 2, 3, 4, 5, 6, 7, 7}), 0U);
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint64_t> text(random() % 24);
    for (std::uint64_t& letter : text) letter = random() % 2;
    EXPECT_EQ(repeated_length(text), naive_repeated_length(text));
  }
}

}  // namespace
}  // namespace strata
