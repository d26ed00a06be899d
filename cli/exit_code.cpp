// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"

#include "strata/base/printable.hpp"
#include "strata/base/text.hpp"
#include "strata/version.hpp"

#include <fmt/format.h>

namespace strata {

std::span<const ExitMeaning> exit_meanings() {
  static constexpr ExitMeaning meanings[] = {
      {exit_code::done, "done"},
      {exit_code::answer_is_no, "done, and the answer is no"},
      {exit_code::wrong_input, "wrong usage, or input that is malformed or not supported"},
      {exit_code::environment, "the machine, or this build, lacks something that was asked for"},
      {exit_code::bug, "a bug in Strata; please report it"},
      {exit_code::interrupted, "interrupted; partial results are kept"},
  };
  return meanings;
}

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::input:
    case ErrorKind::unsupported: return exit_code::wrong_input;
    case ErrorKind::environment: return exit_code::environment;
    case ErrorKind::internal: return exit_code::bug;
  }
  return exit_code::bug;
}

std::string failure_text(ErrorKind kind, std::string_view message, std::string_view command_line,
                         const TextStyle& style) {
  std::string text = bold("error:", style);
  // Messages quote files and names of strangers; line breaks are ours.
  const char* before = " ";
  for (const std::string_view line : split(message, '\n')) {
    text += before + printable(line);
    before = "\n";
  }
  text += '\n';
  if (kind == ErrorKind::internal) {
    text += fmt::format(
        "This is a bug in Strata {}. Please report it, with the lines above and this command:\n  "
        "{}\n",
        version, printable(command_line));
  }
  return style.has_unicode ? text : to_ascii(text);
}

}  // namespace strata
