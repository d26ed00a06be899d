// SPDX-License-Identifier: Apache-2.0
// What the pages say in words beside the output of a program, which the examples check, is true of
// the program, too: rules of verdicts, and what is called uncovered.
#include "strata/base/text.hpp"
#include "tests/cli/run_program.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace strata::test {
namespace {

std::string page_text(const std::filesystem::path& name) {
  std::ifstream file(std::filesystem::path(STRATA_SOURCE_DIR) / name);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The rules ("at least 95 %") of the rows of the page's own example whose printed number is a
/// word.
std::vector<std::string> rules_of(std::string_view page, std::string_view word) {
  std::vector<std::string> rules;
  for (const std::string_view line : split(page, '\n')) {
    const std::size_t rule = line.find("rule: ");
    if (rule == line.npos || line.substr(0, rule).find(word) == line.npos) continue;
    const std::string_view rest = line.substr(rule + 6);
    rules.emplace_back(rest.substr(0, rest.find('%') + 1));
  }
  return rules;
}

TEST(Prose, the_help_of_a_study_says_the_rules_of_its_rows) {
  const std::string page = page_text("docs/cli/reproduce.md");
  for (const std::string_view word : {"almost all", "close to the bound"}) {
    const std::vector<std::string> rules = rules_of(page, word);
    ASSERT_FALSE(rules.empty()) << word;
    for (const std::string& rule : rules)
      EXPECT_NE(page.find(fmt::format("\"{}\": {}", word, rule)), page.npos)
          << word << ": " << rule;
  }
}

TEST(Prose, the_help_of_a_study_says_which_frameworks_were_counted) {
  const std::string page = page_text("docs/cli/reproduce.md");
  const bool some_were = page.find("FLOP and bytes as counted of ") != page.npos;
  EXPECT_NE(page.find("were captured without counters") != page.npos, some_were);
}

TEST(Prose, as_many_frameworks_ship_as_the_page_says_and_each_is_named) {
  const std::string page = page_text("docs/expected-time.md");
  const std::vector<std::string> numbers = {"No", "One", "Two", "Three", "Four", "Five", "Six"};
  std::size_t count = 0;
  const std::filesystem::path folder = std::filesystem::path(STRATA_SOURCE_DIR) / "data/frameworks";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
    EXPECT_NE(page.find(fmt::format("`{}`", entry.path().stem().string())), page.npos) << entry;
  }
  ASSERT_LT(count, numbers.size());
  EXPECT_NE(page.find(numbers[count] + " frameworks ship"), page.npos) << count;
}

/// Sentences and items of lists that say what is not covered.
std::vector<std::string> uncovered(std::string_view page) {
  std::vector<std::string> found;
  bool is_section = false;
  for (const std::string_view line : split(page, '\n')) {
    if (line.starts_with('#')) is_section = line.find("not covered") != line.npos;
    if (is_section && line.starts_with("- ")) found.push_back(lower_case(line));
    const std::size_t at = line.find("what is not covered: ");
    if (at != line.npos) found.push_back(lower_case(line.substr(at)));
  }
  return found;
}

TEST(Prose, what_is_offered_is_not_called_uncovered) {
  ASSERT_EQ(run({"predict", "lenet5", "--on", "2xh100-sxm", "--parallel", "dp=2"}).exit_code, 0);
  ASSERT_EQ(
      run({"predict", "lenet5", "--on", "h100-sxm", "--framework", "pytorch-compile"}).exit_code,
      0);
  std::size_t sentences = 0;
  for (const char* name : {"docs/expected-time.md", "docs/tutorials/which-gpu.md"}) {
    for (const std::string& sentence : uncovered(page_text(name))) {
      ++sentences;
      for (const std::string_view offered :
           {"- several gpus,", ": several gpus,", ", several gpus", "- `torch.compile`,",
            ", `torch.compile`,", ": `torch.compile`,"})
        EXPECT_EQ(sentence.find(offered), sentence.npos) << name << ": " << sentence;
    }
  }
  EXPECT_GT(sentences, 3U);
}

}  // namespace
}  // namespace strata::test
