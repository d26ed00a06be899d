// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_counters.hpp"

#include "cli/capture_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/capture_run.hpp"
#include "strata/capture/join_counters.hpp"
#include "strata/gpu/counter_host.hpp"
#include "strata/gpu/counter_plan.hpp"
#include "strata/gpu/profiler_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace strata {
namespace {

void say_of_counters(const std::string& sentence) {
  print_to_stderr(fmt::format("strata capture: {}\n", sentence));
}

/// The name by which CUPTI knows the chip of a device: from its compute capability, which the first
/// run recorded.
std::string chip_of(const std::vector<Recording>& recordings) {
  for (const Recording& recording : recordings) {
    for (const RecordedDevice& device : recording.process.devices) {
      switch (device.compute_major * 10 + device.compute_minor) {
        case 75: return "TU102";
        case 80: return "GA100";
        case 86: return "GA102";
        case 89: return "AD102";
        case 90: return "GH100";
        case 100: return "GB100";
        case 120: return "GB202";
        default: break;
      }
    }
  }
  fail(ErrorKind::environment, "the recording does not say which chip the device is");
}

std::size_t kernels_in(const std::vector<Recording>& recordings) {
  std::size_t kernels = 0;
  for (const Recording& recording : recordings) kernels += recording.kernels.size();
  return kernels;
}

std::string times_in_words(std::size_t count) {
  if (count == 1) return "once";
  if (count == 2) return "twice";
  return fmt::format("{} times", count);
}

/// Seconds of counting in one run: a launch that is replayed takes 25 ms in one pass and 20 ms in
/// each further one (measured on an H200, docs/capture.md).
double counting_seconds(std::size_t kernels, int passes) {
  return static_cast<double>(kernels) * (0.005 + 0.020 * passes);
}

/// A folder for the logs of one run, gone afterwards.
class CounterLogs {
 public:
  explicit CounterLogs(const std::filesystem::path& file, std::size_t session)
      : path_(fmt::format("{}.counters-{}", file.string(), session)) {
    std::filesystem::create_directories(path_);
  }
  ~CounterLogs() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CounterLogs(const CounterLogs&) = delete;
  CounterLogs& operator=(const CounterLogs&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What CUPTI's refusal means, from the number at the end of a note: "… (35)".
std::string reason_in_notes(const CapturedRun& run) {
  for (const CaptureLog& log : run.logs) {
    for (const std::string& note : log.recording.notes) {
      const std::size_t open = note.rfind('(');
      int status = 0;
      if (open == std::string::npos) continue;
      std::from_chars(note.data() + open + 1, note.data() + note.size(), status);
      if (const std::string_view advice = profiler_advice(status); !advice.empty())
        return fmt::format("; {}", advice);
    }
  }
  return "";
}

void join_run(CapturedRun& run, std::vector<Recording>& recordings) {
  const auto has_kernels = [](const CaptureLog& log) { return !log.recording.kernels.empty(); };
  const auto counted = std::find_if(run.logs.begin(), run.logs.end(), has_kernels);
  if (counted == run.logs.end())
    fail(ErrorKind::environment, "no kernel was counted{}", reason_in_notes(run));
  // Processes are matched in order: their numbers differ from run to run.
  std::size_t process = 0;
  for (auto log = counted; log != run.logs.end(); ++log) {
    if (!has_kernels(*log)) continue;
    while (process < recordings.size() && recordings[process].kernels.empty()) ++process;
    if (process == recordings.size()) break;
    const CounterJoin join = join_counters(recordings[process], log->recording);
    say_of_counters(fmt::format("counters of {} kernels; {} kernels without{}", join.joined,
                                join.without,
                                join.unused == 0 ? ""
                                                 : fmt::format(", {} counted kernels that the "
                                                               "timed run did not have",
                                                               join.unused)));
    ++process;
  }
}

}  // namespace

void count_kernels(const Request& request, const CapturedProgram& program,
                   std::vector<Recording>& recordings) {
  const std::string chip = chip_of(recordings);
  const std::unique_ptr<CounterHost> host = counter_host(chip);
  const CounterPlan plan =
      plan_counters(metrics_of_chip(chip), *request.arguments.value(capture_metrics_flag),
                    [&](std::span<const std::string> metrics) { return host->accepted(metrics); });
  const std::size_t kernels = kernels_in(recordings);
  double seconds = 0;
  int passes = 0;
  for (const PlannedSession& session : plan.sessions) {
    const int session_passes = host->passes(session.metrics);
    passes += session_passes;
    seconds += counting_seconds(kernels, session_passes);
  }
  say_of_counters(
      fmt::format("{} on {}: the program runs {} more, each of its {} kernels {} in all; that "
                  "takes at least {:.0f} s more",
                  plan.preset, chip, times_in_words(plan.sessions.size()), kernels,
                  times_in_words(static_cast<std::size_t>(passes)), std::ceil(seconds)));
  for (const AbsentColumn& column : plan.absent)
    say_of_counters(fmt::format("no {}: {}", column.key, column.reason));
  for (std::size_t i = 0; i < plan.sessions.size(); ++i) {
    const CounterLogs logs(program.file, i);
    CaptureOptions options = program.options;
    options.metrics = plan.sessions[i].metrics;
    CapturedRun run = run_captured(program.command, program.library, logs.path(), options);
    for (const std::string& sentence : what_happened(run, options)) say_of_counters(sentence);
    join_run(run, recordings);
  }
}

}  // namespace strata
