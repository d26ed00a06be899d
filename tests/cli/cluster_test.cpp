// SPDX-License-Identifier: Apache-2.0
// Clusters on the command line: how far training scales, what a run costs, strategies as axes of a
// sweep, files of clusters and of measured strategies.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void expect_refused(std::vector<std::string> words, std::string_view reason) {
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(says(outcome.err, reason)) << outcome.err;
}

TEST(ClusterCommands, devices_are_rows_of_one_table) {
  const Outcome outcome =
      run({"predict", "gpt2:layers=2", "--on", "4xa100-80gb", "--devices", "1,4,6,8", "--batch",
           "16", "--price", "2", "--tokens", "1G", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["kind"], "parallel_scaling");
  ASSERT_EQ(json["rows"].size(), 4U);
  EXPECT_TRUE(says(json["rows"][2]["reason"].get<std::string>(), "no whole nodes of 4"));
  const auto& last = json["rows"][3];
  EXPECT_EQ(last["nodes"], 2);
  const auto& of_run = last["training"]["run"];
  EXPECT_EQ(of_run["iterations"], 61036);  // 10^9 tokens in steps of 16 x 1024
  EXPECT_NEAR(of_run["cost"].get<double>(), 2 * of_run["device_hours"].get<double>(), 1e-9);
  EXPECT_NEAR(of_run["device_hours"].get<double>(),
              8 * 61036 * last["expected"]["time_s"].get<double>() / 3600, 1e-6);
  // A named strategy counts the same run.
  const Outcome named = run({"predict", "gpt2:layers=2", "--on", "2x4xa100-80gb", "--parallel",
                             last["strategy"].get<std::string>(), "--batch", "16", "--price", "2",
                             "--tokens", "1G", "--json", "-"});
  ASSERT_EQ(named.exit_code, 0) << named.err;
  EXPECT_EQ(nlohmann::json::parse(named.out)["training"], last["training"]);
}

TEST(ClusterCommands, devices_are_a_page_also_from_a_stored_document) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const Outcome outcome = run({"predict", "gpt2:layers=2", "--on", "4xa100-80gb", "--devices",
                               "2,4,6", "--batch", "16", "--json", "s.json", "--html", "s.html"},
                              here);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(says(outcome.out, "efficiency")) << outcome.out;  // a page does not replace the table
  ASSERT_EQ(run({"report", "s.json", "-o", "stored.html"}, here).exit_code, 0);
  for (const char* page : {"s.html", "stored.html"}) {
    std::ifstream file(folder.path() / page);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(text.starts_with("<!DOCTYPE html>")) << page;
    EXPECT_FALSE(says(text, "<!--data-->")) << page;
  }
}

TEST(ClusterCommands, flags_that_do_not_go_together_are_refused) {
  const std::vector<std::string> predict = {"predict", "gpt2:layers=2", "--on", "8xh200"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = predict;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  expect_refused(with({"--devices", "8:1:2"}), "runs backwards");
  expect_refused(with({"--devices", "0"}), "--devices");
  expect_refused(with({"--devices", "8", "--parallel", "dp=8"}), "--parallel auto");
  expect_refused(with({"--devices", "8", "--batch", "8", "--batch-per-device", "1"}), "--batch");
  expect_refused(with({"--batch-per-device", "1"}), "goes with --devices");
  expect_refused(with({"--devices", "8", "--csv", "-"}), "--csv");
  expect_refused(with({"--parallel", "dp=8", "--price", "0"}), "--price");
  expect_refused(with({"--parallel", "dp=8", "--tokens", "1", "--samples", "1"}), "give one");
  expect_refused({"predict", "lenet5", "--on", "h200", "--tokens", "1T"}, "name a cluster");
  expect_refused({"predict", "lenet5", "--on", "2xh200", "--parallel", "dp=2", "--tokens", "1T"},
                 "no sequences");
}

TEST(ClusterCommands, a_sweep_over_strategies_is_written_and_read) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const std::vector<std::string> sweep = {
      "sweep",    "gpt2:layers=2", "--on",     "4xa100-80gb", "--batch",    "8",  "--axis",
      "tp=1,2,3", "--axis",        "zero=0,1", "--csv",       "points.csv", "-j", "2"};
  const Outcome written = run(sweep, here);
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_TRUE(says(written.err, "2 of 6 points failed")) << written.err;
  const Outcome asked = run({"sweep", "--from", "points.csv", "--where", "zero == 1 && tp == 2",
                             "--pareto", "expected,memory", "--json", "-"},
                            here);
  ASSERT_EQ(asked.exit_code, 0) << asked.err;
  const auto json = nlohmann::json::parse(asked.out);
  EXPECT_EQ(json["points"]["asked"], 1);
  EXPECT_EQ(json["pareto"]["fronts"][0]["points"][0]["strategy"], "dp=2,tp=2,pp=1,micro=1,zero=1");
}

TEST(ClusterCommands, a_cluster_is_shown_and_written_as_a_file_that_is_taken) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const Outcome shown = run({"machine", "show", "2x8xh100-sxm"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part : {"2 nodes of 8", "NVLink", "InfiniBand", "all-reduce", "assumed:"})
    EXPECT_TRUE(says(shown.out, part)) << part;
  ASSERT_EQ(run({"machine", "show", "2x8xh100-sxm", "--json", "lab.json"}, here).exit_code, 0);
  const std::vector<std::string> asked = {
      "predict", "gpt2:layers=2", "--batch", "16", "--parallel", "dp=16", "--json", "-", "--on"};
  std::vector<std::string> by_name = asked, by_file = asked;
  by_name.emplace_back("2x8xh100-sxm");
  by_file.emplace_back("lab.json");
  const auto time_of = [](const Outcome& outcome) {
    return nlohmann::json::parse(outcome.out)["expected"];
  };
  EXPECT_EQ(time_of(run(by_file, here)), time_of(run(by_name, here)));
  std::ofstream(folder.path() / "lab.json") << R"({"strata_cluster": 1, "machine": "h200"})";
  EXPECT_EQ(run({"machine", "show", "lab.json"}, here).exit_code, 0);
  std::ofstream(folder.path() / "lab.json") << R"({"strata_cluster": 1, "nodes": 0})";
  expect_refused({"machine", "show", (folder.path() / "lab.json").string()}, "cluster.nodes");
}

TEST(ClusterCommands, collectives_are_refused_where_there_is_nothing_to_measure) {
  const Outcome outcome = run({"machine", "measure", "--collectives"});
  EXPECT_TRUE(outcome.exit_code == 3 || outcome.exit_code == 0) << outcome.err;
  EXPECT_EQ(outcome.exit_code == 3, says(outcome.err, "error: ")) << outcome.err;
  expect_refused({"machine", "measure", "--nccl", "libnccl.so.2"}, "goes with --collectives");
  expect_refused({"machine", "measure", "--collectives", "--device", "cpu"}, "--device");
}

TEST(ClusterCommands, measured_strategies_of_ones_own_are_validated) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  std::ofstream(folder.path() / "mine.json") << R"({"strata_parallel_truth": 1, "name": "mine",
    "what": "made up", "framework": "megatron", "dtype": "bf16", "optimizer": "adam",
    "attention": "sdpa", "options": "overlap=no", "runs": [{"model": "gpt2:layers=2",
    "on": "8xa100-80gb", "strategy": "dp=4,tp=2", "batch": 32, "time_s": 0.05}]})";
  const Outcome outcome = run({"validate", "mine.json", "--json", "-"}, here);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto set = nlohmann::json::parse(outcome.out)["sets"][0];
  EXPECT_EQ(set["name"], "mine");
  EXPECT_GT(set["runs"][0]["expected_s"].get<double>(), 0);
}

}  // namespace
}  // namespace strata::test
