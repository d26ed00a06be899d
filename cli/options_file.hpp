// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// Options of a command as a file, TOML or JSON, and out again: a key for each flag by its long
/// name, `arguments` (or `model`) for the words. docs/options-file.md describes it.
namespace strata {

/// The file of a command as words that the parser reads: those that the command line does not say
/// itself. Errors (input) name file and line: a key that is no flag of the command, a value that
/// the flag does not take.
std::vector<std::string> words_of_options_file(const Command& command, const Arguments& typed,
                                               const std::filesystem::path& path);

/// What was asked, for --save-options: TOML, or JSON where the name of the file ends in .json.
std::string options_file_text(const Command& command, const Arguments& given,
                              std::string_view path);

}  // namespace strata
