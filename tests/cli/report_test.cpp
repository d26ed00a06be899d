// SPDX-License-Identifier: Apache-2.0
// strata report and --html: one file, and one clear line for what cannot become a page.
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
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
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

  fs::path folder_;
};

TEST_F(ReportCommand, every_command_writes_a_page) {
  EXPECT_EQ(run({"predict", "lenet5", "--html", at("p.html"), "--json", at("p.json")}).exit_code,
            0);
  EXPECT_EQ(run({"show", "lenet5", "--html", at("m.html"), "--json", at("m.json")}).exit_code, 0);
  EXPECT_EQ(
      run({"roofline", at("p.json"), "--html", at("r.html"), "--json", at("r.json")}).exit_code, 0);
  const Outcome sweep = run({"sweep", "lenet5", "--capacity", "1MB,2MB", "--html", at("s.html")});
  EXPECT_EQ(sweep.exit_code, 0);
  EXPECT_EQ(sweep.out, "");  // the page is the result
  EXPECT_EQ(run({"sweep", "lenet5", "--capacity", "1MB,2MB", "--csv", at("s.csv")}).exit_code, 0);
  EXPECT_EQ(run({"sweep", "--from", at("s.csv"), "--html", at("again.html")}).exit_code, 0);
  const Outcome report = run({"report", at("p.json"), at("m.json"), at("r.json"), at("s.csv"), "-o",
                              at("all.html"), "--title", "All of it"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(report.out, fmt::format("written: {}\n", at("all.html")));
  for (const char* page : {"p.html", "m.html", "r.html", "s.html", "again.html", "all.html"})
    expect_page(at(page));
  EXPECT_NE(read(at("all.html")).find("<title>All of it</title>"), std::string::npos);
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
  EXPECT_EQ(run({"sweep", "lenet5", "--capacity", "1MB", "--html", "-"}).exit_code, 2);
}

}  // namespace
}  // namespace strata::test
