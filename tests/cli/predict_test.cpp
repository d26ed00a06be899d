// SPDX-License-Identifier: Apache-2.0
#include "strata/machine/machine.hpp"
#include "strata/strata.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson predicted(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "predict");
  arguments.insert(arguments.end(), {"--json", "-"});
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return OrderedJson::parse(outcome.out);
}

TEST(Predict, answers_in_a_screen) {
  const Outcome outcome = run({"predict", "lenet5"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.find("LeNet-5, one training iteration, batch 32, fp32, on NVIDIA H100"),
            0U);
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 40);
  for (const char* part :
       {"\n  expected ", "\n  lost to ", "\n  limit ", "\n  lower bound ", "\n  traffic ",
        "\n  memory ", "\n  where the time goes", "\n  what would help"}) {
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part;
  }
}

// Without a framework, and where there is no GPU, the limit is the answer.
TEST(Predict, shows_the_limit_alone_where_no_framework_is_asked_for) {
  for (const auto& flags : {std::vector<std::string>{"--framework", "none"}, {"--on", "grace"}}) {
    std::vector<std::string> words = {"predict", "lenet5"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\n  time "), outcome.out.npos);
    EXPECT_NE(outcome.out.find("limit, not a"), outcome.out.npos);
    EXPECT_EQ(outcome.out.find("expected"), outcome.out.npos);
  }
}

TEST(Predict, expected_time_is_in_the_document) {
  const OrderedJson json = predicted({"resnet18", "--on", "h200", "--amp", "bf16"});
  const OrderedJson& expected = json["expected"];
  EXPECT_EQ(expected["framework"], "pytorch-eager");
  EXPECT_EQ(expected["calibration"], "calibrated");
  EXPECT_LT(expected["interval_s"][0], expected["time_s"]);
  EXPECT_GT(expected["interval_s"][1], expected["time_s"]);
  EXPECT_GT(expected["time_s"], json["totals"]["time_s"]);
  double lost_s = expected["arithmetic_s"], rows_s = 0;
  for (const auto& one : expected["lost_to"]) lost_s += one["time_s"].get<double>();
  EXPECT_NEAR(lost_s, expected["time_s"], 1e-9);
  for (const auto& row : json["layers"]) rows_s += row["expected"]["busy_s"].get<double>();
  EXPECT_NEAR(rows_s, expected["busy_s"], 0.01 * expected["busy_s"].get<double>());
  EXPECT_EQ(json["model"]["dtype"], "bf16");
}

TEST(Predict, out_of_memory_comes_first_and_can_be_a_refusal) {
  const Outcome outcome = run({"predict", "gpt2", "--batch", "64", "--on", "l4", "--require-fit"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("\n  out of memory: needs "), outcome.out.npos);
  EXPECT_NE(outcome.out.find("the largest batch that fits is "), outcome.out.npos);
  EXPECT_LT(outcome.out.find("out of memory"), outcome.out.find("expected"));
}

TEST(Predict, several_machines_are_one_table) {
  const Outcome outcome =
      run({"predict", "resnet18", "--on", "h200,l40s", "--price", "3,1", "--dtype", "tf32"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"h200", "l40s", "calibrated", "corrected", "cost per million"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part;
  EXPECT_EQ(run({"predict", "resnet18", "--on", "h200,l40s", "--price", "3"}).exit_code, 2);
  EXPECT_EQ(run({"predict", "resnet18", "--on", "h200", "--price", "3"}).exit_code, 2);
  EXPECT_EQ(
      run({"predict", "resnet18", "--on", "epyc-9654", "--framework", "pytorch-eager"}).exit_code,
      2);
}

TEST(Predict, prices_of_machine_files_count_unless_others_are_given) {
  const TemporaryFolder folder;
  OrderedJson machine = OrderedJson::parse(to_json(load_machine("l4")));
  machine["price_per_hour"] = {{"value", 2}, {"currency", "EUR"}};
  const std::string path = folder.file("mine.json", machine.dump()).string();
  // The fastest first: the H200.
  const OrderedJson own = predicted({"resnet18", "--on", path + ",h200"})["machines"];
  EXPECT_EQ(own[1]["currency"], "EUR");
  EXPECT_NEAR(own[1]["cost_per_million_samples"].get<double>(),
              2 / 3600. / own[1]["samples_per_s"].get<double>() * 1e6, 1e-9);
  EXPECT_TRUE(own[0]["cost_per_million_samples"].is_null());
  // 72 W for a million samples.
  EXPECT_NEAR(own[1]["kwh_per_million_samples"].get<double>(),
              72 / own[1]["samples_per_s"].get<double>() * 1e6 / 3.6e6, 1e-9);
  const Outcome table = run({"predict", "resnet18", "--on", path + ",h200"});
  EXPECT_NE(table.out.find(" EUR"), table.out.npos) << table.out;
  EXPECT_NE(table.out.find("an upper bound"), table.out.npos) << table.out;
  // Nobody pays for a limit.
  const OrderedJson limits =
      predicted({"resnet18", "--on", path + ",grace", "--framework", "none"})["machines"];
  EXPECT_TRUE(limits[0]["cost_per_million_samples"].is_null());
  EXPECT_TRUE(limits[0]["kwh_per_million_samples"].is_null());
  const OrderedJson given =
      predicted({"resnet18", "--on", path + ",h200", "--price", "4,8"})["machines"];
  EXPECT_EQ(given[1]["price_per_hour"], 4);
  EXPECT_EQ(given[1]["currency"], "USD");
}

TEST(Predict, of_several_machines_the_fastest_comes_first_and_the_best_are_named) {
  const std::vector<std::string> words = {
      "gpt2",    "--batch",      "8", "--amp", "bf16", "--on", "l4,v100,grace,h200,a100-80gb",
      "--price", "0.5,1,1,9,1.5"};
  const OrderedJson json = predicted(words);
  EXPECT_EQ(json["model"]["title"], "GPT-2 small");
  EXPECT_EQ(json["model"]["batch"], 8);
  EXPECT_EQ(json["samples"], 8);
  EXPECT_EQ(json["framework"], "pytorch-eager");
  std::vector<std::string> order;
  double before_s = 0;
  for (const OrderedJson& one : json["machines"]) {
    order.push_back(one["machine"].get<std::string>());
    if (!one.contains("expected")) continue;
    EXPECT_GT(one["expected"]["time_s"].get<double>(), before_s) << order.back();
    before_s = one["expected"]["time_s"].get<double>();
    EXPECT_FALSE(one["title"].get<std::string>().empty());
  }
  EXPECT_EQ(order.front(), "h200");
  EXPECT_TRUE(json["machines"].back().contains("refusal") ||
              !json["machines"].back().contains("expected"))
      << order.back();
  EXPECT_EQ(json["fastest"], "h200");
  const OrderedJson* cheapest = nullptr;
  for (const OrderedJson& one : json["machines"]) {
    if (!one.contains("expected") || !one["fits"].get<bool>()) continue;
    const auto cost = [](const OrderedJson& of) {
      return of["cost_per_million_samples"].get<double>();
    };
    if (cheapest == nullptr || cost(one) < cost(*cheapest)) cheapest = &one;
  }
  ASSERT_NE(cheapest, nullptr);
  EXPECT_EQ(json["cheapest"], (*cheapest)["machine"]);

  std::vector<std::string> shown = {"predict"};
  shown.insert(shown.end(), words.begin(), words.end());
  const std::string text = run(shown).out;
  EXPECT_NE(text.find("\nfastest: h200, "), text.npos) << text;
  EXPECT_NE(text.find(fmt::format("cheapest: {}, $", json["cheapest"].get<std::string>())),
            text.npos)
      << text;
  EXPECT_LT(text.find("  h200 "), text.find("  a100-80gb ")) << text;
}

TEST(Predict, a_machine_out_of_memory_is_neither_the_fastest_nor_before_those_that_fit) {
  const OrderedJson json =
      predicted({"gpt2", "--batch", "64", "--on", "l40s,h200", "--price", "0.01,9"});
  const OrderedJson &first = json["machines"][0], &last = json["machines"][1];
  ASSERT_TRUE(first["fits"].get<bool>());
  ASSERT_FALSE(last["fits"].get<bool>());
  EXPECT_EQ(json["fastest"], "h200");
  EXPECT_EQ(json["cheapest"], "h200");
}

TEST(Predict, names_each_machine_once) {
  const Outcome outcome = run({"predict", "lenet5", "--on", "a100-80gb,h200,a100-80gb"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.find("error: --on names a100-80gb twice; name each machine once\n"), 0U)
      << outcome.err;
}

TEST(Predict, of_several_machines_one_sample_is_no_samples) {
  const Outcome one = run({"predict", "lenet5", "--batch", "1", "--on", "h200,l4"});
  EXPECT_NE(one.out.find(", one training iteration, 1 sample, "), one.out.npos) << one.out;
}

TEST(Predict, a_network_that_does_nothing_takes_no_time) {
  const TemporaryFolder folder;
  const auto path = folder.file(
      "idle.json",
      R"({"strata_network": 1, "inputs": {"x": [2, 3, 4]}, "layers": [{"op": "flatten"}]})");
  const Outcome outcome = run({"predict", path.string(), "--loss", "none"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\n  time              0 s"), outcome.out.npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("nan"), outcome.out.npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("what would help"), outcome.out.npos) << outcome.out;
}

TEST(Predict, words_of_the_hardware_reach_the_prediction) {
  const OrderedJson set = predicted({"lenet5", "--on", "v100", "--bounds", "never", "--set",
                                     "machine.memory.L2.capacity_bytes=3MiB", "--set",
                                     "machine.memory.DRAM.bandwidth_bytes_per_s=1TB/s", "--set",
                                     "machine.peaks.fp32.vector.flop_per_s=2TFLOP/s"});
  const OrderedJson given = predicted({"lenet5", "--on", "v100", "--bounds", "never", "--capacity",
                                       "3MiB", "--bandwidth", "1TB/s", "--throughput", "2TFLOP/s"});
  EXPECT_EQ(set["machine"]["capacity_bytes"], 3 << 20);
  EXPECT_EQ(set["machine"]["bandwidth_bytes_per_s"], 1e12);
  EXPECT_EQ(set["machine"]["dense_flop_per_s"], 2e12);
  EXPECT_EQ(set["totals"], given["totals"]);
}

TEST(Predict, more_of_anything_is_never_slower) {
  const auto time_s = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"resnet18",    "--batch",  "4",    "--on",
                                      "rtx-2080-ti", "--bounds", "never"};
    words.insert(words.end(), more.begin(), more.end());
    return predicted(words)["totals"]["time_s"].get<double>();
  };
  const double plain = time_s({});
  EXPECT_LE(time_s({"--capacity", "1GiB"}), plain);
  EXPECT_LE(time_s({"--bandwidth", "1TB/s"}), plain * 1.005);
  EXPECT_LE(time_s({"--throughput", "100TFLOP/s"}), plain * 1.005);
  EXPECT_LT(time_s({"--inference"}), plain);
  EXPECT_LT(time_s({"--optimizer", "none"}), time_s({"--optimizer", "adam"}));
}

TEST(Predict, outputs_combine) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run({"predict", "lenet5", "--json", "a.json", "--csv", "a.csv", "--trace", "a.trace"},
          {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("where the time goes"), outcome.out.npos);
  const auto text_of = [&](const char* name) {
    std::ifstream file(folder.path() / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const OrderedJson json = OrderedJson::parse(text_of("a.json"));
  EXPECT_EQ(json["kind"], "prediction");
  const std::string csv = text_of("a.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')),
            json["layers"].size() + 1);
  EXPECT_GT(OrderedJson::parse(text_of("a.trace"))["traceEvents"].size(), json["totals"]["steps"]);
}

TEST(Predict, bad_input_is_one_clear_line) {
  const auto refusal = [](std::vector<std::string> words) {
    words.insert(words.begin(), "predict");
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << fmt::format("{}", fmt::join(words, " "));
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  const auto says = [&](const std::vector<std::string>& words, const char* part) {
    const std::string text = refusal(words);
    EXPECT_NE(text.find(part), text.npos) << text;
  };
  says({"lenet5", "--on", "h100"}, "did you mean h100-pcie, h100-sxm");
  says({"lenet5", "--on", "nowhere.json"}, "nowhere.json: no such file");
  says({"lenet5", "--on", "rtx-2080-ti", "--dtype", "bf16"}, "it has: fp32, fp16");
  says({"lenet5", "--capacity", "0"}, "the on-chip capacity (--capacity) must be at least 1 byte");
  says({"lenet5", "--bandwidth", "0"}, "--bandwidth must be positive");
  says({"lenet5", "--bandwidth", "-3GB/s"}, "--bandwidth");
  says({"lenet5", "--throughput", "nan"}, "--throughput expects a rate");
  says({"lenet5", "--set", "machine.memory.L7.capacity_bytes=1MiB"}, "machine.memory.l2");
  says({"lenet5", "--inference", "--optimizer", "adam"}, "does not go with --inference");
  says({"lenet5", "--json", "-", "--csv", "-"}, "both write to standard output");
  says({"lenet5", "--top", "some"}, "--top");
  says({"vgg16", "--capacity", "1MiB", "--strict-minimum"}, "classifier.0");
  says({"lenet5", "--capacity", "8"}, "capacity");
}

TEST(Predict, the_thesis_counts_a_multiply_add_once) {
  const std::vector<std::string> words = {"resnet18", "--batch",  "1",     "--capacity",
                                          "2GiB",     "--bounds", "never", "--optimizer",
                                          "none",     "--loss",   "none"};
  std::vector<std::string> thesis = words;
  thesis.insert(thesis.end(), {"--preset", "thesis"});
  const double plain = predicted(words)["totals"]["compute_time_s"];
  const OrderedJson as_thesis = predicted(thesis);
  EXPECT_EQ(as_thesis["options"]["preset"], "thesis");
  EXPECT_TRUE(as_thesis["machine"]["multiply_add_is_one_operation"]);
  const double ratio = as_thesis["totals"]["compute_time_s"].get<double>() / plain;
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 0.52);
}

TEST(Predict, every_option_of_the_library_is_a_flag) {
  const std::string help = run({"predict", "-h"}).out;
  for (const std::string_view name : predict_options())
    EXPECT_NE(help.find(fmt::format("--{}", name)), help.npos) << name;
}

TEST(Predict, every_machine_that_ships) {
  for (const Machine& machine : shipped_machines()) {
    // What is built for training alone has no rate for fp32.
    const bool has_fp32 = find_peak(machine, DType::fp32, ComputeUnit::vector) != nullptr;
    const OrderedJson json =
        predicted({"resnet18", "--batch", "2", "--on", machine.name, "--policy", "thesis",
                   "--dtype", has_fp32 ? "fp32" : "bf16"});
    EXPECT_GE(json["totals"]["time_s"], json["bounds"]["time_s"]) << machine.name;
    EXPECT_GE(json["totals"]["traffic_in_bytes"].get<double>() +
                  json["totals"]["traffic_out_bytes"].get<double>(),
              json["bounds"]["traffic_model_bytes"].get<double>());
  }
}

}  // namespace
}  // namespace strata::test
