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

TEST(Verdict, tallies_count_the_rows_that_a_study_prints) {
  const std::vector<Finding> rows = {
      statement("a", true, true, MeasuredAnswer{"", false}),
      statement("b", true, true, MeasuredAnswer{"", true}),
      statement("c", true, false, MeasuredAnswer{"", std::nullopt}),
      statement("d", false, false),
      statement("", false, true),
  };
  const Tally tally = tally_of(rows);
  EXPECT_EQ(tally.held, 2U);
  EXPECT_EQ(tally.not_held, 1U);
  EXPECT_EQ(tally.not_judged, 1U);
  EXPECT_EQ(tally.statements(), 4U);
  const Tally measured = measured_tally_of(rows);
  EXPECT_EQ(measured.held, 1U);
  EXPECT_EQ(measured.not_held, 1U);
  EXPECT_EQ(measured.not_judged, 2U);
  EXPECT_EQ(measured.statements(), 4U);
}

Finding of_claim(std::string sentence, Finding finding, bool is_apart = false) {
  finding.sentence = std::move(sentence);
  finding.is_apart = is_apart;
  return finding;
}

TEST(Verdict, claims_are_sentences_and_rows_apart_are_in_no_count) {
  std::vector<Finding> rows = {
      of_claim("a", statement("1", true, true)),       of_claim("b", statement("2", true, false)),
      of_claim("a", statement("3", true, true), true), of_claim("a", statement("4", false, false)),
      of_claim("", statement("", false, true)),
  };
  EXPECT_EQ(claims_of(rows), 2U);
  EXPECT_EQ(counts_text(rows), "2 claims in 3 rows: 1 yes, 1 no, 1 cannot be judged");
  group_by_claim(rows);
  std::string order;
  for (const Finding& row : rows) order += row.printed.empty() ? "-" : row.printed;
  EXPECT_EQ(order, "142-3");
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
