// SPDX-License-Identifier: Apache-2.0
#include "strata/version.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace strata::test {
namespace {

TEST(Doctor, finds_something_to_say_of_every_area_and_is_never_a_failure) {
  const Outcome outcome = run({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* area : {"build\n", "\nPython\n", "\nCPU\n", "\nGPU\n"})
    EXPECT_NE(outcome.out.find(area), std::string::npos) << area;
  const Outcome json = run({"doctor", "--json", "-"});
  EXPECT_EQ(json.exit_code, 0);
  const auto document = nlohmann::json::parse(json.out);
  std::set<std::string> states;
  for (const auto& item : document["items"]) {
    EXPECT_FALSE(item["finding"].get<std::string>().empty()) << item.dump();
    states.insert(item["state"].get<std::string>());
    if (item["area"] == "build" && item["name"] == "cuda") {
      EXPECT_EQ(item["state"] == "ready", !cuda_toolkit_version.empty());
    }
  }
  EXPECT_TRUE(states.contains("ready"));
}

TEST(Doctor, shows_every_network_as_it_was_trained) {
  const Outcome outcome = run({"doctor", "--networks"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"resnet50", "H200", "first loss"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
  const Outcome json = run({"doctor", "--networks", "--json", "-"});
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["kind"], "trained_networks");
  EXPECT_FALSE(document["networks"].empty());
}

TEST(Doctor, takes_no_words) {
  const Outcome outcome = run({"doctor", "resnet50"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
}

// Counters of a GPU are absent on a CPU, and it says so.
TEST(Doctor, metrics_of_a_convolution_on_a_cpu_have_a_reason_instead) {
  const Outcome outcome =
      run({"conv", "--shape", "b1,c1,i8,f1,k3", "--strategies", "direct", "--metrics"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("without efficiencies: only GPUs"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace strata::test
