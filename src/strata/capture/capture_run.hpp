// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/capture_options.hpp"
#include "strata/capture/launch_program.hpp"
#include "strata/capture/log_reader.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// One run of a program with the injected library in it, and what it left.
namespace strata {

struct CapturedRun {
  ProgramEnd end;
  double wall_s = 0;
  std::vector<CaptureLog> logs;       ///< of every process that used CUDA, in the order of pids
  std::vector<std::string> problems;  ///< logs that cannot be read, with the reason
};

/// Runs the command; `folder`, which exists, takes one log per process. Errors (input): it cannot
/// be started; (environment): another tool has taken the place of the injected library.
CapturedRun run_captured(const std::vector<std::string>& command,
                         const std::filesystem::path& library, const std::filesystem::path& folder,
                         CaptureOptions options);

/// What a person must know of it, a sentence each: how the program ended when it did not end well,
/// why nothing was recorded, what is missing.
std::vector<std::string> what_happened(const CapturedRun& run, const CaptureOptions& options);

/// Whether anything was recorded.
bool has_records(const CaptureLog& log);

/// Whether nothing could be recorded although the program used CUDA: the computer's fault.
bool was_prevented(const CapturedRun& run);

/// Steps that the kernels show, where no range marks them: leaves `steps` of them behind the first
/// `skip` (0: all that follow). Says what it did.
std::string keep_steps(Recording& recording, std::int64_t skip, std::int64_t steps);

}  // namespace strata
