// SPDX-License-Identifier: Apache-2.0
// strata plot as a black box: every kind from real results, and what it refuses.
#include "strata/report/chart/png.hpp"
#include "strata/report/plot_kinds.hpp"
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Results of each kind, small ones.
struct SomeResults {
  TemporaryFolder folder;
  std::string at(const char* name) const { return (folder.path() / name).string(); }

  SomeResults() {
    for (const char* batch : {"8", "32"}) {
      EXPECT_EQ(run({"predict", "lenet5", "--on", "rtx-2080-ti", "-b", batch, "--json",
                     at(batch[0] == '8' ? "b8.json" : "b32.json")})
                    .exit_code,
                0);
    }
    EXPECT_EQ(run({"sweep", "lenet5", "--on", "rtx-2080-ti", "--capacity", "512KiB:2MiB:512KiB",
                   "--bandwidth", "300GB/s,600GB/s", "--csv", at("sweep.csv"), "--jsonl",
                   at("sweep.jsonl")})
                  .exit_code,
              0);
  }

  std::vector<std::string> inputs_of(const PlotKindFacts& facts) const {
    const std::string conv = STRATA_SOURCE_DIR "/data/profiles/nvidia-h200/conv/paper.json";
    switch (facts.input) {
      case PlotInput::sweep: return {at("sweep.csv")};
      case PlotInput::convolution: return {conv};
      case PlotInput::capture: return {STRATA_SOURCE_DIR "/examples/traces/event-sync.json"};
      case PlotInput::profile_or_sweep: return {at("b8.json"), at("b32.json")};
      default: return {at("b32.json")};
    }
  }
};

TEST(PlotCommand, draws_every_kind_the_same_twice_or_says_what_it_needs) {
  const SomeResults results;
  for (const PlotKindFacts& facts : plot_kinds()) {
    std::vector<std::string> words = {"plot"};
    for (const std::string& input : results.inputs_of(facts)) words.push_back(input);
    words.insert(words.end(), {"--kind", std::string(facts.name), "-o", "-"});
    const Outcome first = run(words);
    EXPECT_EQ(first.exit_code, 0) << facts.name << ": " << first.err;
    EXPECT_TRUE(first.out.starts_with("<svg ")) << facts.name;
    EXPECT_EQ(first.out, run(words).out) << facts.name;
  }
}

TEST(PlotCommand, a_donut_needs_a_recording_with_calls) {
  const SomeResults results;
  const Outcome profile = run({"plot", results.at("b32.json"), "--kind", "api-donut", "-o", "-"});
  EXPECT_EQ(profile.exit_code, 2);
  EXPECT_NE(profile.err.find("api-donut needs a recorded program"), profile.err.npos)
      << profile.err;
  const std::string trace = STRATA_SOURCE_DIR "/examples/traces/event-sync.json";
  const Outcome drawn =
      run({"plot", trace, "--kind", "api-donut", "--label", "one step", "-o", "-"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_NE(drawn.out.find("one step"), drawn.out.npos);
  EXPECT_NE(drawn.out.find("cudaLaunchKernel: 67.0 µs in 4 calls"), drawn.out.npos);
  EXPECT_NE(drawn.out.find("43 %"), drawn.out.npos);  // as strata trace --by api has it
}

TEST(PlotCommand, reads_every_form_of_a_sweep) {
  const SomeResults results;
  const Outcome csv = run({"plot", results.at("sweep.csv"), "-k", "sweep-heat", "-o", "-"});
  const Outcome lines = run({"plot", results.at("sweep.jsonl"), "-k", "sweep-heat", "-o", "-"});
  EXPECT_EQ(csv.exit_code, 0) << csv.err;
  EXPECT_EQ(csv.out, lines.out);
}

TEST(PlotCommand, writes_png_and_pdf) {
  const TemporaryFolder folder;
  for (const auto& [name, begin] :
       std::vector<std::pair<std::string, std::string>>{{"a.png", "\x89PNG"}, {"a.pdf", "%PDF-"}}) {
    const std::string path = (folder.path() / name).string();
    const Outcome outcome =
        run({"plot", "lenet5", "--on", "rtx-2080-ti", "--kind", "timeline", "-o", path});
    if (!has_png()) {
      EXPECT_EQ(outcome.exit_code, 3);
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(content_of(path).starts_with(begin)) << name;
  }
}

TEST(PlotCommand, refuses_in_one_line) {
  const SomeResults results;
  const auto expect_refusal = [](const std::vector<std::string>& words, const std::string& part) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), outcome.err.npos) << outcome.err;
  };
  const std::string profile = results.at("b8.json");
  expect_refusal({"plot", profile, "-o", "-"}, "give --kind KIND");
  expect_refusal({"plot", profile, "--kind", "layers"}, "give -o FILE");
  expect_refusal({"plot", profile, "--kind", "layer", "-o", "-"}, "did you mean layers");
  expect_refusal({"plot", profile, "--kind", "layers", "-o", "a.gif"}, ".svg, .png or .pdf");
  expect_refusal({"plot", "--kind", "layers", "-o", "-"}, "needs a profile");
  expect_refusal({"plot", profile, "--kind", "pareto", "-o", "-"}, "is a profile");
  expect_refusal({"plot", results.at("sweep.csv"), "--kind", "layers", "-o", "-"},
                 "is results of a sweep");
  expect_refusal({"plot", profile, "--kind", "layers", "-o", "-", "--batch", "8"},
                 "--batch is for a model");
  expect_refusal({"plot", profile, "--kind", "layers", "--label", "a", "--label", "b", "-o", "-"},
                 "2 labels for 1 inputs");
}

}  // namespace
}  // namespace strata::test
