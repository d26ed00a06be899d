// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/verdict.hpp"

#include <gtest/gtest.h>

namespace strata {
namespace {

Finding statement(std::string printed, bool is_judged, bool holds,
                  std::optional<MeasuredAnswer> measured = std::nullopt) {
  Finding finding;
  finding.printed = std::move(printed);
  finding.is_printed = is_judged;
  finding.holds = holds;
  finding.measured = std::move(measured);
  return finding;
}

TEST(Verdict, is_one_of_four) {
  EXPECT_EQ(verdict_of(statement("1.2×", true, true)), Verdict::holds);
  EXPECT_EQ(verdict_of(statement("1.2×", true, false)), Verdict::does_not_hold);
  EXPECT_EQ(verdict_of(statement("1.2×", false, true)), Verdict::not_judged);
  EXPECT_EQ(verdict_of(statement("", false, true)), Verdict::not_printed);
}

TEST(Verdict, of_what_was_measured_stands_for_itself) {
  const auto judged = [](std::optional<bool> holds) {
    return measured_verdict_of(statement("1.2×", true, true, MeasuredAnswer{"1.1×", holds}));
  };
  EXPECT_EQ(judged(true), Verdict::holds);
  EXPECT_EQ(judged(false), Verdict::does_not_hold);
  EXPECT_EQ(judged(std::nullopt), Verdict::not_judged);
  EXPECT_EQ(measured_verdict_of(statement("1.2×", true, true)), Verdict::not_judged);
  EXPECT_EQ(measured_verdict_of(statement("", false, true)), Verdict::not_printed);
}

TEST(Verdict, a_note_is_its_rule_and_its_reason) {
  const auto parts = [](std::string_view note) {
    const NoteParts found = note_parts(note);
    return std::pair(found.rule, found.reason);
  };
  using Pair = std::pair<std::string_view, std::string_view>;
  EXPECT_EQ(parts("holds above 30 %; FFT ran"), Pair("holds above 30 %", "FFT ran"));
  EXPECT_EQ(parts("holds when it is; no: FFT; then more"),
            Pair("holds when it is", "FFT; then more"));
  EXPECT_EQ(parts("holds above 30 %"), Pair("holds above 30 %", ""));
  EXPECT_EQ(parts("rule: within 0.05×; the list ends"), Pair("within 0.05×", "the list ends"));
  EXPECT_EQ(parts("not measured; ever"), Pair("", "not measured; ever"));
  EXPECT_EQ(parts(""), Pair("", ""));
}

}  // namespace
}  // namespace strata
