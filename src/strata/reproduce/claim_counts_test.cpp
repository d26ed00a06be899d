// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/claim_counts.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace strata {
namespace {

Finding row(std::string sentence, std::string printed, bool is_judged, bool holds,
            std::optional<MeasuredAnswer> measured = std::nullopt) {
  Finding finding;
  finding.printed = std::move(printed);
  finding.is_printed = is_judged;
  finding.holds = holds;
  finding.measured = std::move(measured);
  finding.sentence = std::move(sentence);
  return finding;
}

Finding apart(Finding finding, std::string why) {
  finding.apart = std::move(why);
  return finding;
}

TEST(ClaimCounts, rows_of_one_sentence_are_one_claim) {
  const std::vector<Finding> rows = {row("a", "1", true, true), row("a", "2", true, false),
                                     row("b", "3", false, false), row("", "", false, true)};
  const std::vector<ClaimCounts> counts = claim_counts(rows);
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_EQ(counts[0].claims, 2U);
  EXPECT_EQ(counts[0].rows.statements(), 3U);
  EXPECT_EQ(counts[0].text(), "2 claims in 3 rows: 1 yes, 1 no, 1 cannot be judged");
  EXPECT_EQ(claim_counts({})[0].text(), "0 claims in 0 rows: 0 yes, 0 no, 0 cannot be judged");
}

TEST(ClaimCounts, what_was_measured_is_counted_beside_the_prediction) {
  const std::vector<Finding> rows = {
      row("a", "1", true, true, MeasuredAnswer{"", false}),
      row("a", "2", true, true, MeasuredAnswer{"", true}),
      row("b", "3", true, false, MeasuredAnswer{"", std::nullopt}),
      row("b", "4", false, false),
      row("", "", false, true, MeasuredAnswer{"", std::nullopt}),
  };
  const ClaimCounts counts = claim_counts(rows).front();
  EXPECT_EQ(counts.rows.held, 2U);
  EXPECT_EQ(counts.rows.not_held, 1U);
  EXPECT_EQ(counts.rows.not_judged, 1U);
  EXPECT_EQ(counts.rows.statements(), 4U);
  EXPECT_EQ(counts.measured.held, 1U);
  EXPECT_EQ(counts.measured.not_held, 1U);
  EXPECT_EQ(counts.measured.not_judged, 2U);
  EXPECT_EQ(counts.measured.statements(), 4U);
  EXPECT_EQ(counts.text("a GPU"),
            "2 claims in 4 rows: as predicted 2 yes, 1 no, 1 cannot be judged; as measured on a "
            "GPU 1 yes, 1 no, 2 cannot be judged; by neither 1");
}

TEST(ClaimCounts, rows_apart_are_counted_by_why_they_stand_there) {
  std::vector<Finding> rows = {
      row("", "", false, true),
      row("a", "1", true, true),
      apart(row("a", "2", true, false), "ours"),
      row("b", "3", true, false),
      apart(row("a", "4", true, true), "inferred"),
      apart(row("b", "5", true, true), "ours"),
      row("a", "6", false, false),
      apart(row("", "", false, true), "ours"),
  };
  const std::vector<ClaimCounts> counts = claim_counts(rows);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].text(), "2 claims in 3 rows: 1 yes, 1 no, 1 cannot be judged");
  EXPECT_EQ(counts[1].apart, "ours");
  EXPECT_EQ(counts[1].text(), "2 claims in 2 rows: 1 yes, 1 no, 0 cannot be judged");
  EXPECT_EQ(counts[2].apart, "inferred");
  EXPECT_EQ(counts[2].text(), "1 claim in 1 row: 1 yes, 0 no, 0 cannot be judged");
  group_by_sentence(rows);
  std::string order;
  for (const Finding& one : rows) order += one.printed.empty() ? "-" : one.printed;
  EXPECT_EQ(order, "163254--");
}

}  // namespace
}  // namespace strata
