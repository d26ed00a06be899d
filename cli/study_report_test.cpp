// SPDX-License-Identifier: Apache-2.0
#include "cli/study_report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>

namespace strata {
namespace {

Finding row(std::string what, std::string printed, bool is_judged, bool holds,
            std::optional<MeasuredAnswer> measured = std::nullopt) {
  Finding finding;
  finding.what = std::move(what);
  finding.printed = std::move(printed);
  finding.is_printed = is_judged;
  finding.holds = holds;
  finding.note = holds ? "holds above 1" : "holds above 1; no: it is 0";
  finding.measured = std::move(measured);
  if (!finding.printed.empty()) finding.sentence = "FFT is the fastest (figure 3)";
  return finding;
}

/// One with every outcome, one that was measured, too, one without a result.
std::vector<StudyReport> made_up_studies() {
  StudyResult first{
      .title = "First Title",
      .published = "1999, paper",
      .basis = "predicted for a chip",
      .place = "network",
      .rule = "as it says",
      .findings = {row("a", "1", true, true), row("b", "2", true, true), row("c", "3", true, false),
                   row("d", "4", false, false), row("e", "", false, true)}};
  StudyResult second = first;
  second.title = "Second Title";
  second.measured = "a device";
  second.findings = {row("a", "1", true, true, MeasuredAnswer{"0", false}),
                     row("b", "2", true, false, MeasuredAnswer{"2", std::nullopt})};
  chart::Chart panel{.x = {.title = "x"}, .y = {.title = "y"}};
  panel.series = {{.name = "ours", .points = {{1, 1, ""}, {2, 2, ""}}}};
  second.figures = {{.name = "one", .csv = "", .grid = {.title = "One", .panels = {panel}}},
                    {.name = "two", .csv = "", .grid = {.title = "Two", .panels = {panel}}}};
  return {{"first", first, {}}, {"second", second, {}}, {"third", std::nullopt, "no results ship"}};
}

std::string line_with(const std::string& text, std::string_view part) {
  const std::size_t at = text.find(part);
  if (at == text.npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

bool ends_with_counts(const std::string& line, std::vector<int> counts) {
  std::string expected;
  std::string found;
  for (const int count : counts) expected += std::to_string(count) + " ";
  for (const char c : line) {
    if (c != ' ' || (!found.empty() && found.back() != ' ')) found += c;
  }
  while (!found.empty() && found.back() == ' ') found.pop_back();
  return (found + " ").ends_with(" " + expected);
}

TEST(StudyReport, of_several_begins_with_a_table_of_how_many_statements_hold) {
  TextStyle style;
  style.columns = 200;
  const std::string text = to_text(made_up_studies(), style);
  const std::string table = text.substr(0, text.find("\n\n"));
  EXPECT_NE(table.find("First Title (1999, paper)"), std::string::npos) << table;
  EXPECT_TRUE(ends_with_counts(line_with(table, "First Title"), {4, 2, 1, 1})) << table;
  EXPECT_TRUE(ends_with_counts(line_with(table, "Second Title"), {2, 1, 1, 0})) << table;
  EXPECT_TRUE(ends_with_counts(line_with(table, "measured on a device"), {2, 0, 1, 1})) << table;
  EXPECT_NE(line_with(table, "third").find("no results ship"), std::string::npos) << table;
  const std::vector<StudyReport> all = made_up_studies();
  EXPECT_TRUE(to_text(std::span(all).first(1), style).starts_with("First Title (1999, paper), "))
      << "one study needs no such table";
}

TEST(StudyReport, rows_stand_under_their_sentence_and_ours_apart) {
  std::vector<StudyReport> all = made_up_studies();
  std::vector<Finding>& rows = all.front().result->findings;
  rows.insert(rows.end() - 1, rows.front());
  rows[4].apart = "kernels of ours";
  const std::string text = to_text(std::span(all).first(1), TextStyle{});
  const std::string sentence = "\n  FFT is the fastest (figure 3)\n";
  const std::size_t first = text.find(sentence);
  const std::size_t apart = text.find("\n  apart: kernels of ours" + sentence);
  const std::size_t numbers = text.find("\n  numbers of ours, of which the study says nothing\n");
  ASSERT_NE(numbers, text.npos) << text;
  EXPECT_LT(first, apart) << text;
  EXPECT_LT(apart, numbers) << text;
  EXPECT_NE(text.find("\n1 claim in 4 rows: 2 yes, 1 no, 1 cannot be judged\n"
                      "apart, 1 claim in 1 row: 1 yes, 0 no, 0 cannot be judged (kernels of ours)\n"
                      "holds: as it says\n"),
            text.npos)
      << text;
  const auto json = nlohmann::json::parse(to_json(all, Provenance{}));
  EXPECT_EQ(json["studies"][0]["claims"], 1);
  EXPECT_EQ(json["studies"][0]["statements"], 4) << "rows apart are in no count of the study";
  EXPECT_EQ(json["studies"][0]["apart"].size(), 1U);
  EXPECT_EQ(json["studies"][0]["apart"][0]["why"], "kernels of ours");
  EXPECT_EQ(json["studies"][0]["apart"][0]["held"], 1);
  EXPECT_TRUE(json["studies"][1]["apart"].empty());
  EXPECT_EQ(json["findings"][0]["sentence"], "FFT is the fastest (figure 3)");
  EXPECT_EQ(json["findings"][0]["apart"], "");
  EXPECT_EQ(json["findings"][4]["apart"], "kernels of ours");
  EXPECT_EQ(json["findings"][5]["sentence"], "");
  const std::string csv = to_csv(std::span(all).first(1));
  EXPECT_TRUE(csv.substr(0, csv.find('\n')).ends_with(",note,sentence,apart")) << csv;
  EXPECT_NE(csv.find(",FFT is the fastest (figure 3),kernels of ours\n"), csv.npos) << csv;
}

TEST(StudyReport, counts_of_a_prediction_have_what_was_measured_beside) {
  const std::vector<StudyReport> all = made_up_studies();
  EXPECT_NE(to_text(std::span(all).subspan(1, 1), TextStyle{})
                .find("\n1 claim in 2 rows: as predicted 1 yes, 1 no, 0 cannot be judged; as "
                      "measured on a device 0 yes, 1 no, 1 cannot be judged; by neither 0\n"),
            std::string::npos);
}

TEST(StudyReport, json_has_the_counts_and_each_row_its_verdict_rule_and_reason) {
  const auto json = nlohmann::json::parse(to_json(made_up_studies(), Provenance{}));
  const auto& first = json.at("studies").at(0);
  EXPECT_EQ(first.at("statements"), 4);
  EXPECT_EQ(first.at("held"), 2);
  EXPECT_EQ(first.at("not_held"), 1);
  EXPECT_EQ(first.at("not_judged"), 1);
  EXPECT_EQ(json.at("studies").at(1).at("measured_not_held"), 1);
  EXPECT_EQ(json.at("studies").at(1).at("measured_not_judged"), 1);
  EXPECT_EQ(json.at("studies").at(2).at("reason"), "no results ship");
  std::map<std::string, int> verdicts;
  for (const auto& finding : json.at("findings")) {
    if (finding.at("study") == "first") ++verdicts[finding.at("verdict").get<std::string>()];
  }
  const std::map<std::string, int> expected = {
      {"holds", 2}, {"does_not_hold", 1}, {"not_judged", 1}, {"not_printed", 1}};
  EXPECT_EQ(verdicts, expected);
  EXPECT_EQ(json.at("findings").at(2).at("rule"), "holds above 1");
  EXPECT_EQ(json.at("findings").at(2).at("reason"), "it is 0");
}

TEST(StudyReport, a_page_has_every_figure) {
  const PageSection part = page_section(made_up_studies(), Provenance{});
  ASSERT_EQ(part.extras.size(), 1U);
  const auto figures = nlohmann::json::parse(part.extras.front().second);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].at("study"), "second");
  EXPECT_NE(figures[1].at("svg").get<std::string>().find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace strata
