// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <span>
#include <string>
#include <string_view>

namespace strata {

/// Sorts words into flags and arguments. Errors (usage) name the word that is wrong, suggest the
/// nearest flag, and end with a line of usage. The file of --options is read; what is typed wins.
Arguments parse(const Command& command, std::span<const std::string> words);

/// Errors (usage) of flags that the command does not take, or values that a flag does not take.
void check_flag_words(const Command& command, std::span<const std::string> words);

/// What stands before the command: flags of the program; the command and everything after it are
/// its words.
Arguments parse_program(std::span<const std::string> words);

/// Whether help was asked for, and how much of it: -h is a summary, --help the page.
enum class Help { none, summary, page };
Help help_asked(const Arguments& arguments);

/// "usage: strata show MODEL [options]"
std::string usage_of(const Command& command);
std::string usage_of_program();

}  // namespace strata
