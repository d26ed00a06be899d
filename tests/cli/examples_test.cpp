// SPDX-License-Identifier: Apache-2.0
// Every example in the documentation is run, and prints what the page says. In a block fenced as
// ```console, a line that starts with "$ strata" (or "$ ./strata") is a command, and what follows
// is its output, up to the next command.
//
// tests/golden/approve writes the real output into the pages; the change is then reviewed as any
// other.
#include "strata/base/text.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace strata::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> pages() {
  std::vector<std::string> found;
  const fs::path root = STRATA_SOURCE_DIR;
  if (fs::exists(root / "README.md")) found.emplace_back("README.md");
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md")
      found.push_back(fs::relative(entry.path(), root).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_command(std::string_view line) {
  return line.starts_with("$ strata ") || line.starts_with("$ ./strata ");
}

/// The page with the output of every example replaced by what the program prints now.
std::string with_real_output(const std::string& page, std::size_t& examples) {
  const TemporaryFolder folder;
  const fs::path examples_folder = fs::path(STRATA_SOURCE_DIR) / "examples";
  if (fs::exists(examples_folder)) {
    fs::create_directory_symlink(examples_folder, folder.path() / "examples");
  }
  std::string text;
  bool is_console = false;
  bool is_output = false;  // lines that belong to the command above
  std::vector<std::string_view> lines = split(page, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string_view line : lines) {
    if (line.starts_with("```")) {
      is_console = line == "```console";
      is_output = false;
    }
    if (is_console && is_command(line)) {
      ++examples;
      is_output = true;
      const std::string command(line.substr(line.find("strata")));
      // As on a terminal, both streams; a page shows what a person sees.
      text +=
          fmt::format("{}\n{}", line, run_shell(command + " 2>&1", {.folder = folder.path()}).out);
    } else if (!is_output || line.starts_with("$ ")) {
      is_output = false;
      text += fmt::format("{}\n", line);
    }
  }
  return text;
}

class Examples : public testing::TestWithParam<std::string> {};

TEST_P(Examples, print_what_the_page_says) {
  const fs::path path = fs::path(STRATA_SOURCE_DIR) / GetParam();
  std::ifstream file(path);
  const std::string page(std::istreambuf_iterator<char>(file), {});
  std::size_t examples = 0;
  const std::string real = with_real_output(page, examples);
  if (GetParam().starts_with("docs/cli/") && GetParam() != "docs/cli/setup.md") {
    EXPECT_GE(examples, 2U) << "a page of a command starts with two examples";
  }
  if (std::getenv("STRATA_APPROVE") != nullptr) {
    if (real != page) std::ofstream(path) << real;
    return;
  }
  EXPECT_EQ(page, real) << "when the new output is right: tests/golden/approve";
}

INSTANTIATE_TEST_SUITE_P(Documentation, Examples, testing::ValuesIn(pages()), [](const auto& page) {
  std::string name = page.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace strata::test
