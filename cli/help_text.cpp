// SPDX-License-Identifier: Apache-2.0
#include "cli/help_text.hpp"

#include "cli/parse.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
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
      "try: strata show resnet50 --by type        more: strata help COMMAND\n",
      "usage: strata COMMAND [options]", two_columns(command_lines), two_columns(flag_lines));
}

std::string summary_of(const Command& command) {
  std::vector<Line> lines;
  for (const Argument& argument : command.arguments)
    lines.push_back({std::string(argument.name), argument.help});
  for (const Flag& flag : all_flags(command)) lines.push_back({spelling_of(flag), flag.help});
  return fmt::format("strata {}: {}\n\n{}\n\n{}", command.name, command.summary, usage_of(command),
                     two_columns(lines));
}

std::string help_page(std::string_view name) {
  const auto pages = embedded_help_pages();
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [&](const EmbeddedFile& file) { return file.name == name; });
  STRATA_CHECK(page != pages.end(), "every command has a page in docs/cli");
  return std::string(page->text);
}

}  // namespace strata
