// SPDX-License-Identifier: Apache-2.0
// Each folder beside this file is a case: `command` is a line of shell in which `strata` is the
// built program, run in a copy of the folder; expected.stdout and expected.stderr are what it
// prints (absent: nothing) and the file expected.exit is its exit code (absent: 0). Every other
// expected.* file is one that the command writes: expected.x.csv is x.csv.
//
// tests/golden/approve [CASE...] accepts what the program does now; the change is then reviewed as
// any other.
#include "strata/base/text.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

const fs::path cases_folder = fs::path(STRATA_SOURCE_DIR) / "tests" / "golden";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(cases_folder)) {
    if (fs::exists(entry.path() / "command")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The version is all that varies between two equal analyses.
std::string scrubbed(const std::string& text) {
  return std::regex_replace(text, std::regex("\"strata_version\":\"[^\"]*\""),
                            "\"strata_version\":\"…\"");
}

using Files = std::map<std::string, std::string>;  // name → content

/// What the command of a case leaves: streams, exit code and new files.
Files results_of(const fs::path& folder) {
  const TemporaryFolder copy;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool is_expected = entry.path().filename().string().starts_with("expected.");
    if (!is_expected) fs::copy(entry.path(), copy.path() / entry.path().filename());
  }
  Files before;
  for (const auto& entry : fs::directory_iterator(copy.path()))
    before[entry.path().filename()] = {};
  const Outcome outcome = run_shell(text_of(folder / "command"), {.folder = copy.path()});

  Files results;
  if (!outcome.out.empty()) results["expected.stdout"] = scrubbed(outcome.out);
  if (!outcome.err.empty()) results["expected.stderr"] = scrubbed(outcome.err);
  if (outcome.exit_code != 0) results["expected.exit"] = fmt::format("{}\n", outcome.exit_code);
  for (const auto& entry : fs::directory_iterator(copy.path())) {
    const std::string name = entry.path().filename();
    if (!before.count(name)) results["expected." + name] = scrubbed(text_of(entry.path()));
  }
  return results;
}

Files expected_of(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("expected.")) files[name] = text_of(entry.path());
  }
  return files;
}

void approve(const fs::path& folder, const Files& results) {
  for (const auto& [name, content] : expected_of(folder)) {
    if (!results.count(name)) fs::remove(folder / name);
  }
  for (const auto& [name, content] : results)
    std::ofstream(folder / name, std::ios::binary) << content;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, is_as_expected) {
  const fs::path folder = cases_folder / GetParam();
  Files results = results_of(folder);
  if (std::getenv("STRATA_APPROVE") != nullptr) {
    approve(folder, results);
    return;
  }
  Files expected = expected_of(folder);
  for (const auto& [name, content] : expected) {
    EXPECT_EQ(content, results[name])
        << name << "; when the new one is right: tests/golden/approve " << GetParam();
  }
  for (const auto& [name, content] : results) {
    EXPECT_TRUE(expected.count(name)) << name << " is new:\n" << content;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, testing::ValuesIn(cases()), [](const auto& golden) {
  std::string name = golden.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace strata::test
