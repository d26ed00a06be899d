// SPDX-License-Identifier: Apache-2.0
#include "strata/gpu/correlation_ranges.hpp"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

TEST(CorrelationRanges, before_the_first_part_there_is_none) {
  CorrelationRanges parts;
  parts.saw_call(1);
  EXPECT_EQ(parts.part_of(1), std::nullopt);
  parts.begin_part(7);
  EXPECT_EQ(parts.part_of(1), std::nullopt);
  parts.saw_call(2);
  EXPECT_EQ(parts.part_of(1), std::nullopt);
  EXPECT_EQ(parts.part_of(2), 7U);
}

TEST(CorrelationRanges, a_part_without_calls_has_no_launches) {
  CorrelationRanges parts;
  parts.begin_part(0);
  parts.saw_call(5);
  parts.begin_part(1);
  parts.begin_part(2);
  parts.saw_call(9);
  EXPECT_EQ(parts.part_of(8), 0U);
  EXPECT_EQ(parts.part_of(9), 2U);
}

// Against a list that remembers the part of every single call. Numbers have gaps, calls nest (a
// call of the run time makes one of the driver), and number 0 is none.
TEST(CorrelationRanges, each_call_belongs_to_the_part_it_was_made_in) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    CorrelationRanges parts;
    std::vector<std::pair<std::uint32_t, std::optional<std::size_t>>> calls;
    std::optional<std::size_t> current;
    std::uint32_t number = 0;
    for (int step = 0; step < 60; ++step) {
      switch (random() % 4) {
        case 0:
          current = random() % 5;
          parts.begin_part(*current);
          break;
        case 1: parts.saw_call(0); break;
        default:
          number += 1 + static_cast<std::uint32_t>(random() % 3);
          parts.saw_call(number);
          calls.emplace_back(number, current);
      }
    }
    for (const auto& [call, part] : calls) ASSERT_EQ(parts.part_of(call), part) << call;
  }
}

}  // namespace
}  // namespace strata
