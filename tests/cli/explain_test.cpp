// SPDX-License-Identifier: Apache-2.0
// strata explain as a black box: what it takes, what it says, what it refuses.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Json = nlohmann::json;

std::string predicted_in(const TemporaryFolder& folder, std::vector<std::string> more = {}) {
  const std::string path = (folder.path() / "it's lenet.json").string();
  std::vector<std::string> words = {"predict", "lenet5", "--on", "rtx-2080-ti", "--json", path};
  words.insert(words.end(), more.begin(), more.end());
  EXPECT_EQ(run(words).exit_code, 0);
  return path;
}

std::string without_provenance(const std::string& text) {
  Json json = Json::parse(text);
  json.erase("provenance");
  return json.dump();
}

TEST(ExplainCommand, a_stored_prediction_and_the_network_itself_say_the_same) {
  const TemporaryFolder folder;
  const std::string path = predicted_in(folder, {"--capacity", "300KiB", "--bandwidth", "300GB/s"});
  const Outcome stored = run({"explain", path, "--json", "-"});
  const Outcome fresh = run({"explain", "lenet5", "--on", "rtx-2080-ti", "--capacity", "300KiB",
                             "--bandwidth", "300GB/s", "--json", "-"});
  EXPECT_EQ(stored.exit_code, 0) << stored.err;
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  EXPECT_EQ(without_provenance(stored.out), without_provenance(fresh.out));
  EXPECT_NE(stored.out.find("predicted_again"), stored.out.npos);
}

TEST(ExplainCommand, takes_the_words_of_a_framework) {
  const Json amp = Json::parse(run({"explain", "lenet5", "--on", "h200", "--amp", "bf16",
                                    "--channels-last", "--attention", "sdpa", "--json", "-"})
                                   .out);
  EXPECT_EQ(amp["model"]["dtype"], "bf16");
  EXPECT_EQ(amp["expected"]["framework"], "pytorch-eager");
  EXPECT_EQ(amp["time_s"], amp["expected"]["time_s"]);
  EXPECT_LT(amp["limit_time_s"], amp["time_s"]);
  EXPECT_EQ(amp["findings"][0]["code"], "host-bound");
  const Json limit = Json::parse(
      run({"explain", "lenet5", "--on", "h200", "--framework", "none", "--json", "-"}).out);
  EXPECT_TRUE(limit["expected"].is_null());
  EXPECT_TRUE(limit["limit_time_s"].is_null());
  const Outcome text = run({"explain", "lenet5", "--on", "h200"});
  for (const char* part : {"expected ", "lost to ", "limit ", "[host-bound]", "samples/s"})
    EXPECT_NE(text.out.find(part), text.out.npos) << part << text.out;
}

TEST(ExplainCommand, out_of_memory_is_the_headline_and_can_be_a_refusal) {
  const std::vector<std::string> words = {"explain", "resnet18", "--batch",  "4096",
                                          "--on",    "l4",       "--bounds", "never"};
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LT(outcome.out.find("\nout of memory: needs "), outcome.out.find("expected "));
  EXPECT_NE(outcome.out.find("--recompute all needs "), outcome.out.npos) << outcome.out;
  std::vector<std::string> strict = words;
  strict.emplace_back("--require-fit");
  EXPECT_EQ(run(strict).exit_code, 1);
  // A file says the same.
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "large.json").string();
  EXPECT_EQ(run({"predict", "resnet18", "--batch", "4096", "--on", "l4", "--bounds", "never",
                 "--json", path})
                .exit_code,
            0);
  EXPECT_EQ(run({"explain", path, "--require-fit"}).exit_code, 1);
  EXPECT_EQ(run({"explain", path}).out, outcome.out);
}

TEST(ExplainCommand, a_what_if_is_what_predict_says) {
  const TemporaryFolder folder;
  const Json answer = Json::parse(run({"explain", predicted_in(folder), "--json", "-"}).out);
  const std::string changed = (folder.path() / "changed.json").string();
  EXPECT_EQ(run({"predict", "lenet5", "--on", "rtx-2080-ti", "--bandwidth", "1232GB/s", "--json",
                 changed})
                .exit_code,
            0);
  std::ifstream file(changed);
  const Json again = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  bool is_found = false;
  for (const Json& what_if : answer["what_ifs"]) {
    if (what_if["change"] != "twice the bandwidth") continue;
    is_found = true;
    EXPECT_EQ(what_if["time_s"], again["totals"]["time_s"]);
  }
  EXPECT_TRUE(is_found);
}

TEST(ExplainCommand, a_prediction_that_comes_out_otherwise_is_not_made_again) {
  const TemporaryFolder folder;
  const std::string path = predicted_in(folder);
  std::ifstream file(path);
  Json json = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  json["totals"]["time_s"] = 2 * json["totals"]["time_s"].get<double>();
  std::ofstream(path) << json.dump();
  const Outcome changed = run({"explain", path});
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_NE(changed.out.find("note: not predicted again: what was asked now gives"),
            changed.out.npos)
      << changed.out;
  json["provenance"]["request"]["model"] = "no-such-network";
  std::ofstream(path) << json.dump();
  EXPECT_NE(run({"explain", path}).out.find("cannot be asked again"), std::string::npos);
  json["provenance"]["request"] = "rm -rf x";
  std::ofstream(path) << json.dump();
  EXPECT_EQ(run({"explain", path}).exit_code, 0);
  json["provenance"].erase("request");  // as earlier versions wrote it
  std::ofstream(path) << json.dump();
  EXPECT_NE(run({"explain", path}).out.find("does not say what was asked"), std::string::npos);
}

// One file, one iteration: the last write-backs of a prediction belong to no row.
TEST(ExplainCommand, all_commands_say_the_same_iteration_of_one_file) {
  const TemporaryFolder folder;
  const std::string path = predicted_in(folder);
  std::ifstream file(path);
  const Json stored = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  const double time_s = stored["totals"]["time_s"].get<double>();
  ASSERT_GT(stored["totals"]["drain_time_s"].get<double>(), 0.05 * time_s);
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--json", "-"});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  const Json compared = said({"compare", path, path});
  const double expected_s = stored["expected"]["time_s"].get<double>();
  EXPECT_EQ(compared["totals"]["a"]["time_s"].get<double>(), expected_s);
  EXPECT_EQ(compared["a"]["limit_time_s"].get<double>(), time_s);
  const Json limits = said({"compare", path, path, "--times", "limit"});
  EXPECT_EQ(limits["totals"]["b"]["time_s"].get<double>(), time_s);
  EXPECT_EQ(said({"explain", path})["time_s"].get<double>(), expected_s);
  EXPECT_EQ(said({"explain", path})["limit_time_s"].get<double>(), time_s);
  EXPECT_EQ(said({"roofline", path})["profiles"][0]["iteration_time_s"].get<double>(), time_s);
}

TEST(ExplainCommand, refuses_in_one_line) {
  const TemporaryFolder folder;
  const std::string path = predicted_in(folder);
  const auto expect_refusal = [](const std::vector<std::string>& words, const std::string& part) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), outcome.err.npos) << outcome.err;
  };
  expect_refusal({"explain", path, "--batch", "8"}, "--batch is for a model that is predicted");
  expect_refusal({"explain", path, "--top", "some"}, "--top (or all)");
  expect_refusal({"explain", "no-such-file.json"}, "no-such-file.json");
  const std::string bare = (folder.path() / "bare.json").string();
  std::ofstream(bare) << R"({"schema_version":1,"evidence":"measured",)"
                         R"("layers":[{"layer":"a","pass":"forward"}]})";
  expect_refusal({"explain", bare, "--on", "v100"}, "'time_s'");
}

TEST(ExplainCommand, says_what_columns_are_missing) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "trace.json").string();
  std::ofstream(path) << R"({"schema_version":1,"evidence":"measured",)"
                         R"("layers":[{"layer":"a","pass":"forward","time_s":1}]})";
  const Outcome outcome = run({"explain", path, "--on", "v100", "--top", "all"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"'flop'", "'traffic_in_bytes'", "'launches'"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part;
}

}  // namespace
}  // namespace strata::test
