// SPDX-License-Identifier: Apache-2.0
// One quantity has one number, whichever words asked for it and whichever command prints it.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using NumberJson = nlohmann::json;
using NumberWords = std::vector<std::string>;

NumberJson document_of(NumberWords words) {
  words.insert(words.end(), {"--json", "-"});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return NumberJson::parse(outcome.out);
}

bool mentions_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(OneNumber, one_gpu_is_a_cluster_of_one) {
  for (const char* model : {"gpt2", "resnet50", "bert_base"}) {
    const NumberWords both = {"predict", model, "--batch", "8", "--bounds", "never", "--on"};
    NumberWords gpu = both, cluster = both;
    gpu.emplace_back("h100-sxm");
    cluster.emplace_back("1xh100-sxm");
    const NumberJson alone = document_of(gpu), one = document_of(cluster);
    EXPECT_EQ(one["strategy"]["text"], "dp=1,tp=1,pp=1,micro=1") << model;
    EXPECT_EQ(one["memory"]["total_bytes"], alone["expected"]["memory_bytes"]) << model;
    EXPECT_EQ(one["strategies"][0]["memory_bytes"], one["memory"]["total_bytes"]) << model;
    const double time_s = alone["expected"]["time_s"], limit_s = alone["totals"]["time_s"];
    EXPECT_NEAR(one["expected"]["time_s"].get<double>(), time_s, 1e-9 * time_s) << model;
    EXPECT_NEAR(one["limit_s"].get<double>(), limit_s, 1e-9 * limit_s) << model;
    EXPECT_NEAR(one["samples_per_s"].get<double>(),
                alone["expected"]["samples_per_s"].get<double>(),
                1e-9 * alone["expected"]["samples_per_s"].get<double>());
  }
}

TEST(OneNumber, strategies_say_the_memory_that_the_answer_says) {
  const NumberJson choice = document_of({"predict", "gpt2", "--on", "8xh100-sxm", "--batch", "32",
                                         "--amp", "bf16", "--optimizer", "adam"});
  EXPECT_EQ(choice["strategies"][0]["strategy"], choice["strategy"]["text"]);
  EXPECT_EQ(choice["strategies"][0]["memory_bytes"], choice["memory"]["total_bytes"]);
}

/// The sum of a key over an object's rows, by one of their words.
std::map<std::string, double> sums_by(const NumberJson& rows, const char* word,
                                      const std::vector<const char*>& path) {
  std::map<std::string, double> sums;
  for (const NumberJson& row : rows) {
    const NumberJson* at = &row;
    for (const char* key : path) at = &at->at(key);
    if (at->is_number()) sums[row[word]] += at->get<double>();
  }
  return sums;
}

TEST(OneNumber, types_take_in_a_comparison_what_they_take_in_a_prediction) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  ASSERT_EQ(
      run({"predict", "resnet50", "--on", "h200", "--bounds", "never", "--json", "p.json"}, here)
          .exit_code,
      0);
  const Outcome predicted = run({"compare", "p.json", "p.json", "--json", "-"}, here);
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const NumberJson profile =
      document_of({"predict", "resnet50", "--on", "h200", "--bounds", "never"});
  const NumberJson compared = NumberJson::parse(predicted.out);
  const auto types = sums_by(profile["layers"], "op", {"expected", "busy_s"});
  const auto both = sums_by(compared["rows"], "op", {"a", "time_s"});
  EXPECT_GT(types.at("relu"), 0);
  EXPECT_GT(types.at("gradient_sum"), 0);
  ASSERT_EQ(types.size(), both.size());
  for (const auto& [type, time_s] : types)
    EXPECT_NEAR(both.at(type), time_s, 1e-9 * time_s + 1e-15) << type;
  // Of a sum of gradients beside a layer's own step each has its own time.
  for (const NumberJson& row : profile["layers"]) {
    if (row["op"] != "relu" && row["op"] != "gradient_sum") continue;
    EXPECT_GT(row["expected"]["busy_s"], 0) << row["layer"] << row["pass"] << row["op"];
  }
}

TEST(OneNumber, counts_are_whole) {
  const NumberJson profile =
      document_of({"predict", "resnet50", "--on", "h200", "--bounds", "never"});
  const NumberJson& launches = profile["expected"]["launches"];
  EXPECT_TRUE(launches.is_number_integer()) << launches;
  std::int64_t sum = 0;
  for (const NumberJson& row : profile["layers"]) {
    EXPECT_TRUE(row["expected"]["launches"].is_number_integer()) << row;
    sum += row["expected"]["launches"].get<std::int64_t>();
  }
  EXPECT_EQ(sum, launches.get<std::int64_t>());
  EXPECT_TRUE(profile["machine"]["memory_bytes"].is_number_integer());
  const NumberJson many = document_of({"predict", "gpt2:layers=2", "--on", "2xh100-sxm",
                                       "--parallel", "dp=2", "--batch", "6", "--tokens", "1T"});
  EXPECT_TRUE(many["model_flop"].is_number_integer());
  EXPECT_TRUE(many["training"]["run"]["iterations"].is_number_integer());
  for (const auto& [key, bytes] : many["stages"][0]["sent"].items())
    EXPECT_TRUE(bytes.is_number_integer()) << key;
}

TEST(OneNumber, batch_is_that_of_an_update) {
  const NumberJson split = document_of({"predict", "resnet18", "--on", "h200", "--batch", "64",
                                        "--micro-batches", "4", "--optimizer", "adam"});
  EXPECT_EQ(split["model"]["batch"], 64);
  EXPECT_EQ(split["totals"]["samples"], 64);
  EXPECT_EQ(split["model"]["setup"], "fp32, optimizer adam, 4 micro-batches of 16");
  const Outcome refused = run({"predict", "resnet18", "--batch", "64", "--micro-batches", "3"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(mentions_text(refused.err, "--batch 63 or 66")) << refused.err;
}

TEST(OneNumber, head_lines_say_how_a_network_is_trained) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const NumberWords asked_with = {"lenet5", "--on",        "h200", "--amp",
                                  "bf16",   "--optimizer", "adam", "--micro-batches",
                                  "2",      "--recompute", "all"};
  const std::string setup = "bf16 autocast, optimizer adam, 2 micro-batches of 16, recompute all";
  for (const char* command : {"predict", "explain", "roofline"}) {
    NumberWords words = {command};
    words.insert(words.end(), asked_with.begin(), asked_with.end());
    const Outcome outcome = run(words, here);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(mentions_text(outcome.out, setup)) << outcome.out;
  }
  NumberWords stored = {"predict", "--json", "p.json"};
  stored.insert(stored.end(), asked_with.begin(), asked_with.end());
  ASSERT_EQ(run(stored, here).exit_code, 0);
  for (const NumberWords& words :
       {NumberWords{"compare", "p.json", "p.json"}, NumberWords{"explain", "p.json"}}) {
    const Outcome outcome = run(words, here);
    EXPECT_TRUE(mentions_text(outcome.out, setup)) << outcome.out << outcome.err;
  }
  EXPECT_TRUE(mentions_text(run({"predict", "lenet5", "--dtype", "bf16"}).out, "pure bf16"));
  EXPECT_TRUE(mentions_text(run({"predict", "lenet5", "--framework", "pytorch-compile"}).out,
                            "fp32, pytorch-compile, on"));
  EXPECT_TRUE(mentions_text(run({"predict", "lenet5", "--on", "2xh200", "--amp", "bf16"}).out,
                            "bf16 autocast, optimizer momentum"));
}

}  // namespace
}  // namespace strata::test
