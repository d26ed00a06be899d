// SPDX-License-Identifier: Apache-2.0
// How far a command is, on a terminal.
#include "tests/cli/run_program.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace strata::test {
namespace {

/// Standard output and standard error on one terminal, as people have them.
std::string on_terminal(const std::vector<std::string>& words) {
  winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  int ours = -1;
  int theirs = -1;
  if (::openpty(&ours, &theirs, nullptr, nullptr, &size) != 0) return "";
  std::vector<std::string> all = words;
  all.insert(all.begin(), STRATA_BINARY);
  const pid_t child = start_words(all, {}, theirs, theirs);
  ::close(theirs);
  std::string text = test::content_of(ours);
  ::close(ours);
  exit_code_of_child(child);
  return text;
}

TEST(Progress, is_shown_on_a_terminal_and_leaves_nothing_behind) {
  const std::string text = on_terminal({"reproduce", "analytical"});
  const std::size_t last = text.rfind("\r\033[K");
  ASSERT_NE(last, std::string::npos) << "no progress was shown";
  EXPECT_NE(text.find("\r\033[Kanalytical: "), std::string::npos);
  // The last thing that is written over the line is nothing; then comes the result.
  EXPECT_EQ(text.substr(last + 4).find("analytical: "), std::string::npos);
  EXPECT_GT(text.size() - last, 1000U);
}

TEST(Progress, is_absent_where_nobody_looks) {
  const Outcome outcome = run({"reproduce", "analytical"});
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace strata::test
