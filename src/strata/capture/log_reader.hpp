// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/capture/log_format.hpp"
#include "strata/capture/recording.hpp"

#include <filesystem>
#include <istream>
#include <string>
#include <string_view>

/// Logs of `strata capture` become recordings, on any computer. A log whose end is missing or torn
/// gives what is whole.
namespace strata {

struct CaptureLog {
  Recording recording;
  LogState state = LogState::recording;
  std::string reason;           ///< of the state, from the log
  std::int64_t torn_bytes = 0;  ///< at the end, left out
  bool was_recording = false;   ///< what it waited for (a range, the profiler's start) came
  std::uint32_t cupti_version = 0;
  std::uint32_t driver_version = 0;
};

/// Whether these first bytes are those of a log.
bool is_capture_log(std::string_view first_bytes);

/// Errors (input): not a log, of a newer version, not readable.
CaptureLog read_capture_log(std::istream& stream);
CaptureLog read_capture_log(const std::filesystem::path& path);

}  // namespace strata
