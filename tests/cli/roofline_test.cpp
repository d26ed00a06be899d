// SPDX-License-Identifier: Apache-2.0
// strata roofline as a black box: what it takes, what it says, what it refuses.
#include "strata/report/chart/png.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Json = nlohmann::json;

Outcome roofline(std::vector<std::string> words) {
  words.insert(words.begin(), "roofline");
  return run(words);
}

std::string text_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path prediction_in(const TemporaryFolder& folder) {
  const auto path = folder.path() / "lenet5.json";
  EXPECT_EQ(run({"predict", "lenet5", "--on", "v100-nersc", "--json", path.string()}).exit_code, 0);
  return path;
}

TEST(Roofline, a_stored_prediction_and_the_network_itself_say_the_same) {
  const TemporaryFolder folder;
  const Outcome stored = roofline({prediction_in(folder).string(), "--csv", "-"});
  const Outcome fresh = roofline({"lenet5", "--on", "v100-nersc", "--csv", "-"});
  EXPECT_EQ(stored.exit_code, 0) << stored.err;
  EXPECT_EQ(stored.out, fresh.out);
  EXPECT_GT(std::count(stored.out.begin(), stored.out.end(), '\n'), 10);
}

TEST(Roofline, numbers_are_those_of_the_prediction) {
  const TemporaryFolder folder;
  const auto path = prediction_in(folder);
  const Json prediction = Json::parse(text_in(path));
  const Json answer = Json::parse(roofline({path.string(), "--by", "all", "--json", "-"}).out);
  const Json& total = answer["profiles"][0]["rows"][0];
  EXPECT_EQ(total["flop"], prediction["totals"]["flop"]);
  EXPECT_EQ(total["bytes"], prediction["totals"]["traffic_in_bytes"].get<std::int64_t>() +
                                prediction["totals"]["traffic_out_bytes"].get<std::int64_t>());
  std::int64_t launches = 0;
  for (const Json& row : prediction["layers"]) launches += row["launches"].get<std::int64_t>();
  EXPECT_EQ(total["launches"], launches);
  EXPECT_DOUBLE_EQ(total["overhead_s"].get<double>(), 4.2e-6 * static_cast<double>(launches));
  EXPECT_EQ(total["bound"], "launch");
}

TEST(Roofline, answers_in_a_screen) {
  const Outcome outcome =
      roofline({"resnet50", "--on", "v100-nersc", "--by", "type", "-t", "fp16"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 40);
  for (const char* part : {"roofs (auto)", "FLOP/byte", "memory (DRAM)", "compute", "from roof",
                           "time by bound", "launches alone"}) {
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part;
  }
}

TEST(Roofline, pictures_are_written_one_by_one_or_together) {
  const TemporaryFolder folder;
  const std::string prefix = (folder.path() / "picture").string();
  const std::string plot = (folder.path() / "all.svg").string();
  const Outcome outcome =
      roofline({"lenet5", "--on", "v100-nersc", "--svg", prefix, "--plot", plot});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* kind : {"classic", "complexity", "time", "combined"}) {
    const std::string svg = text_in(prefix + "-" + kind + ".svg");
    EXPECT_NE(svg.find("<title>"), svg.npos) << kind;
    EXPECT_NE(svg.find("launch"), svg.npos) << kind;
  }
  EXPECT_NE(text_in(plot).find("Combined"), std::string::npos);
}

TEST(Roofline, labels_join_profiles_over_a_parameter) {
  const TemporaryFolder folder;
  std::vector<std::string> words;
  for (const char* batch : {"16", "32"}) {
    const auto path = folder.path() / (std::string("b") + batch + ".json");
    run({"predict", "conv2d", "-b", batch, "--on", "v100-nersc", "--json", path.string()});
    words.insert(words.end(), {path.string(), "--label", std::string("batch=") + batch});
  }
  words.insert(words.end(), {"--kind", "combined", "--plot", "-"});
  const Outcome outcome = roofline(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("joined over batch"), outcome.out.npos);
  EXPECT_NE(outcome.out.find(">conv forward<"), outcome.out.npos);
}

TEST(Roofline, a_profile_that_lacks_something_says_what_still_works) {
  const TemporaryFolder folder;
  const std::string head =
      R"({"schema_version": 1, "kind": "measurement", "evidence": "measured", "layers": [{"layer": "a", "pass": "forward", )";
  const auto timed = folder.file("timed.json", head + R"("time_s": 1}]})");
  Outcome outcome = roofline({timed.string(), "--on", "v100"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("neither FLOP ('flop') nor bytes"), outcome.err.npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);

  const auto counted = folder.file(
      "counted.json",
      head + R"("flop": 100, "traffic_in_bytes": 10, "traffic_out_bytes": 10, "launches": 1}]})");
  outcome = roofline({counted.string(), "--on", "v100", "--kind", "time", "--plot", "-"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("only complexity works"), outcome.err.npos) << outcome.err;
  outcome = roofline({counted.string(), "--on", "v100", "--kind", "complexity", "--plot", "-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(roofline({counted.string(), "--on", "v100"}).exit_code, 0);
}

TEST(Roofline, refuses_what_does_not_go_together) {
  const TemporaryFolder folder;
  const auto broken = folder.file("broken.json", R"({"schema_version": 1})");
  const std::vector<std::vector<std::string>> wrong = {
      {broken.string(), "--on", "v100"},
      {"lenet5", "--roof", "fp17"},
      {"lenet5", "--on", "v100", "--roof", "bf16"},
      {"lenet5", "--on", "i9-10980xe", "--roof", "tensor"},
      {"lenet5", "--label", "a", "--label", "b"},
      {"lenet5", "--kind", "time"},
      {"lenet5", "--png"},
      {"lenet5", "--json", "-", "--csv", "-"},
      {"lenet5", "--top", "none"},
      {prediction_in(folder).string(), "--batch", "4"},
      {"no_such_network"},
  };
  for (const std::vector<std::string>& words : wrong) {
    const Outcome outcome = roofline(words);
    EXPECT_EQ(outcome.exit_code, 2) << words.back();
    EXPECT_EQ(outcome.out, "") << words.back();
    EXPECT_EQ(outcome.err.find("error: "), 0U) << outcome.err;
  }
}

TEST(Roofline, reuse_frequency_is_of_the_network_alone) {
  const TemporaryFolder folder;
  const auto picture = folder.path() / "reuse.svg";
  const Outcome outcome = roofline({"lenet5", "--on", "v100-nersc", "--batch", "2", "--inference",
                                    "--reuse", "--plot", picture.string(), "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(text_in(picture).starts_with("<svg "));
  const Json answer = Json::parse(outcome.out);
  EXPECT_EQ(answer.at("kind"), "reuse_roofline");
  const double bytes_per_s = answer.at("bandwidth_bytes_per_s");
  ASSERT_FALSE(answer.at("rows").empty());
  for (const Json& row : answer.at("rows")) {
    double bytes = 0;
    for (const Json& value : row.at("values")) bytes += value.at("bytes").get<double>();
    EXPECT_EQ(row.at("bytes").get<double>(), bytes);
    const double frequency = row.at("flop").get<double>() / bytes;
    EXPECT_DOUBLE_EQ(row.at("reuse_frequency_flop_per_byte").get<double>(), frequency);
    EXPECT_DOUBLE_EQ(row.at("attainable_flop_per_s").get<double>(),
                     std::min(frequency * bytes_per_s, row.at("peak_flop_per_s").get<double>()));
  }
  const Outcome table = roofline({"lenet5", "--on", "v100-nersc", "--reuse", "--top", "3"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("ridge point 18.29 FLOP/byte"), std::string::npos) << table.out;
}

// 67 TFLOP/s over 1 TB/s; Adam reads and writes two states where momentum has one.
TEST(Roofline, roofs_and_rows_follow_the_options_of_the_prediction) {
  const auto reuse = [](const std::string& flag, const std::string& value) {
    return Json::parse(
        roofline({"lenet5", "--reuse", "--on", "h200", flag, value, "--json", "-"}).out);
  };
  EXPECT_NE(roofline({"lenet5", "--reuse", "--on", "h200", "--bandwidth", "1TB/s"})
                .out.find("ridge point 67.00 FLOP/byte"),
            std::string::npos);
  EXPECT_NE(reuse("--optimizer", "adam")["rows"], reuse("--optimizer", "momentum")["rows"]);
  const auto bound = [](const std::string& rate) {
    return roofline({"lenet5", "--on", "h200", "--bandwidth", rate}).out;
  };
  EXPECT_NE(bound("1TB/s"), bound("4.8TB/s"));
}

// Figure 5.1 of the thesis, which `reproduce analytical` draws: 43 of 54 forward layers of
// ResNet-50 and 8 of 53 of MobileNet are above the ridge, if a multiply-add is one operation.
TEST(Roofline, reuse_counts_operations_as_the_preset_does) {
  const auto above = [](const std::string& network) {
    const Json answer =
        Json::parse(roofline({network, "--reuse", "--preset", "thesis", "--on", "rtx-2080-ti",
                              "--throughput", "13.45TFLOP/s", "--json", "-"})
                        .out);
    EXPECT_TRUE(answer.at("multiply_add_is_one_operation"));
    std::pair<int, int> count;
    for (const Json& row : answer.at("rows")) {
      if (row.at("pass") != "forward" || row.at("class") != "dense") continue;
      ++count.second;
      if (row.at("bound") == "compute") ++count.first;
    }
    return count;
  };
  EXPECT_EQ(above("resnet50_keras"), std::pair(43, 54));
  EXPECT_EQ(above("mobilenet_v2_keras"), std::pair(8, 53));
  const Outcome table = roofline({"resnet50_keras", "--reuse", "--preset", "thesis", "--on",
                                  "rtx-2080-ti", "--throughput", "13.45TFLOP/s"});
  EXPECT_NE(table.out.find("forward: dense 43 of 54"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("a multiply-add counts as 1 operation"), std::string::npos);
}

TEST(Roofline, reuse_refuses_profiles_and_what_does_not_go_with_it) {
  const TemporaryFolder folder;
  const std::string profile = prediction_in(folder).string();
  for (const std::vector<std::string>& words : {std::vector<std::string>{profile, "--reuse"},
                                                {"lenet5", "alexnet", "--reuse"},
                                                {"lenet5", "--reuse", "--by", "type"},
                                                {"lenet5", "--reuse", "--html", "x.html"}})
    EXPECT_EQ(roofline(words).exit_code, 2) << words.back();
}

}  // namespace
}  // namespace strata::test
