// SPDX-License-Identifier: Apache-2.0
// strata measure and strata compare as black boxes: what they take, what they say, what they
// refuse.
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

Outcome measure(std::vector<std::string> words) {
  words.insert(words.begin(), "measure");
  return run(words);
}

Json json_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return Json::parse(std::string{std::istreambuf_iterator<char>(file), {}});
}

TEST(Measure, writes_a_profile_that_other_commands_read) {
  const TemporaryFolder folder;
  const std::string profile = (folder.path() / "measured.json").string();
  const std::string trace = (folder.path() / "trace.json").string();
  const Outcome measured =
      measure({"lenet5", "--batch", "4", "--iterations", "2", "--json", profile, "--trace", trace});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_NE(measured.out.find("LeNet-5, one training iteration, batch 4"), std::string::npos)
      << measured.out;
  EXPECT_EQ(measured.err, "");
  const Json json = json_in(profile);
  EXPECT_EQ(json["evidence"], "measured");
  EXPECT_EQ(json["totals"]["rows_not_run"], 0);
  EXPECT_GT(json["totals"]["time_s"], 0.0);
  EXPECT_EQ(json["layers"][0]["samples_s"].size(), 2U);
  for (const Json& row : json["layers"]) {
    EXPECT_NE(row["implementation"], "") << row["layer"] << ": nobody knows what computed it";
  }
  EXPECT_FALSE(json_in(trace)["traceEvents"].empty());
  const Json& request = json["provenance"]["request"];
  EXPECT_EQ(request["model"], "lenet5");
  EXPECT_EQ(request["sizes"]["batch"], 4);
  EXPECT_EQ(request["options"], (Json{{"iterations", "2"}}));

  const Outcome roofline = run({"roofline", profile, "--on", "graviton4", "--by", "type"});
  EXPECT_EQ(roofline.exit_code, 0) << roofline.err;
  EXPECT_NE(roofline.out.find("LeNet-5, fp32, measured"), std::string::npos) << roofline.out;

  const std::string predicted = (folder.path() / "predicted.json").string();
  ASSERT_EQ(run({"predict", "lenet5", "--batch", "4", "--on", "graviton4", "--json", predicted})
                .exit_code,
            0);
  const Outcome compared = run({"compare", predicted, profile, "--json", "-"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  for (const Json& row : Json::parse(compared.out)["rows"]) {
    EXPECT_FALSE(row["a"].is_null()) << row;
    EXPECT_FALSE(row["b"].is_null()) << row;
  }
}

TEST(Measure, runs_forward_alone) {
  const Outcome outcome =
      measure({"lenet5", "--batch", "1", "--inference", "--iterations", "1", "--csv", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(",forward,"), std::string::npos);
  EXPECT_EQ(outcome.out.find("backward"), std::string::npos);
  EXPECT_EQ(outcome.out.find("update"), std::string::npos);
}

TEST(Measure, lists_several_networks) {
  const Outcome outcome = measure({"lenet5", "lstm", "--batch", "1", "--iterations", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("lenet5"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("lstm"), std::string::npos) << outcome.out;
  const Outcome json =
      measure({"lenet5", "lstm", "--batch", "1", "--iterations", "1", "--json", "-"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(Json::parse(json.out)["networks"].size(), 2U);
  EXPECT_EQ(measure({"lenet5", "lstm", "--trace", "-"}).exit_code, 2);
  EXPECT_EQ(measure({"lenet5", "--all"}).exit_code, 2);
  EXPECT_EQ(measure({}).exit_code, 2);
}

TEST(Measure, counts_or_says_why_not) {
  const Outcome outcome =
      measure({"lenet5", "--batch", "1", "--iterations", "1", "--metrics", "paper", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["counters"]["preset"], "paper");
  const bool has_reason = json["counters"].contains("reason");
  EXPECT_EQ(has_reason, json["counters"]["columns"].empty());
  EXPECT_EQ(has_reason, !json["layers"][0].contains("counters"));
  EXPECT_EQ(measure({"lenet5", "--kernels"}).exit_code, 2);
  EXPECT_EQ(measure({"lenet5", "--metrics", "everything"}).exit_code, 2);
}

TEST(Measure, refuses_what_makes_no_sense) {
  EXPECT_EQ(measure({"lenet5", "--device", "tpu"}).exit_code, 2);
  EXPECT_EQ(measure({"lenet5", "--iterations", "0"}).exit_code, 2);
  EXPECT_EQ(measure({"lenet5", "--inference", "--optimizer", "sgd"}).exit_code, 2);
  EXPECT_EQ(measure({"lenet5", "--conv", "magic"}).exit_code, 2);
  for (const char* flag : {"--engine", "--rnn", "--attention", "--fresh-choices"}) {
    EXPECT_EQ(measure({"lenet5", flag, "onednn"}).exit_code, 2) << flag;  // of earlier versions
  }
}

TEST(Compare, answers_with_its_exit_code) {
  const TemporaryFolder folder;
  const std::string slow = (folder.path() / "slow.json").string();
  const std::string fast = (folder.path() / "fast.json").string();
  ASSERT_EQ(run({"predict", "lenet5", "--on", "k40c", "--json", slow}).exit_code, 0);
  ASSERT_EQ(run({"predict", "lenet5", "--on", "v100", "--json", fast}).exit_code, 0);
  EXPECT_EQ(run({"compare", slow, fast}).exit_code, 0);
  // PyTorch takes as long on either: the host is what it waits for. The limits are far apart.
  EXPECT_EQ(run({"compare", slow, fast, "--threshold", "10%"}).exit_code, 0);
  const Outcome beyond = run({"compare", slow, fast, "--times", "limit", "--threshold", "10%"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_NE(beyond.out.find("beyond the threshold"), std::string::npos) << beyond.out;
  EXPECT_EQ(run({"compare", fast, fast, "--threshold", "0"}).exit_code, 0);
  EXPECT_EQ(run({"compare", fast, fast, "--threshold", "-1"}).exit_code, 2);
  EXPECT_EQ(run({"compare", fast, fast, "--threshold", "ten"}).exit_code, 2);
  EXPECT_EQ(run({"compare", fast}).exit_code, 2);
  EXPECT_EQ(run({"compare", fast, (folder.path() / "absent.json").string()}).exit_code, 2);
}

}  // namespace
}  // namespace strata::test
