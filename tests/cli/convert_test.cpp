// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Convert, file_and_standard_output_are_the_same_and_read_back) {
  const TemporaryFolder folder;
  const Outcome written = run({"convert", "resnet18", "-o", "a.json"}, {.folder = folder.path()});
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_EQ(written.out + written.err, "");
  const std::string text = text_of_file(folder.path() / "a.json");
  EXPECT_EQ(run({"convert", "resnet18", "--out", "-"}).out, text);
  EXPECT_EQ(run({"convert", "a.json", "-o", "-"}, {.folder = folder.path()}).out, text);
  EXPECT_EQ(run({"show", "a.json"}, {.folder = folder.path()}).out, run({"show", "resnet18"}).out);
}

TEST(Convert, warnings_are_said_now_and_with_every_later_result) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "net.cfg")
      << "[net]\nwidth=8\nheight=8\nchannels=3\n[mystery]\n[avgpool]\n";
  const Outcome written = run({"convert", "net.cfg", "-o", "net.json"}, {.folder = folder.path()});
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_NE(written.err.find("[operator-not-counted]"), written.err.npos) << written.err;
  EXPECT_EQ(run({"show", "net.json"}, {.folder = folder.path()}).err, written.err);
  const Outcome strict =
      run({"convert", "net.cfg", "-o", "strict.json", "--strict"}, {.folder = folder.path()});
  EXPECT_EQ(strict.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "strict.json"));
}

TEST(Convert, mistakes_are_one_clear_line_and_write_nothing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"lenet5"}, "--out is missing: -o FILE, or -o - for standard output"},
      {{"lenet5", "-o", "a.TOML"},
       "--out a.TOML: convert writes Strata's own format, as JSON, and no other; give the file a "
       "name in .json"},
      {{"lenet5", "-o", "x.onnx"},
       "--out x.onnx: convert writes Strata's own format, as JSON, and no other; give the file a "
       "name in .json"},
      {{"lenet5", "-o", "x.pt"},
       "--out x.pt: convert writes Strata's own format, as JSON, and no other; give the file a "
       "name in .json"},
      {{"lenet5", "-o", "no/such/folder"},
       "cannot write no/such/folder: No such file or directory"},
      {{"./missing.onnx", "-o", "a.json"}, "./missing.onnx: no such file"},
      {{"lenet5", "-o", "a.json", "--strict"},
       "--strict is for networks from files; lenet5 is built in"},
  };
  const TemporaryFolder folder;
  for (const auto& [arguments, error] : mistakes) {
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), "convert");
    const Outcome outcome = run(words, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit_code, 2) << error;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "error: " + error + "\n");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace strata::test
