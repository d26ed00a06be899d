// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.hpp"

#include "cli/output.hpp"
#include "cli/page_text.hpp"
#include "cli/parse.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace strata {
namespace {

struct Line {
  std::string left;
  std::string_view right;
};

std::string two_columns(const std::vector<Line>& lines) {
  std::size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.left.size());
  std::string text;
  for (const Line& line : lines)
    text += fmt::format("  {:<{}}  {}\n", line.left, width, line.right);
  return text;
}

/// Whether a text that is longer than the screen was handed to the user's pager. PAGER=cat or none
/// at hand: it was not.
bool shown_by_pager(const std::string& text) {
  winsize screen{};
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen) != 0 || lines < screen.ws_row) return false;
  const char* chosen = std::getenv("PAGER");
  const std::string pager = chosen != nullptr && *chosen != '\0' ? chosen : "less -FRX";
  std::FILE* pipe = ::popen(pager.c_str(), "w");
  if (pipe == nullptr) return false;
  std::signal(SIGPIPE, SIG_IGN);  // who leaves the pager early has read enough
  std::fwrite(text.data(), 1, text.size(), pipe);
  constexpr int no_such_command = 127 << 8;
  return ::pclose(pipe) != no_such_command;
}

}  // namespace

std::string spelling_of(const Flag& flag) {
  std::string text = flag.letter == 0 ? "    " : fmt::format("-{}, ", flag.letter);
  text += fmt::format("--{}", flag.name);
  return flag.value.empty() ? text : fmt::format("{} {}", text, flag.value);
}

std::string overview() {
  std::vector<Line> command_lines;
  for (const Command* command : commands())
    command_lines.push_back({std::string(command->name), command->summary});
  std::vector<Line> flag_lines;
  for (const Flag& flag : program_flags()) flag_lines.push_back({spelling_of(flag), flag.help});
  return fmt::format(
      "Strata shows, layer by layer, where the time of training a neural network goes.\n\n"
      "{}\n\n{}\n{}\n"
      "try: strata show resnet50    more: strata help COMMAND, strata help topics\n",
      "usage: strata COMMAND [options]", two_columns(command_lines), two_columns(flag_lines));
}

std::string summary_of(const Command& command) {
  std::vector<Line> lines;
  for (const Argument& argument : command.arguments)
    lines.push_back({std::string(argument.name), argument.help});
  for (const Flag& flag : all_flags(command)) lines.push_back({spelling_of(flag), flag.help});
  return fmt::format("strata {}: {}\n{}\n\n{}", command.name, command.summary, usage_of(command),
                     two_columns(lines));
}

std::string help_page(std::string_view name) {
  const auto pages = embedded_help_pages();
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [&](const EmbeddedFile& file) { return file.name == name; });
  STRATA_CHECK(page != pages.end(), "every command has a page in docs/cli");
  return std::string(page->text);
}

std::string help_page(const Command& command, std::string_view word) {
  const std::string page = help_page(command.name);
  if (word.empty()) return page;
  std::string part = page_part(page, command.name, word);
  if (part.empty())
    fail(ErrorKind::usage, "'{}' is no part of strata {}; see strata help {}", word, command.name,
         command.name);
  return part;
}

void print_page(const std::string& markdown) {
  const TextStyle style = style_of_stdout("auto");
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::string page = is_terminal ? page_as_text(markdown, style) : markdown;
  const std::string text = style.has_unicode ? page : to_ascii(page);
  if (!is_terminal || !shown_by_pager(text)) print(text);
}

}  // namespace strata
