// SPDX-License-Identifier: Apache-2.0
#include "strata/predict/expected/evidence.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace strata {
namespace {

TEST(Evidence, is_read_machine_by_machine) {
  const auto entries = read_evidence(R"({"strata_evidence": 1, "checked": [{"machine": "l4",
    "framework": "pytorch-eager", "passes": "inference", "runs": 7, "networks": 3,
    "median_error": 0.08, "inside": 0.9, "source": "somebody"}]})");
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].pass, CheckedPass::inference);
  EXPECT_EQ(entries[0].runs, (CheckedRuns{7, 3, 0.08, 0.9, "somebody"}));
  EXPECT_EQ(text_of(entries[0].runs), "checked on 7 runs of this machine: median 8 %, 90 % inside");
  EXPECT_EQ(text_of({}), "unchecked: no such run of this machine is known");
}

TEST(Evidence, that_is_wrong_is_refused_with_its_place) {
  const auto refusal = [](const std::string& entry) -> std::string {
    try {
      read_evidence(R"({"strata_evidence": 1, "checked": [)" + entry + "]}");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input);
      return error.what();
    }
    return "accepted";
  };
  const std::string start = R"({"machine": "l4", "framework": "f", "passes": "training", )";
  EXPECT_NE(refusal(start + R"("runs": 0})").find("evidence.checked[0].runs"), std::string::npos);
  EXPECT_NE(refusal(start + R"("runs": 3, "networks": 1, "inside": 1.5})").find("inside"),
            std::string::npos);
}

TEST(Evidence, is_of_the_machine_as_it_ships_in_that_framework_and_pass) {
  Machine h200 = load_machine("h200");
  const CheckedRuns training = checked_runs(h200, "pytorch-eager", CheckedPass::training);
  EXPECT_GT(training.runs, 100);
  EXPECT_NE(training, checked_runs(h200, "pytorch-eager", CheckedPass::inference));
  EXPECT_EQ(checked_runs(h200, "no-such-framework", CheckedPass::training), CheckedRuns{});
  EXPECT_EQ(checked_runs(load_machine("h20"), "pytorch-eager", CheckedPass::training),
            CheckedRuns{});
  h200.memory.back().bandwidth_bytes_per_s->value *= 2;  // nobody has run that one
  EXPECT_EQ(checked_runs(h200, "pytorch-eager", CheckedPass::training), CheckedRuns{});
}

TEST(Evidence, that_ships_names_machines_that_ship_once_each) {
  std::set<std::string> seen;
  for (const EvidenceEntry& one : shipped_evidence()) {
    EXPECT_NO_THROW(load_recorded_machine(one.machine)) << one.machine;
    EXPECT_TRUE(
        seen.insert(one.machine + one.framework + (std::to_string(static_cast<int>(one.pass))))
            .second);
    EXPECT_LE(one.runs.inside, 1);
    EXPECT_GE(one.runs.runs, one.runs.networks);
  }
  EXPECT_EQ(all_checked_runs("h20"), 0);
  EXPECT_GT(all_checked_runs("rtx-3090"), 100);
}

}  // namespace
}  // namespace strata
