// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/help_text.hpp"
#include "cli/machine_at_hand.hpp"
#include "cli/options_file.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/parse.hpp"
#include "cli/progress.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace strata {
namespace {

std::string quoted_for_shell(std::string_view word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

std::string color_of(const Arguments& program, const Arguments& command) {
  const auto color = command.value(color_flag);
  return std::string(color ? *color : program.value(color_flag).value_or("auto"));
}

void save_options(const Command& command, const Arguments& given) {
  if (const auto path = given.value(save_options_flag))
    write_output(*path, options_file_text(command, given, *path));
}

void print_help(const std::string& text) {
  print(style_of_stdout("never").has_unicode ? text : to_ascii(text));
}

}  // namespace

std::string command_line_of(std::span<const std::string> words) {
  std::string line = "strata";
  for (const std::string& word : words) line += ' ' + quoted_for_shell(word);
  return line;
}

int run_program(std::span<const std::string> words) {
  const Arguments program = parse_program(words);
  if (program.has(version_flag)) {
    print(fmt::format("strata {}\n", version));
    return exit_code::done;
  }
  if (const Help help = help_asked(program); help != Help::none) {
    help == Help::summary ? print_help(overview()) : print_page(help_page("strata"));
    return exit_code::done;
  }
  if (program.words().empty()) {
    print_to_stderr(overview());
    return exit_code::wrong_input;
  }
  const Command& command = command_named(program.word(0));
  Arguments arguments = parse(command, std::span(program.words()).subspan(1));
  if (const Help help = help_asked(arguments); help != Help::none) {
    if (help == Help::summary) {
      print_help(summary_of(command));
    } else {
      print_page(help_page(command, arguments.words().empty() ? "" : arguments.word(0)));
    }
    return exit_code::done;
  }
  also_find_machines(measured_machine_named);
  if (takes_options_file(command)) save_options(command, arguments);
  expect_writable_outputs(command, arguments);
  const TextStyle style = style_of_stdout(color_of(program, arguments));
  std::optional<Waiting> waiting;
  if (command.shows_waiting) waiting.emplace(fmt::format("{} {}", command.name, arguments.word(0)));
  return command.run(
      {std::move(arguments), style, command_line_of(words), {words.begin(), words.end()}});
}

}  // namespace strata
