// SPDX-License-Identifier: Apache-2.0
#include "strata/reproduce/claim_counts.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

Finding row(std::string claim, bool is_printed, bool holds) {
  return {.printed = claim.empty() ? "" : "printed",
          .is_printed = is_printed,
          .holds = holds,
          .claim = std::move(claim)};
}

TEST(ClaimCounts, rows_of_one_sentence_are_one_claim) {
  const std::vector<Finding> findings = {row("a", true, true), row("a", true, false),
                                         row("b", false, false), row("", false, true)};
  EXPECT_EQ(counted_claims(findings), "claims: 2, in 3 rows: 1 yes, 1 no, 1 cannot be judged\n");
}

TEST(ClaimCounts, what_neither_side_can_judge_is_counted_apart) {
  std::vector<Finding> findings = {row("a", true, true), row("b", false, false),
                                   row("c", false, false)};
  findings[1].measured = {"1", true};
  findings[2].measured = {"2", std::nullopt};
  EXPECT_EQ(counted_claims(findings, "a GPU"),
            "claims: 3, in 3 rows: as predicted 1 yes, 0 no, 2 cannot be judged; as measured on a "
            "GPU 1 yes, 0 no, 2 cannot be judged; by neither 1\n");
}

}  // namespace
}  // namespace strata
