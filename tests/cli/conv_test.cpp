// SPDX-License-Identifier: Apache-2.0
// `strata conv` on the CPU at hand, with convolutions of a few thousand products.
#include "strata/base/text.hpp"
#include "strata/convolution/lab/reference.hpp"
#include "strata/report/convolution_report.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> small(std::vector<std::string> more) {
  std::vector<std::string> words = {"conv",      "--base", "1,12,4,3,1",   "--channels",   "2",
                                    "--samples", "3",      "--strategies", "direct,unroll"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Conv, measures_a_sweep_and_shows_it_again_without_running) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const Outcome outcome = run(
      small({"--sweep", "k=1:14", "--pass", "all", "--json", "r.json", "--csv", "r.csv"}), here);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.out.find("[1] k = 13: the kernel 13×13"), outcome.out.npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" ←"), outcome.out.npos);
  const ConvResults results = load_conv_results(folder.path() / "r.json");
  EXPECT_EQ(results.cells.size(), 12U * 3U * 2U);
  for (const ConvCell& cell : results.cells) {
    EXPECT_EQ(cell.status, ConvStatus::measured) << cell.strategy << ": " << cell.reason;
    EXPECT_GE(cell.samples_s.size(), 3U);
    EXPECT_EQ(cell.checked, result_elements(cell.shape, cell.pass));
  }
  const Outcome again = run({"conv", "--from", "r.json", "--csv", "again.csv"}, here);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, outcome.out);
  EXPECT_EQ(text_of(folder.path() / "again.csv"), text_of(folder.path() / "r.csv"));
  const Outcome narrow =
      run({"conv", "--from", "r.json", "--pass", "forward", "--strategies", "unroll"}, here);
  EXPECT_EQ(narrow.exit_code, 0) << narrow.err;
  EXPECT_EQ(narrow.out.find("direct"), narrow.out.npos);
  EXPECT_EQ(narrow.out.find("backward"), narrow.out.npos);
  EXPECT_EQ(run({"conv", "--from", "r.json", "--strategies", "magic"}, here).exit_code, 2);
}

TEST(Conv, goes_on_with_a_file_that_was_cut_off) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const auto words = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--sweep", "k=1:6", "--jsonl", "r.jsonl"});
    return small(std::move(more));
  };
  ASSERT_EQ(run(words({}), here).exit_code, 0);
  const std::string whole = text_of(folder.path() / "r.jsonl");
  ASSERT_EQ(std::count(whole.begin(), whole.end(), '\n'), 1 + 12);
  EXPECT_EQ(run(words({}), here).exit_code, 2) << "what is there is not replaced unasked";
  std::size_t cut = 0;
  for (int line = 0; line < 6; ++line) cut = whole.find('\n', cut) + 1;
  std::ofstream(folder.path() / "r.jsonl", std::ios::binary) << whole.substr(0, cut + 40);
  const Outcome resumed = run(words({"--resume"}), here);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string now = text_of(folder.path() / "r.jsonl");
  EXPECT_EQ(now.substr(0, cut), whole.substr(0, cut)) << "what was measured is kept";
  EXPECT_EQ(std::count(now.begin(), now.end(), '\n'), 1 + 12);
  EXPECT_EQ(run({"conv", "--from", "r.jsonl"}, here).out, resumed.out);
  EXPECT_EQ(run(words({"--resume", "--seed", "2"}), here).exit_code, 2) << "another run";
  EXPECT_EQ(run(words({"--force"}), here).exit_code, 0);
}

TEST(Conv, keeps_what_is_done_when_interrupted) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  std::vector<std::string> words = small({"--sweep", "b=1:4000", "--jsonl", "r.jsonl"});
  words.insert(words.begin(), STRATA_BINARY);
  const File out = temporary_file();
  const File err = temporary_file();
  const pid_t child = start_words(words, here, ::fileno(out.get()), ::fileno(err.get()));
  const fs::path lines = folder.path() / "r.jsonl";
  for (int i = 0; i < 2000; ++i) {
    const std::string text = text_of(lines);
    if (std::count(text.begin(), text.end(), '\n') > 3) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(child, SIGINT);
  EXPECT_EQ(exit_code_of_child(child), 130);
  const ConvResults results = load_conv_results(lines);
  EXPECT_GE(results.cells.size(), 2U);
  EXPECT_LT(results.cells.size(), 8000U);
}

TEST(Conv, refuses_what_makes_no_sense_with_one_line) {
  const std::vector<std::vector<std::string>> bad = {
      {"conv"},
      {"conv", "--sweep", "z=1:2"},
      {"conv", "--sweep", "k=5:1"},
      {"conv", "--base", "1,2,3"},
      {"conv", "--shape", "b1,q2"},
      {"conv", "--layer", "conv9"},
      {"conv", "--suite", "all"},
      {"conv", "--layer", "conv5", "--device", "tpu"},
      {"conv", "--layer", "conv5", "--pass", "sideways"},
      {"conv", "--layer", "conv5", "--memory-limit", "much"},
      {"conv", "--layer", "conv5", "--strategies", "magic"},
      {"conv", "--layer", "conv5", "--plugin", "nowhere.so"},
      {"conv", "--layer", "conv5", "--resume"},
      {"conv", "--from", "nowhere.json"},
      {"conv", "--from", "nowhere.json", "--sweep", "k=1:2"},
      {"conv", "advise"},
      {"conv", "advise", "resnet5000"},
      {"conv", "advise", "lenet5", "--sweep", "k=1:2"},
      {"conv", "--shape", "i4,k3", "--batch", "3"},
      {"conv", "--shape", "i4,k5"},  // nothing that can be measured
      {"conv", "--shape", "i4,k3", "--memory-limit", "1B"}};
  for (const auto& words : bad) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << fmt::format("{}", fmt::join(words, " ")) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("error: ")) << outcome.err;
  }
}

TEST(Conv, advises_on_a_network_and_measures_duplicates_once) {
  const TemporaryFolder folder;
  const Surroundings here{.folder = folder.path()};
  const Outcome outcome = run({"conv", "advise", "lenet5", "--batch", "1", "--samples", "3",
                               "--strategies", "direct,unroll", "--json", "r.json"},
                              here);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("all convolutions of an iteration"), outcome.out.npos);
  const ConvResults results = load_conv_results(folder.path() / "r.json");
  ASSERT_EQ(results.series.size(), 1U);
  EXPECT_EQ(results.series[0].points[0].counts, (std::array<std::int64_t, 3>{1, 0, 1}));
  EXPECT_EQ(run({"conv", "advise", "--from", "r.json"}, here).out, outcome.out);
}

// The stand-ins of all libraries: every strategy says what it lacks, and none runs.
TEST(Conv, without_libraries_every_strategy_names_what_it_lacks) {
  const TemporaryFolder folder;
  const std::vector<std::string> words = {
      STRATA_WITHOUT_LIBRARIES, "conv", "--shape", "i12,k3", "--pass", "all", "--samples", "3"};
  std::vector<std::string> to_file = words;
  to_file.insert(to_file.end(), {"--json", (folder.path() / "r.json").string()});
  const Outcome outcome = run_words(to_file);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(outcome.err.starts_with("error: nothing could be measured; the first reason: "))
      << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(outcome.out.find("measured 20"), outcome.out.npos) << outcome.out;
  const ConvResults results = load_conv_results(folder.path() / "r.json");
  EXPECT_EQ(results.cells.size(), 3 * results.strategies.size());
  for (const ConvCell& cell : results.cells) {
    EXPECT_EQ(cell.status, ConvStatus::refused) << cell.strategy;
    EXPECT_TRUE(cell.reason.starts_with("this strata was built without ")) << cell.reason;
  }
  for (const char* package : {"libhwy-dev", "libopenblas-dev", "libdnnl-dev"})
    EXPECT_NE(outcome.out.find(package), outcome.out.npos) << outcome.out;

  std::vector<std::string> dry = words;
  dry.push_back("--dry-run");
  const Outcome planned = run_words(dry);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.out.find("\n0 to measure, "), planned.out.npos) << planned.out;
}

#ifdef STRATA_FAULTY_PLUGINS
TEST(Conv, says_what_is_wrong_with_a_plug_in) {
  const auto with_fault = [](int fault) {
    return run({"conv", "--shape", "i5,k3", "--samples", "3", "--strategies", "faulty,direct",
                "--plugin", fmt::format("{}/faulty_{}.so", STRATA_FAULTY_PLUGINS, fault)});
  };
  const char* messages[] = {"has no function strata_conv_plugin", "is for version 2 of plug-ins",
                            "its name must be", "lacks refusal or run"};
  for (int fault = 1; fault <= 4; ++fault) {
    const Outcome outcome = with_fault(fault);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(messages[fault - 1]), outcome.err.npos) << outcome.err;
  }
  const Outcome dies = with_fault(7);
  EXPECT_EQ(dies.exit_code, 2) << dies.err;
  EXPECT_NE(dies.err.find("the loader itself dies of it (signal 11)"), dies.err.npos) << dies.err;
  for (const int fault : {8, 9, 10}) {  // in its entry, in what that returns, in its functions
    const Outcome damaged = with_fault(fault);
    EXPECT_EQ(damaged.exit_code, 2) << fault << damaged.err;
    EXPECT_NE(damaged.err.find("die when they are called (signal 11)"), damaged.err.npos)
        << fault << damaged.err;
  }
  const Outcome wrong = with_fault(5);
  EXPECT_EQ(wrong.exit_code, 0) << wrong.err;
  EXPECT_NE(wrong.out.find("faulty: wrong: relative error 1"), wrong.out.npos) << wrong.out;
  const Outcome fails = with_fault(6);
  EXPECT_EQ(fails.exit_code, 0) << fails.err;
  EXPECT_NE(fails.out.find("faulty: the accelerator is asleep"), fails.out.npos) << fails.out;
}
#endif

TEST(Conv, a_text_file_is_no_plug_in) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "text.so") << "not a library";
  const Outcome outcome =
      run({"conv", "--shape", "i5,k3", "--plugin", "text.so"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("cannot be loaded"), outcome.err.npos);
}

TEST(Conv, draws_pictures) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run(small({"--sweep", "k=1:3", "--plot", "p"}), {.folder = folder.path()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* name :
       {"p-k-forward-time.svg", "p-k-forward-memory.svg", "p-k-forward-roles.svg"})
    EXPECT_TRUE(text_of(folder.path() / name).starts_with("<svg")) << name;
}

}  // namespace
}  // namespace strata::test
