// SPDX-License-Identifier: Apache-2.0
#include "strata/api/validate_parallel.hpp"

#include "strata/base/error.hpp"
#include "strata/base/temporary_folder_test.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace strata {
namespace {

constexpr const char* two_runs = R"({"strata_parallel_truth": 1, "name": "two", "framework":
  "megatron", "what": "made up", "dtype": "fp16", "optimizer": "adam", "attention": "eager",
  "options": "recompute=full", "runs": [
  {"model": "gpt2:layers=2", "on": "4xa100-80gb", "strategy": "dp=4", "batch": 16, "time_s": 0.5},
  {"model": "gpt2:layers=2", "on": "4xa100-80gb", "strategy": "tp=3", "batch": 16, "time_s": 1}]})";

TEST(ParallelTruthFile, of_ones_own_is_predicted_as_a_set_that_ships) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.json").string();
  EXPECT_FALSE(is_parallel_truth_file(path));
  std::ofstream(path) << two_runs;
  ASSERT_TRUE(is_parallel_truth_file(path));
  const auto runs = validate(load_parallel_truth(path));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].left_out, "");
  EXPECT_GT(runs[0].expected.time_s, 0);
  EXPECT_EQ(runs[0].expected.strategy.recompute, RankRecompute::full);
  EXPECT_NE(runs[1].left_out, "");  // three ranks are not four devices
  std::ofstream(path) << R"({"strata_parallel_truth": 1, "name": 3})";
  try {
    load_parallel_truth(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("mine.json"), std::string::npos) << error.what();
  }
}

TEST(ParallelTruthFile, describes_clusters_of_its_own) {
  std::string text = two_runs;
  const std::string on = R"("on": "4xa100-80gb", "strategy": "dp=4")";
  text.replace(text.find(on), on.size(), R"("on": "slow", "strategy": "dp=1,tp=4")");
  const std::string runs = "\"runs\": [";
  const auto with_link = [&](const std::string& rate) {
    std::string file = text;
    return file.insert(file.find(runs),
                       R"("clusters": {"slow": {"strata_cluster": 1, "machine": "a100-80gb",
      "devices_per_node": 4, "inside": {"bandwidth_bytes_per_s": )" +
                           rate + R"(, "source": "made up"}}}, )");
  };
  const auto time_with = [&](const std::string& rate) {
    const auto expected = validate(read_parallel_truth(with_link(rate)));
    EXPECT_EQ(expected[0].left_out, "");
    return expected[0].expected.time_s;
  };
  EXPECT_GT(time_with("10e9"), 1.5 * time_with("300e9"));
  try {
    read_parallel_truth(with_link("0"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("truth.clusters.slow"), std::string::npos)
        << error.what();
  }
}

TEST(ParallelTruthFile, wrong_values_are_refused_by_their_place) {
  const auto refusal = [](std::string from, std::string to) {
    std::string text = two_runs;
    text.replace(text.find(from), from.size(), to);
    try {
      read_parallel_truth(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const auto says = [&](std::string from, std::string to, const char* words) {
    const std::string reason = refusal(from, to);
    EXPECT_NE(reason.find(words), std::string::npos) << reason;
  };
  says("\"time_s\": 0.5", "\"time_s\": 0", "truth.runs[0].time_s: must be positive");
  says("\"time_s\": 0.5", "\"time_s\": \"fast\"", "expected a number");
  says("\"batch\": 16", "\"batch\": -16", "truth.runs[0].batch");
  says("\"batch\": 16", "\"batch\": 1e12", "expected a count");
  says("\"strategy\": \"dp=4\"", "\"strategy\": 4", "expected text");
  says("\"eager\"", "\"flash\"", "truth.attention");
  says("\"name\"", "\"nmae\"", "'name' is missing");
  says("\"strata_parallel_truth\": 1", "\"strata_parallel_truth\": 2", "expected 1");
  EXPECT_EQ(refusal("two", "three"), "accepted");
}

}  // namespace
}  // namespace strata
