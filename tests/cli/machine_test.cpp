// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_command.hpp"
#include "strata/machine/load_machine.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace strata::test {
namespace {

using Json = nlohmann::json;

/// The files of nodes whose DRAM reaches these bandwidths.
std::vector<std::string> node_files(const TemporaryFolder& folder,
                                    const std::vector<double>& bandwidths) {
  std::vector<std::string> files;
  for (const double bandwidth : bandwidths) {
    Machine machine = load_machine("h200");
    const std::string host = "node" + std::to_string(files.size());
    machine.measured = Measured{host, "2026-03-01", {}, {}};
    machine.memory.back().bandwidth_bytes_per_s->value = bandwidth;
    files.push_back((folder.path() / (host + ".json")).string());
    std::ofstream(files.back()) << to_json(machine);
  }
  return files;
}

TEST(MachineCommand, the_choices_are_the_actions) {
  const std::string err = run({"machine", "no-such-action"}).err;
  for (const MachineSubcommand* action : machine_subcommands())
    EXPECT_NE(err.find(action->name), err.npos) << err;
}

TEST(MachineCommand, lists_every_machine_with_its_balance) {
  const Outcome table = run({"machine", "list"});
  const Outcome json = run({"machine", "list", "--json", "-"});
  EXPECT_EQ(table.exit_code + json.exit_code, 0);
  const Json machines = Json::parse(json.out)["machines"];
  ASSERT_EQ(machines.size(), shipped_machines().size());
  for (const Json& entry : machines) {
    EXPECT_NE(table.out.find("  " + entry["name"].get<std::string>() + " "), std::string::npos);
    if (entry["name"] == "v100-nersc") {
      EXPECT_NEAR(entry["balance_flop_per_byte"].get<double>(), 129.68, 0.005);
      EXPECT_EQ(entry["evidence"], "measured");
    }
    // A TPU's rates stand in its documentation; the Xeon's come from its units and its clock.
    if (entry["name"] == "tpu-v5e") {
      EXPECT_EQ(entry["evidence"], "published");
    }
    if (entry["name"] == "xeon-6980p") {
      EXPECT_EQ(entry["evidence"], "partly estimated");
    }
  }
}

TEST(MachineCommand, shows_every_source_and_writes_a_file_that_reads_back) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "copy.json").string();
  for (const Machine& machine : shipped_machines()) {
    if (machine.name != "v100-nersc" && machine.name != "mi300x") continue;
    const Outcome shown = run({"machine", "show", machine.name, "--json", path});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    for (const MachineNumber& entry : numbers_of(machine))
      EXPECT_NE(shown.out.find(entry.number.source), std::string::npos) << entry.path;
    EXPECT_EQ(load_machine(path), machine);
    EXPECT_EQ(run({"machine", "show", path}).out, run({"machine", "show", machine.name}).out);
  }
}

TEST(MachineCommand, diff_gives_the_ratio_of_every_number) {
  const Json numbers =
      Json::parse(run({"machine", "diff", "h100-sxm", "h200", "--json", "-"}).out)["numbers"];
  int different = 0;
  for (const Json& entry : numbers) {
    different += !entry["ratio"].is_null() && entry["ratio"] != 1.0;
    if (entry["path"] == "machine.memory.dram.bandwidth_bytes_per_s") {
      EXPECT_NEAR(entry["ratio"].get<double>(), 4.8 / 3.35, 1e-12);
    }
  }
  EXPECT_EQ(different, 3);  // the H200 is an H100 with more L2, and more and faster memory
}

TEST(MachineCommand, merge_makes_a_machine_of_medians_and_names_who_stands_out) {
  const TemporaryFolder folder;
  std::vector<std::string> words = node_files(folder, {4.6e12, 4.65e12, 4.3e12});
  const std::string merged = (folder.path() / "merged.json").string();
  words.insert(words.begin(), {"machine", "merge", "--out", merged});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("node2"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("memory.dram.bandwidth_bytes_per_s"), std::string::npos);
  EXPECT_EQ(load_machine(merged).memory.back().bandwidth_bytes_per_s->value, 4.6e12);
  EXPECT_EQ(run({"predict", "lenet5", "--on", merged}).exit_code, 0);
  words.insert(words.end(), {"--json", "-"});
  const Json report = Json::parse(run(words).out);
  ASSERT_EQ(report["outliers"].size(), 1u);
  EXPECT_EQ(report["outliers"][0]["host"], "node2");
}

TEST(MachineCommand, bad_input_is_one_clear_line_and_exit_2) {
  const TemporaryFolder folder;
  const std::string bad = (folder.path() / "bad.json").string();
  Json document = Json::parse(to_json(load_machine("v100")));
  document["memory"][2]["bandwidth_bytes_per_s"]["value"] = -1;
  std::ofstream(bad) << document.dump();
  const auto says = [](const std::vector<std::string>& words, const std::string& message) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  };
  says({"machine", "show", bad},
       bad + ": machine.memory[2].bandwidth_bytes_per_s.value: must be positive, got -1");
  says({"predict", "lenet5", "--on", bad}, "machine.memory[2].bandwidth_bytes_per_s.value");
  says({"machine", "show", "h202"}, "did you mean h20, h200");
  says({"machine", "show"}, "machine show expects 1 machine, got 0");
  says({"machine", "diff", "h200"}, "machine diff expects 2 machines, got 1");
  says({"machine", "merge", bad}, "machine merge expects at least 2 machines, got 1");
  says({"machine", "merge", "h100-sxm", "h200"}, "expected a measured machine");
  says({"machine", "list", "h200"}, "machine list expects no machine, got 1");
  says({"machine", "list", "--out", "x"}, "--out does not go with machine list");
}

}  // namespace
}  // namespace strata::test
