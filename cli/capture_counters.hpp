// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.hpp"
#include "strata/capture/capture_options.hpp"
#include "strata/capture/recording.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace strata {

/// A program that was captured and is to be run again.
struct CapturedProgram {
  std::vector<std::string> command;
  std::filesystem::path library;
  std::filesystem::path file;  ///< beside which logs may lie
  CaptureOptions options;
};

/// Runs the program again for every session of the preset that --metrics names, and adds the
/// counters to the kernels of the recordings, whose times stay those of the run without counters.
/// What it takes is said before. Errors (environment): counters cannot be read, with the reason.
void count_kernels(const Request& request, const CapturedProgram& program,
                   std::vector<Recording>& recordings);

}  // namespace strata
