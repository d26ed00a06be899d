// SPDX-License-Identifier: Apache-2.0
#include "strata/capture/capture_run.hpp"

#include "strata/base/error.hpp"
#include "strata/capture/log_windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace strata {
namespace {

void check_no_other_tool() {
  const char* const other = std::getenv("CUDA_INJECTION64_PATH");
  if (other == nullptr || *other == '\0') return;
  fail(ErrorKind::environment,
       "CUDA_INJECTION64_PATH is set to {}: another tool (Nsight Systems?) watches already, and "
       "only one can; unset it",
       other);
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void read_logs(const std::filesystem::path& folder, CapturedRun& run) {
  for (const std::filesystem::path& file : files_in(folder)) {
    try {
      run.logs.push_back(read_capture_log(file));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      run.problems.emplace_back(error.what());
    }
  }
  std::stable_sort(run.logs.begin(), run.logs.end(), [](const CaptureLog& a, const CaptureLog& b) {
    return a.recording.process.pid < b.recording.process.pid;
  });
}

std::string waited_for(const CaptureOptions& options) {
  if (options.waits_for_profiler && options.range.empty())
    return "cudaProfilerStart, which the program never called";
  if (options.skip > 0)
    return fmt::format("the NVTX range '{}' after the first {}, which never came", options.range,
                       options.skip);
  return fmt::format("the NVTX range '{}', which the program never opened", options.range);
}

std::string why_no_log() {
  std::error_code ignored;
  if (!std::filesystem::exists("/proc/driver/nvidia/version", ignored))
    return "nothing was recorded: the program never initialised CUDA, and NVIDIA's driver is not "
           "on this computer";
  return "nothing was recorded: the program never initialised CUDA (or it cleared its environment, "
         "or runs under another user)";
}

/// What one log has to say, after "process 123: " where there are several.
void add_sentences(const CaptureLog& log, const CaptureOptions& options, bool is_killed_as_asked,
                   const std::string& who, std::vector<std::string>& sentences) {
  const Recording& recording = log.recording;
  if (log.state == LogState::failed) {
    sentences.push_back(who + fmt::format("nothing was recorded: {}", log.reason));
    return;
  }
  const bool is_waiting = options.waits_for_profiler || !options.range.empty();
  if (is_waiting && !log.was_recording)
    sentences.push_back(who + "nothing was recorded: it waited for " + waited_for(options));
  if (!recording.process.ending.empty() && !is_killed_as_asked)
    sentences.push_back(who + recording.process.ending);
  if (recording.lost_records > 0)
    sentences.push_back(who + fmt::format("{} records were lost: no room was left for them",
                                          recording.lost_records));
  for (const std::string& note : recording.notes) sentences.push_back(who + note);
}

}  // namespace

CapturedRun run_captured(const std::vector<std::string>& command,
                         const std::filesystem::path& library, const std::filesystem::path& folder,
                         CaptureOptions options) {
  check_no_other_tool();
  options.log = std::filesystem::absolute(folder / "%h-%p.log").string();
  CapturedRun run;
  const auto begin = std::chrono::steady_clock::now();
  run.end = run_watched(command, {{"CUDA_INJECTION64_PATH", library.string()},
                                  {"NVTX_INJECTION64_PATH", library.string()},
                                  {capture_variable, to_variable(options)}});
  run.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  read_logs(folder, run);
  return run;
}

bool has_records(const CaptureLog& log) {
  const Recording& recording = log.recording;
  return !recording.kernels.empty() || !recording.copies.empty() || !recording.fills.empty() ||
         !recording.calls.empty() || !recording.ranges.empty() || !recording.memory.empty();
}

bool was_prevented(const CapturedRun& run) {
  const bool has_failed = std::any_of(run.logs.begin(), run.logs.end(), [](const CaptureLog& log) {
    return log.state == LogState::failed || log.state == LogState::disk_full;
  });
  return (has_failed || !run.problems.empty()) &&
         std::none_of(run.logs.begin(), run.logs.end(), has_records);
}

std::vector<std::string> what_happened(const CapturedRun& run, const CaptureOptions& options) {
  std::vector<std::string> sentences;
  const bool is_finished = std::any_of(run.logs.begin(), run.logs.end(), [](const CaptureLog& log) {
    return log.state == LogState::finished;
  });
  const bool is_killed_as_asked = options.ends_program && is_finished;
  if (is_killed_as_asked) {
    sentences.push_back("the program was ended when recording was complete, as asked");
  } else if (run.end.signal != 0) {
    sentences.push_back(fmt::format("the program was ended by signal {} ({})", run.end.signal,
                                    ::strsignal(run.end.signal)));
  } else if (run.end.exit_code != 0) {
    sentences.push_back(fmt::format("the program ended with exit code {}", run.end.exit_code));
  }
  if (run.logs.empty() && run.problems.empty()) sentences.push_back(why_no_log());
  for (const CaptureLog& log : run.logs) {
    const std::string who =
        run.logs.size() > 1 ? fmt::format("process {}: ", log.recording.process.pid) : "";
    add_sentences(log, options, is_killed_as_asked, who, sentences);
  }
  sentences.insert(sentences.end(), run.problems.begin(), run.problems.end());
  return sentences;
}

std::string keep_steps(Recording& recording, std::int64_t skip, std::int64_t steps) {
  const std::vector<TimeSpan> found = repeated_steps(recording);
  const auto count = static_cast<std::int64_t>(found.size());
  if (count <= skip)
    return fmt::format(
        "the kernels repeat themselves in {} steps, fewer than --skip leaves out; everything is "
        "shown (mark steps by an NVTX range, and give --range)",
        count);
  const std::int64_t kept = steps == 0 ? count - skip : std::min(steps, count - skip);
  const TimeSpan all = {found[static_cast<std::size_t>(skip)].start_ns,
                        found[static_cast<std::size_t>(skip + kept - 1)].end_ns};
  keep_windows(recording, std::span(&all, 1));
  return fmt::format("{} of {} steps that the kernels show, behind the first {}", kept, count,
                     skip);
}

}  // namespace strata
