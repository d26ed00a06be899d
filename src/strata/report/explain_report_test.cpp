// SPDX-License-Identifier: Apache-2.0
#include "strata/report/explain_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace strata {
namespace {

Explanation some_explanation() {
  ProfileFinding memory{
      .code = FindingCode::memory_bound,
      .subject = "batch_norm",
      .what =
          "batch_norm waits 2.00 s for memory in 12 rows, which is long enough to need "
          "a second line of text on a terminal of ordinary width",
      .evidence = {{"bytes", 1048576, Measure::bytes}, {"rows", 12, Measure::count}},
      .cost_s = 2,
      .cost_share = 0.2,
      .advice = "fuse it",
      .what_ifs = {
          {.change = Computed{"its traffic were free"}, .base_s = 10, .time_s = 8, .reason = {}},
          {.change = CapacityOf{1 << 20},
           .base_s = 10,
           .time_s = {},
           .reason = "the model is gone"}}};
  ProfileFinding note{.code = FindingCode::prediction_limit,
                      .subject = {},
                      .what = "a limit",
                      .evidence = {},
                      .advice = "measure",
                      .what_ifs = {}};
  return {.subject = {.network = "n", .title = "Net\x1b", .dtype = "fp32"},
          .evidence = Evidence::predicted,
          .machine = "m",
          .machine_title = "Machine",
          .time_s = 10,
          .findings = {memory, note},
          .what_ifs = {{.change = BandwidthTimes{2},
                        .base_s = 10,
                        .time_s = 9.5,
                        .reason = {},
                        .basis = Basis::predicted_again}},
          .reuse = {{{.scope = "block", .offered_bytes = 10}, "block: 40 % of 10 B captured"}},
          .notes = {"mind the gap"}};
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    widest = std::max(widest, width_of(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

TEST(ExplainText, findings_in_full_have_all_parts_and_fit_the_terminal) {
  const std::string text = to_text(some_explanation(), 1, {.columns = 72});
  for (const char* part :
       {"Net\\u{1b}", "fp32, predicted, on Machine: 10 s an iteration",
        "1  batch_norm: waits for memory", "[memory-bound]", "bytes 1.05 MB; rows 12",
        "2 s, 20 % of the iteration", "fuse it", "if its traffic were free: −20 % (8 s)",
        "with 1.00 MiB on-chip: not known (the model is gone)", "prediction-limit",
        "twice the bandwidth", "−5.0 %", "predicted again", "block: 40 % of 10 B captured",
        "note: mind the gap"}) {
    EXPECT_NE(text.find(part), text.npos) << part << "\n" << text;
  }
  EXPECT_LE(widest_line(text), 72U) << text;
  EXPECT_LE(widest_line(to_text(some_explanation(), 2, {.columns = 60})), 72U);
}

TEST(ExplainText, without_unicode_stays_ascii) {
  const std::string text = to_text(some_explanation(), 2, {.has_unicode = false});
  for (const char c : text) EXPECT_LT(static_cast<unsigned char>(c), 0x80U);
}

TEST(ExplainCsv, has_a_line_per_finding_with_its_best_change) {
  EXPECT_EQ(to_csv(some_explanation()),
            "code,subject,what,cost_s,cost_share,is_cost_on_top,gain_s,best_change,advice\n"
            "memory-bound,batch_norm,\"batch_norm waits 2.00 s for memory in 12 rows, which is "
            "long enough to need a second line of text on a terminal of ordinary width\",2,0.2,"
            "false,2,its traffic were free,fuse it\n"
            "prediction-limit,,a limit,0,0,false,0,,measure\n");
}

TEST(ExplainJson, has_base_units_and_reasons) {
  const auto json =
      nlohmann::json::parse(to_json(some_explanation(), {.command = "strata explain x"}));
  EXPECT_EQ(json["kind"], "explanation");
  const auto& finding = json["findings"][0];
  EXPECT_EQ(finding["code"], "memory-bound");
  EXPECT_EQ(finding["page"], "docs/findings/memory-bound.md");
  EXPECT_EQ(finding["gain_s"], 2);
  EXPECT_EQ(finding["evidence"][0]["measure"], "bytes");
  EXPECT_EQ(finding["what_ifs"][0]["gain_share"], 0.2);
  EXPECT_TRUE(finding["what_ifs"][1]["time_s"].is_null());
  EXPECT_EQ(finding["what_ifs"][1]["no_time_reason"], "the model is gone");
  EXPECT_EQ(json["what_ifs"][0]["basis"], "predicted_again");
  EXPECT_EQ(json["provenance"]["command"], "strata explain x");
}

}  // namespace
}  // namespace strata
