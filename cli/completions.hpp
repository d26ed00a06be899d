// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Scripts that let a shell complete commands, flags, their values and the names of built-in
/// networks and machines. All of it is written out, so that completing never starts the program.
namespace strata {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

/// Text for between single quotes, in all three shells.
std::string for_single_quotes(std::string_view text);

/// The words that the scripts offer for commands, models and machines.
std::vector<std::string_view> command_words();
std::vector<std::string_view> network_words();
std::vector<std::string_view> machine_words();

}  // namespace strata
