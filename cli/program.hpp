// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace strata {

/// Does what the command line asks for and returns the exit code; failures are thrown. `words` come
/// after the program's name.
int run_program(std::span<const std::string> words);

/// The words as one line that a shell reads as the same words.
std::string command_line_of(std::span<const std::string> words);

}  // namespace strata
