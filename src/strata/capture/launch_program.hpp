// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strata {

/// How a program ended.
struct ProgramEnd {
  int exit_code = 0;
  int signal = 0;  ///< that ended it; 0: none

  /// As a shell says it: 128 and the signal's number where a signal ended it.
  int shell_code() const { return signal == 0 ? exit_code : 128 + signal; }
};

/// Runs a program with more variables in its environment and waits for it. Its input and output are
/// this one's. Ctrl-C is left to it; other signals that ask this program to end, or to do
/// something, are passed on to it. Errors (input): it cannot be started.
ProgramEnd run_watched(const std::vector<std::string>& command,
                       const std::vector<std::pair<std::string, std::string>>& environment);

/// Of libstrata_inject.so, which lies beside the program or in ../lib. Nothing: this build has
/// none.
std::optional<std::filesystem::path> injected_library();

}  // namespace strata
