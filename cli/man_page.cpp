// SPDX-License-Identifier: Apache-2.0
#include "cli/man_page.hpp"

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

// A dash is a hyphen to roff unless escaped, and a line must not begin with a control character.
std::string roff(std::string_view text) {
  std::string escaped;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) escaped = "\\&";
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string flag_entry(const Flag& flag) {
  std::string spelling;
  if (flag.letter != 0) spelling = fmt::format("\\fB\\-{}\\fR, ", flag.letter);
  spelling += fmt::format("\\fB\\-\\-{}\\fR", roff(flag.name));
  if (!flag.value.empty()) spelling += fmt::format(" \\fI{}\\fR", roff(flag.value));
  return fmt::format(".TP\n{}\n{}\n", spelling, roff(flag.help));
}

std::string command_section(const Command& command) {
  std::string usage = fmt::format("\\fBstrata {}\\fR", roff(command.name));
  for (const Argument& argument : command.arguments) {
    const std::string name = fmt::format("\\fI{}\\fR", roff(argument.name));
    usage += argument.is_required ? ' ' + name : fmt::format(" [{}]", name);
  }
  std::string text = fmt::format(".SS {} [options]\n{}.\n", usage, roff(command.summary));
  for (const Argument& argument : command.arguments) {
    text += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(argument.name), roff(argument.help));
  }
  for (const Flag& flag : command.flags) text += flag_entry(flag);
  return text;
}

constexpr std::string_view environment_section =
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nWhen set and not empty, no color unless \\fB\\-\\-color always\\fR asks for "
    "it.\n"
    ".TP\n.B TERM\nWhen unset or \\fIdumb\\fR, no color.\n"
    ".TP\n.BR LC_ALL \", \" LC_CTYPE \", \" LANG\n"
    "When the first of them that is set does not name UTF\\-8, tables use plain characters.\n";

}  // namespace

std::string man_page() {
  std::string text = fmt::format(
      ".TH STRATA 1 \"\" \"strata {}\" \"User Commands\"\n"
      ".SH NAME\n"
      "strata \\- where the time of training a neural network goes, layer by layer\n"
      ".SH SYNOPSIS\n"
      ".B strata\n"
      ".I COMMAND\n"
      "[options]\n"
      ".SH DESCRIPTION\n"
      "The result goes to standard output and everything else to standard error. "
      "\\fBstrata help\\fR \\fICOMMAND\\fR prints the page of a command, with examples.\n"
      ".SH COMMANDS\n",
      roff(version));
  for (const Command* command : commands()) text += command_section(*command);
  text += ".SH GLOBAL OPTIONS\n";
  for (const Flag& flag : program_flags()) text += flag_entry(flag);
  text += ".SH EXIT STATUS\n";
  for (const ExitMeaning& entry : exit_meanings()) {
    text += fmt::format(".TP\n.B {}\n{}.\n", entry.code, roff(entry.meaning));
  }
  text += environment_section;
  text +=
      ".SH EXAMPLES\n"
      ".TP\n.B strata show resnet50 \\-\\-by type\nWhich kinds of layers cost most.\n"
      ".TP\n.B strata show gpt2 \\-\\-batch 8 \\-\\-dtype bf16 \\-\\-json gpt2.json\n"
      "Every count of every layer, for another program.\n";
  return text;
}

}  // namespace strata
