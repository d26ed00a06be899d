// SPDX-License-Identifier: Apache-2.0
// Options as a file (docs/options-file.md), and what results say of the files they were made of.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

using Json = nlohmann::json;
using OptionWords = std::vector<std::string>;

std::string saved_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string predicted_csv(const OptionWords& more, const std::filesystem::path& folder) {
  OptionWords words = {"predict", "--csv", "-"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = run(words, {.folder = folder});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

TEST(OptionsFile, says_the_same_as_the_command_line) {
  const TemporaryFolder folder;
  const std::string typed =
      predicted_csv({"lenet5", "--on", "v100", "--batch", "8", "--inference"}, folder.path());
  folder.file(
      "run.toml",
      "command = \"predict\"\nmodel = \"lenet5\"\non = \"v100\"\nbatch = 8\ninference = true\n");
  folder.file("run.json",
              R"({"arguments": ["lenet5"], "on": "v100", "batch": "8", "inference": true})");
  EXPECT_EQ(predicted_csv({"--options", "run.toml"}, folder.path()), typed);
  EXPECT_EQ(predicted_csv({"--options", "run.json"}, folder.path()), typed);
}

TEST(OptionsFile, gives_way_to_what_is_typed) {
  const TemporaryFolder folder;
  folder.file("run.toml",
              "model = \"alexnet\"\non = \"v100\"\nbatch = 8\n"
              "set = [\"machine.memory.DRAM.bandwidth_bytes_per_s=1TB/s\"]\n");
  const OptionWords set = {"--set", "machine.memory.DRAM.bandwidth_bytes_per_s=2TB/s"};
  OptionWords from_file = {"lenet5", "--options", "run.toml", "--batch=4"};
  OptionWords typed = {"lenet5", "--on", "v100", "--batch", "4"};
  from_file.insert(from_file.end(), set.begin(), set.end());
  typed.insert(typed.end(), set.begin(), set.end());
  EXPECT_EQ(predicted_csv(from_file, folder.path()), predicted_csv(typed, folder.path()));
}

TEST(OptionsFile, finds_models_and_machines_beside_it_and_writes_where_it_runs) {
  const TemporaryFolder folder;
  const std::filesystem::path inner = folder.path() / "inner";
  std::filesystem::create_directory(inner);
  ASSERT_EQ(run({"convert", "lenet5", "--out", (inner / "net.json").string()}).exit_code, 0);
  ASSERT_EQ(run({"machine", "show", "v100", "--json", (inner / "chip.json").string()}).exit_code,
            0);
  std::ofstream(inner / "run.toml")
      << "model = \"net.json\"\non = \"chip.json\"\njson = \"out.json\"\n";
  const Outcome outcome =
      run({"predict", "--options", "inner/run.toml"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out.json"));
}

TEST(OptionsFile, with_what_the_command_does_not_know_is_an_error_with_its_line) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& text, const char* command = "predict") {
    folder.file("run.toml", text);
    const Outcome outcome =
        run({command, "lenet5", "--options", "run.toml"}, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 2) << text;
    return outcome.err.substr(0, outcome.err.find('\n'));
  };
  EXPECT_EQ(error("batch = 8\nbach = 9\n"),
            "error: run.toml: line 2: 'bach' is no flag of strata predict; did you mean batch?");
  EXPECT_EQ(error("\ndtype = \"fp17\"\n").find("error: run.toml: line 2: --dtype expects"), 0U);
  EXPECT_EQ(error("command = \"sweep\"\n"),
            "error: run.toml: line 1: its options are for strata sweep, not for strata predict");
  EXPECT_NE(error("batch = [8, 9]\n").find("line 1: 'batch' takes one value"), std::string::npos);
  EXPECT_NE(error("inference = 3\n").find("line 1: expected true or false"), std::string::npos);
  EXPECT_NE(error("options = \"other.toml\"\n").find("'options' is no flag"), std::string::npos);
  EXPECT_NE(error("batch = \n").find("run.toml"), std::string::npos);
}

TEST(OptionsFile, is_written_and_read_again_as_the_same) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "kept");
  ASSERT_EQ(
      run({"convert", "lenet5", "--out", "a \"net\".json"}, {.folder = folder.path()}).exit_code,
      0);
  const OptionWords words = {"a \"net\".json",
                             "--on",
                             "v100",
                             "--batch",
                             "8",
                             "--channels-last",
                             "--set",
                             "machine.launch_latency_s=3us",
                             "--framework",
                             "none"};
  for (const std::string name : {"kept/run.toml", "kept/run.json"}) {
    OptionWords saving = words;
    saving.insert(saving.end(), {"--save-options", name});
    const std::string typed = predicted_csv(saving, folder.path());
    EXPECT_EQ(predicted_csv({"--options", name}, folder.path()), typed)
        << saved_text(folder.path() / name);
  }
  EXPECT_EQ(saved_text(folder.path() / "kept/run.toml"),
            "command = \"predict\"\nmodel = \"../a \\\"net\\\".json\"\non = \"v100\"\n"
            "set = [\"machine.launch_latency_s=3us\"]\nbatch = 8\nframework = "
            "\"none\"\nchannels-last = true\ncsv = \"-\"\n");
}

TEST(OptionsFile, goes_with_sweeps_and_commands_of_many_models) {
  const TemporaryFolder folder;
  folder.file("s.toml",
              "arguments = [\"lenet5\", \"alexnet\"]\non = \"v100,h200\"\nbatch = \"8:16:x2\"\n");
  const Outcome sweep =
      run({"sweep", "--options", "s.toml", "--csv", "-"}, {.folder = folder.path()});
  EXPECT_EQ(sweep.exit_code, 0) << sweep.err;
  EXPECT_EQ(std::count(sweep.out.begin(), sweep.out.end(), '\n'), 1 + 2 * 2 * 2);
  folder.file("c.toml", "arguments = [\"lenet5\", \"alexnet\"]\non = \"v100\"\n");
  for (const char* command : {"compare", "roofline"}) {
    const Outcome outcome = run({command, "--options", "c.toml"}, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

/// A prediction that was stored in the folder of its model.
class StoredElsewhere : public testing::Test {
 protected:
  StoredElsewhere() {
    EXPECT_EQ(run({"convert", "lenet5", "--out", model().string()}).exit_code, 0);
    const Outcome outcome =
        run({"predict", "net.json", "--on", "v100", "--json", "p.json"}, here());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    profile_ = Json::parse(saved_text(here_.path() / "p.json"));
  }
  std::filesystem::path model() const { return here_.path() / "net.json"; }
  Surroundings here() const { return {.folder = here_.path()}; }
  Outcome from_elsewhere(OptionWords words) const {
    words.push_back((here_.path() / "p.json").string());
    return run(words, {.folder = elsewhere_.path()});
  }

  TemporaryFolder here_;
  TemporaryFolder elsewhere_;
  Json profile_;
};

TEST_F(StoredElsewhere, is_explained_and_drawn_from_any_folder) {
  const Json& file = profile_["provenance"]["request"]["model_file"];
  EXPECT_EQ(file["path"], model().string());
  EXPECT_EQ(file["bytes"], std::filesystem::file_size(model()));
  EXPECT_EQ(file["hash"].get<std::string>().size(), 16U);
  const Outcome explained = from_elsewhere({"explain"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_EQ(explained.out.find("cannot be asked again"), std::string::npos) << explained.out;
  const Outcome drawn = from_elsewhere({"plot", "--kind", "timeline", "--out", "t.svg"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
}

TEST_F(StoredElsewhere, says_which_file_is_missing_or_has_changed) {
  const std::string hash = profile_["provenance"]["request"]["model_file"]["hash"];
  std::ofstream(model(), std::ios::app) << "\n";
  const Outcome changed = from_elsewhere({"plot", "--kind", "timeline", "--out", "t.svg"});
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_NE(changed.err.find("has changed: its hash is "), std::string::npos) << changed.err;
  EXPECT_NE(changed.err.find(hash), std::string::npos) << changed.err;
  std::filesystem::remove(model());
  const Outcome missing = from_elsewhere({"plot", "--kind", "timeline", "--out", "t.svg"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("net.json: no such file; it was " + model().string()),
            std::string::npos)
      << missing.err;
  EXPECT_NE(missing.err.find(hash), std::string::npos) << missing.err;
}

TEST(MeasureFlags, that_only_predictions_have_are_refused_with_the_reason) {
  for (const char* flag : {"--recompute=all", "--micro-batches=2", "--master-weights"}) {
    const Outcome outcome = run({"measure", "lenet5", flag});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("is for predictions: the engine "), std::string::npos)
        << outcome.err;
    EXPECT_NE(outcome.err.find("strata predict --"), std::string::npos) << outcome.err;
  }
}

TEST(ListCsv, is_one_table) {
  const Outcome machines = run({"list", "machines", "--csv", "-"});
  EXPECT_EQ(machines.exit_code, 0);
  EXPECT_NE(machines.out.find("\nh200,NVIDIA H200 SXM 141 GB,gpu,67000000000000,"),
            std::string::npos)
      << machines.out;
  for (const char* kind : {"networks", "formats", "operators", "frameworks"})
    EXPECT_EQ(run({"list", kind, "--csv", "-"}).exit_code, 0) << kind;
  EXPECT_EQ(run({"list", "--csv", "-"}).exit_code, 2);
}

}  // namespace
}  // namespace strata::test
