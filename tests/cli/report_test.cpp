// SPDX-License-Identifier: Apache-2.0
// strata report and --html: one file, and one clear line for what cannot become a page.
#include "strata/base/temporary_folder_test.hpp"
#include "strata/report/html_page.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

class ReportCommand : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name)) << text;
    return at(name);
  }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  static void expect_page(const std::string& path) {
    const std::string page = read(path);
    EXPECT_EQ(page.find("<!DOCTYPE html>"), 0U) << path;
    EXPECT_EQ(page.find(" src=\"http"), page.npos);
    EXPECT_EQ(page.find("<!--data-->"), page.npos);
  }

  TemporaryFolder folder_;
};

TEST_F(ReportCommand, every_command_writes_a_page) {
  EXPECT_EQ(run({"predict", "lenet5", "--html", at("p.html"), "--json", at("p.json")}).exit_code,
            0);
  EXPECT_EQ(run({"show", "lenet5", "--html", at("m.html"), "--json", at("m.json")}).exit_code, 0);
  EXPECT_EQ(
      run({"roofline", at("p.json"), "--html", at("r.html"), "--json", at("r.json")}).exit_code, 0);
  const Outcome sweep = run({"sweep", "lenet5", "--capacity", "1MiB,2MiB", "--html", at("s.html")});
  EXPECT_EQ(sweep.exit_code, 0);
  EXPECT_EQ(sweep.out, "");  // the page is the result
  EXPECT_EQ(run({"sweep", "lenet5", "--capacity", "1MiB,2MiB", "--csv", at("s.csv")}).exit_code, 0);
  EXPECT_EQ(run({"sweep", "--from", at("s.csv"), "--html", at("again.html")}).exit_code, 0);
  const Outcome report = run({"report", at("p.json"), at("m.json"), at("r.json"), at("s.csv"), "-o",
                              at("all.html"), "--title", "All of it"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(report.out, fmt::format("written: {}\n", at("all.html")));
  for (const char* page : {"p.html", "m.html", "r.html", "s.html", "again.html", "all.html"})
    expect_page(at(page));
  EXPECT_NE(read(at("all.html")).find("<title>All of it</title>"), std::string::npos);
}

TEST_F(ReportCommand, results_without_rows_are_pages_too) {
  const std::string a = at("a.json");
  const std::string b = at("b.json");
  ASSERT_EQ(run({"predict", "lenet5", "--json", a}).exit_code, 0);
  ASSERT_EQ(run({"predict", "lenet5", "--batch", "64", "--json", b}).exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"measure", "lenet5", "--iterations", "1"},
      {"measure", "lenet5", "lenet5:variant=caffe", "--iterations", "1"},
      {"compare", a, b},
      {"explain", a},
      {"explain", "lenet5"},
      {"machine", "show", "h200"},
      {"machine", "diff", "v100", "h200"},
      {"machine", "list"},
      {"list"},
      {"doctor"},
      {"reproduce", "roofline"}};
  for (std::vector<std::string> command : commands) {
    command.insert(command.end(), {"--html", at("page.html")});
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << ": " << outcome.err;
    EXPECT_NE(outcome.out, "") << command[0];  // a page does not replace the table
    expect_page(at("page.html"));
    fs::remove(at("page.html"));
  }
}

TEST_F(ReportCommand, shows_any_document_that_a_command_wrote) {
  const std::string a = at("a.json");
  ASSERT_EQ(run({"predict", "lenet5", "--json", a}).exit_code, 0);
  ASSERT_EQ(run({"compare", a, a, "--json", at("c.json")}).exit_code, 0);
  ASSERT_EQ(run({"explain", a, "--json", at("e.json")}).exit_code, 0);
  ASSERT_EQ(run({"machine", "show", "h200", "--json", at("m.json")}).exit_code, 0);
  ASSERT_EQ(run({"machine", "diff", "v100", "h200", "--json", at("d.json")}).exit_code, 0);
  ASSERT_EQ(run({"reproduce", "roofline", "--json", at("r.json")}).exit_code, 0);
  const Outcome outcome = run({"report", at("c.json"), at("e.json"), at("m.json"), at("d.json"),
                               at("r.json"), "-o", at("all.html")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_page(at("all.html"));
  const Outcome other =
      run({"report", write("x.json", R"({"kind":"comparison"})"), "-o", at("x.html")});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("has a list 'rows'"), std::string::npos) << other.err;
}

TEST_F(ReportCommand, findings_need_a_machine_and_say_so) {
  const std::string profile = write(
      "p.json",
      R"({"schema_version":1,"evidence":"measured","layers":[{"layer":"a","pass":"forward","time_s":1,)"
      R"("flop":1,"traffic_in_bytes":1,"traffic_out_bytes":1,"launches":1}]})");
  EXPECT_EQ(run({"report", profile, "-o", at("p.html")}).exit_code, 0);
  const Outcome unknown = run({"report", profile, "--on", "no-such", "-o", at("q.html")});
  EXPECT_EQ(unknown.exit_code, 2) << unknown.err;  // what was asked for must be there
  EXPECT_EQ(run({"report", profile, "--on", "h200", "-o", at("r.html")}).exit_code, 0);
  EXPECT_GT(read(at("r.html")).size(), read(at("p.html")).size());  // with findings and rooflines
}

TEST_F(ReportCommand, all_studies_are_one_result) {
  const Outcome outcome = run({"reproduce", "all", "--csv", at("all.csv"), "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string csv = read(at("all.csv"));
  for (const char* study : {"analytical", "roofline", "convolution"}) {
    EXPECT_NE(outcome.out.find(fmt::format(R"({{"name":"{}","title":)", study)), std::string::npos);
    EXPECT_NE(csv.find(fmt::format("\n{},", study)), std::string::npos);
  }
  EXPECT_EQ(run({"reproduce", "all", "--from", at("all.csv")}).exit_code, 2);
  EXPECT_EQ(run({"reproduce", "roofline", "--csv", "-", "--json", "-"}).exit_code, 2);
}

TEST_F(ReportCommand, says_when_it_can_only_write_a_plain_page) {
  const Outcome outcome = run({"show", "lenet5", "--html", at("m.html")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err.find("plain page") != std::string::npos, !has_report_page()) << outcome.err;
}

TEST_F(ReportCommand, a_profile_of_an_unknown_machine_has_no_rooflines_but_a_page) {
  EXPECT_EQ(run({"predict", "lenet5", "--json", at("p.json")}).exit_code, 0);
  std::string text = read(at("p.json"));
  const std::string known = "\"name\":\"h100-sxm\"";
  ASSERT_NE(text.find(known), std::string::npos);
  text.replace(text.find(known), known.size(), "\"name\":\"no-such-machine\"");
  const Outcome outcome = run({"report", write("q.json", text), "-o", at("q.html")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run({"report", at("q.json"), "--on", "no-such-machine", "-o", at("q.html")}).exit_code,
            2);
}

TEST_F(ReportCommand, refuses_what_is_no_result_in_one_line) {
  const struct {
    std::string name;
    std::string text;
    std::string says;
  } files[] = {
      {"empty.json", "", "empty.json"},
      {"list.json", "[1, 2]", "list.json"},
      {"other.json", R"({"kind": "machine"})", "but 'machine'"},
      {"nothing.json", "{}", "no profile"},
      {"rows.json",
       R"({"schema_version": 1, "kind": "x", "evidence": "measured", "layers": [{"layer": 1}]})",
       "layers"},
      {"model.json", R"({"kind": "model", "layers": 3})", "list 'layers'"},
      {"roofline.json", R"({"kind": "roofline"})", "list 'profiles'"},
      {"cut.json", R"({"kind": "model", "layers": [)", "cut.json"},
      {"text.txt", "hello\n", "text.txt"},
  };
  for (const auto& file : files) {
    const Outcome outcome = run({"report", write(file.name, file.text), "-o", at("x.html")});
    EXPECT_EQ(outcome.exit_code, 2) << file.name << outcome.err;
    EXPECT_NE(outcome.err.find(file.says), std::string::npos) << file.name << ": " << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(fs::exists(at("x.html"))) << file.name;
  }
  EXPECT_EQ(run({"report", at("absent.json")}).exit_code, 2);
  EXPECT_EQ(run({"report"}).exit_code, 2);
  EXPECT_EQ(run({"sweep", "lenet5", "--capacity", "1MiB", "--html", "-"}).exit_code, 2);
}

}  // namespace
}  // namespace strata::test
