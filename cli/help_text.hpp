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

/// "-b, --batch N" or "    --json FILE".
std::string spelling_of(const Flag& flag);

}  // namespace strata
