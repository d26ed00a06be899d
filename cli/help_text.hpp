// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <string>
#include <string_view>

namespace strata {

/// What `strata -h` prints: the commands, one line each.
std::string overview();

/// What `strata COMMAND -h` prints: every flag in one line, so that it fits a screen.
std::string summary_of(const Command& command);

/// What `strata COMMAND --help` prints: the page of the documentation, docs/cli/<name>.md.
std::string help_page(std::string_view name);

/// A page, or what it says of one word of the command ("machine", "measure"); an error (usage) when
/// it says nothing of it.
std::string help_page(const Command& command, std::string_view word);

/// As the page is, or to a terminal as text, by the pager where it is longer than the screen.
void print_page(const std::string& markdown);

/// "-b, --batch N" or "    --json FILE".
std::string spelling_of(const Flag& flag);

}  // namespace strata
