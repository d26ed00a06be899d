// SPDX-License-Identifier: Apache-2.0
// Questions to a sweep, asked as a user asks them.
#include "strata/api/sweep.hpp"
#include "strata/strata.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>

namespace strata::test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

const Words small_sweep = {"sweep",      "lenet5",        "--on",        "v100",
                           "--capacity", "16KiB:2MiB:x2", "--bandwidth", "10GB/s,1TB/s"};

Outcome ask(Words words, const TemporaryFolder& folder, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return run(words, {.folder = folder.path()});
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SweepFrom, refuses_what_only_a_run_can_do) {
  const TemporaryFolder folder;
  ASSERT_EQ(ask(small_sweep, folder, {"--csv", "p.csv"}).exit_code, 0);
  for (const Words& flag : std::vector<Words>{{"--csv", "out"},
                                              {"--jsonl", "out"},
                                              {"--db", "out"},
                                              {"--batch", "8"},
                                              {"--on", "h200"},
                                              {"--dry-run"},
                                              {"--set", "machine.launch_latency_s=1us"},
                                              {"--threads", "2"}}) {
    const Outcome outcome = ask({"sweep", "--from", "p.csv"}, folder, flag);
    EXPECT_EQ(outcome.exit_code, 2) << flag[0];
    EXPECT_EQ(outcome.err.find("error: " + flag[0] + " does not go with --from"), 0U)
        << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
  }
}

// Files on which an earlier version crashed.
TEST(SweepFrom, takes_or_refuses_the_files_of_strangers) {
  const std::string corpus = STRATA_SOURCE_DIR "/tests/fuzz/corpus/sweep_results/";
  const TemporaryFolder folder;
  const Words questions[] = {
      {}, {"--where", "time_s>0"}, {"--pareto", "time,capacity", "--json", "-"}, {"--knee"}};
  for (const Words& question : questions) {
    EXPECT_EQ(
        ask({"sweep", "--from", corpus + "numeric_model_name_where_segv.csv"}, folder, question)
            .exit_code,
        0);
    const Outcome text =
        ask({"sweep", "--from", corpus + "text_capacity_segv.csv"}, folder, question);
    EXPECT_EQ(text.exit_code, 2);
    EXPECT_NE(text.err.find("line 4, column 'capacity_bytes': expected a number, got 'x'"),
              std::string::npos)
        << text.err;
    EXPECT_EQ(ask({"sweep", "--from", corpus + "negative_time.csv"}, folder, question).exit_code,
              2);
    EXPECT_EQ(ask({"sweep", "--from", corpus + "infinite_rate.csv"}, folder, question).exit_code,
              2);
  }
}

TEST(SweepFrom, a_network_may_be_called_by_a_number) {
  const TemporaryFolder folder;
  ASSERT_EQ(run({"convert", "lenet5", "--out", (folder.path() / "n.json").string()}).exit_code, 0);
  std::filesystem::rename(folder.path() / "n.json", folder.path() / "2024");
  const Outcome run_outcome =
      ask({"sweep", "2024"}, folder, {"--capacity", "1MB,2MB", "--csv", "p.csv"});
  ASSERT_EQ(run_outcome.exit_code, 0) << run_outcome.err;
  const Outcome from = ask({"sweep", "--from", "p.csv"}, folder, {"--where", "time_s>0"});
  EXPECT_EQ(from.exit_code, 0) << from.err;
  EXPECT_NE(from.out.find("2024"), std::string::npos);
}

TEST(SweepAnswers, are_the_same_from_a_run_and_from_its_file) {
  const TemporaryFolder folder;
  const Words questions = {"--pareto",     "time,capacity", "--knee",
                           "capacity=10%", "--best-under",  "bandwidth < 1e11"};
  Words with_files = questions;
  with_files.insert(with_files.end(), {"--csv", "p.csv", "--json", "run.json"});
  const Outcome from_run = ask(small_sweep, folder, with_files);
  EXPECT_EQ(from_run.exit_code, 0) << from_run.err;
  Words from_file_words = questions;
  from_file_words.insert(from_file_words.end(), {"--json", "file.json"});
  const Outcome from_file = ask({"sweep", "--from", "p.csv"}, folder, from_file_words);
  EXPECT_EQ(from_file.exit_code, 0) << from_file.err;
  EXPECT_EQ(from_run.out, from_file.out);
  const Json of_run = Json::parse(content(folder.path() / "run.json"));
  const Json of_file = Json::parse(content(folder.path() / "file.json"));
  for (const char* key : {"points", "pareto", "knees", "best_under"})
    EXPECT_EQ(of_run[key], of_file[key]) << key;
  EXPECT_EQ(of_run["points"]["asked"], 16);
  EXPECT_EQ(of_run["best_under"]["networks"][0]["satisfying"], 8);
  EXPECT_EQ(of_run["knees"][0]["knees"].size(), 2U) << "one for each bandwidth";
  EXPECT_EQ(of_run["networks"][0]["reuse"].size(), 4U);
}

TEST(SweepAnswers, a_front_and_a_knee_are_of_the_capacity_unless_told) {
  const TemporaryFolder folder;
  const Outcome told =
      ask(small_sweep, folder, {"--pareto", "time,capacity", "--knee", "capacity"});
  const Outcome implied = ask(small_sweep, folder, {"--pareto", "--knee"});
  EXPECT_EQ(implied.exit_code, 0) << implied.err;
  EXPECT_EQ(implied.out, told.out);
  EXPECT_EQ(ask(small_sweep, folder, {"--knee", "10%"}).out,
            ask(small_sweep, folder, {"--knee", "capacity=10%"}).out);
}

TEST(SweepAnswers, an_impossible_wish_ends_with_1_and_what_is_nearest) {
  const TemporaryFolder folder;
  const Outcome outcome = ask(small_sweep, folder, {"--best-under", "capacity < 10KiB"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("capacity < 10KiB: 16.00 KiB, not 10.00 KiB"), std::string::npos)
      << outcome.out;
}

TEST(SweepAnswers, wrong_questions_are_refused_before_anything_is_written) {
  const TemporaryFolder folder;
  for (const Words& more :
       {Words{"--where", "tim_s < 3"}, Words{"--where", "time_s < "}, Words{"--column", "x"},
        Words{"--column", "time=3"}, Words{"--where", "time_s = 3"}, Words{"--pareto", "nothing"},
        Words{"--knee", "time"}, Words{"--best-under", "1 +"}}) {
    Words words = more;
    words.insert(words.end(), {"--csv", "p.csv"});
    const Outcome outcome = ask(small_sweep, folder, words);
    EXPECT_EQ(outcome.exit_code, 2) << more[1];
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "p.csv"));
  }
  EXPECT_EQ(ask(small_sweep, folder, {"--csv", "-", "--pareto", "time"}).exit_code, 2);
}

TEST(SweepAnswers, a_constrained_sweep_resumes_to_the_same_bytes) {
  const TemporaryFolder folder;
  const Words constrained = {"--where", "capacity > 32KiB && bandwidth > 1e11 && time_s > 0",
                             "--column", "cost=area_mm2*2", "--csv"};
  Words words = constrained;
  words.push_back("whole.csv");
  ASSERT_EQ(ask(small_sweep, folder, words).exit_code, 0);
  const std::string whole = content(folder.path() / "whole.csv");
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 1 + 6) << whole;
  words.back() = "part.csv";
  words.push_back("--resume");
  for (std::size_t cut = 0; cut <= whole.size(); cut += 97) {
    std::ofstream(folder.path() / "part.csv", std::ios::binary) << whole.substr(0, cut);
    const Outcome outcome = ask(small_sweep, folder, words);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    ASSERT_EQ(content(folder.path() / "part.csv"), whole) << "cut at " << cut;
  }
  words[1] = "capacity > 64KiB";
  EXPECT_EQ(ask(small_sweep, folder, words).exit_code, 2) << "it is another sweep";
  EXPECT_EQ(content(folder.path() / "part.csv"), whole);
}

TEST(SweepAnswers, a_sweep_file_may_constrain) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "s.toml") << R"(strata_sweep = 1
models = "lenet5"
where = "capacity < 1MiB"
columns = ["mb = capacity / 1MiB"]
[axes]
capacity = "256KiB:2MiB:x2"
)";
  const Outcome outcome = ask({"sweep", "s.toml"}, folder, {"--json", "-", "--pareto", "mb"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["points"], Json({{"before_where", 4}, {"asked", 2}}));
  EXPECT_EQ(json["pareto"]["fronts"][0]["points"][0]["mb"], 0.25);
}

TEST(SweepAnswers, sensitivity_is_what_predictions_say) {
  const Graph graph = load_model("resnet18");
  const Machine machine = load_machine("v100");
  SweepRequest request;
  request.models = {"resnet18"};
  request.parameters = {{"on", "v100"}, {"capacity", "40MiB"}, {"batch", "20"}};
  const Sweep sweep(request);
  const SensitivityAnswer answer = sweep.sensitivity_at(0);
  const auto predicted = [&](std::int64_t capacity_bytes, double more_bandwidth,
                             double more_throughput, std::int64_t batch) {
    PredictRequest wanted;
    wanted.bounds = WantBounds::not_at_all;
    wanted.wants_alternatives = false;
    wanted.sizes.batch = batch;
    wanted.hardware.capacity_bytes = capacity_bytes;
    Machine changed = machine;
    for (Peak& peak : changed.peaks) peak.flop_per_s.value *= more_throughput;
    wanted.hardware.bytes_per_s = answer.point.hardware.bytes_per_s * more_bandwidth;
    return predict_model(graph, changed, wanted).summary.totals.time_s;
  };
  constexpr std::int64_t capacity_bytes = 40 << 20;
  EXPECT_DOUBLE_EQ(answer.speed.time_s, predicted(capacity_bytes, 1, 1, 20));
  ASSERT_EQ(answer.resources.size(), 4U);
  EXPECT_DOUBLE_EQ(answer.resources[0].speed.time_s,
                   predicted(capacity_bytes + capacity_bytes / 10, 1, 1, 20));
  EXPECT_DOUBLE_EQ(answer.resources[1].speed.time_s, predicted(capacity_bytes, 1.1, 1, 20));
  EXPECT_DOUBLE_EQ(answer.resources[2].speed.time_s, predicted(capacity_bytes, 1, 1.1, 20));
  EXPECT_DOUBLE_EQ(answer.resources[3].speed.time_s, predicted(capacity_bytes, 1, 1, 22));
}

TEST(SweepAnswers, a_build_without_muparser_says_so) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_words({STRATA_WITHOUT_LIBRARIES, "sweep", "lenet5", "--where", "time_s > 0"},
                {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("formulas need muParser"), std::string::npos) << outcome.err;
}

const Words gpu_sweep = {"sweep",   "resnet50",  "--on",       "h200,rtx-2080-ti",
                         "--batch", "32,64,512", "--no-limit", "--amp",
                         "none"};

TEST(SweepAnswers, of_gpus_rank_expected_times_per_sample_and_what_fits) {
  const TemporaryFolder folder;
  const Outcome outcome =
      ask(gpu_sweep, folder,
          {"--pareto", "--best-under", "machine == 'rtx-2080-ti'", "--json", "a.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json answers = Json::parse(content(folder.path() / "a.json"));
  const Json& goals = answers["pareto"]["goals"];
  EXPECT_EQ(goals[0]["column"], "expected_s");
  EXPECT_EQ(goals[0]["per_sample"], true);
  EXPECT_EQ(goals[1]["column"], "memory_bytes");
  EXPECT_EQ(answers["pareto"]["fronts"][0]["out_of_memory"], 1);
  EXPECT_EQ(answers["pareto"]["fronts"][0]["considered"], 5);
  const Json& best = answers["best_under"]["networks"][0];
  EXPECT_EQ(best["out_of_memory"], 1);
  EXPECT_NE(best["best"]["batch"], 512);
  EXPECT_EQ(best["best"]["fits"], 1);
  EXPECT_TRUE(best["best"]["time_s"].is_null()) << "nobody asked for the limit";
  EXPECT_NE(outcome.out.find("times are per sample"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("1 more is out of memory"), std::string::npos) << outcome.out;
}

TEST(SweepAnswers, out_of_memory_is_said_first_and_is_an_answer_where_asked) {
  const TemporaryFolder folder;
  const Outcome summary = ask(gpu_sweep, folder, {"--summary"});
  EXPECT_EQ(summary.exit_code, 0) << summary.err;
  EXPECT_TRUE(summary.out.starts_with("out of memory: 1 of 6 points need more")) << summary.out;
  EXPECT_NE(summary.out.find("expected"), std::string::npos);
  EXPECT_EQ(summary.out.find("limit"), std::string::npos) << "there is none";
  const Outcome required = ask(gpu_sweep, folder, {"--csv", "p.csv", "--require-fit"});
  EXPECT_EQ(required.exit_code, 1) << required.err;
  EXPECT_NE(required.err.find("out of memory: 1 of 6 points"), std::string::npos) << required.err;
  EXPECT_EQ(ask({"sweep", "--from", "p.csv"}, folder, {"--require-fit"}).exit_code, 1);
  EXPECT_EQ(ask({"sweep", "--from", "p.csv"}, folder, {"--plot", "p.svg"}).exit_code, 0);
  const std::string picture = content(folder.path() / "p.svg");
  EXPECT_NE(picture.find("expected times"), std::string::npos);
  EXPECT_EQ(picture.find("limits"), std::string::npos);
  EXPECT_EQ(ask({"sweep", "--from", "p.csv"}, folder, {"--where", "fits == 1"}).exit_code, 0);
}

}  // namespace
}  // namespace strata::test
