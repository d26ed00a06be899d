// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_counters.hpp"
#include "cli/capture_flags.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/trace_output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/capture/capture_run.hpp"
#include "strata/capture/recording_sqlite.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace strata {
namespace {

constexpr Argument capture_arguments[] = {
    {.name = "PROGRAM",
     .help = "Behind --, with its arguments; with --merge, logs.",
     .offer = Offer::file,
     .is_required = false,
     .repeats = true}};

/// `mark` says what kind of message it is: "warning: ".
void tell_capture(const std::vector<std::string>& sentences, std::string_view mark = "") {
  for (const std::string& sentence : sentences)
    print_to_stderr(fmt::format("strata capture: {}{}\n", mark, sentence));
}

/// The recordings of logs that have something in them.
std::vector<Recording> recordings_of(std::vector<CaptureLog>& logs) {
  std::vector<Recording> recordings;
  for (CaptureLog& log : logs)
    if (has_records(log)) recordings.push_back(std::move(log.recording));
  return recordings;
}

/// The tables before the database, which a build without SQLite cannot write; the page behind it:
/// nothing that fails there may cost the recording.
void write_capture(const Request& request, const std::filesystem::path& file,
                   const std::vector<Recording>& recordings, const CapturedModel* model) {
  const Arguments& given = request.arguments;
  const Provenance provenance{.command = request.command_line};
  std::vector<TraceReport> reports;
  for (const Recording& recording : recordings)
    reports.push_back(captured_report(file.filename().string(), recording, nullptr, model));
  OutputFiles outputs(given);
  outputs.write(capture_json_flag, [&] { return to_json(reports, provenance); });
  if (const auto path = given.value(capture_trace_flag))
    write_trace_timeline(std::string(*path), recordings);
  if (!outputs.took_stdout()) {
    for (const TraceReport& report : reports) print(to_text(report, {}, request.style));
  }
  write_recordings(file, recordings);
  print_to_stderr(fmt::format("strata capture: the recording is in {}; strata trace shows it\n",
                              file.string()));
  outputs.write(html_flag, [&] { return trace_page(reports, provenance); });
}

int merge_logs(const Request& request, const std::filesystem::path& file,
               const CapturedModel* model) {
  const std::vector<std::string>& paths = request.arguments.words();
  if (paths.empty()) fail(ErrorKind::usage, "--merge needs the logs that are to be merged");
  std::vector<CaptureLog> logs;
  for (const std::string& path : paths) logs.push_back(read_capture_log(path));
  CapturedRun run;
  run.logs = std::move(logs);
  tell_capture(what_happened(run, {}));
  const std::vector<Recording> recordings = recordings_of(run.logs);
  if (recordings.empty()) fail(ErrorKind::input, "the logs hold no records");
  write_capture(request, file, recordings, model);
  return exit_code::done;
}

/// The program's own, unless it ended well and the computer kept us from recording.
int exit_code_of_run(const CapturedRun& run, const CaptureOptions& options) {
  const bool is_finished = std::any_of(run.logs.begin(), run.logs.end(), [](const CaptureLog& log) {
    return log.state == LogState::finished;
  });
  if (options.ends_program && is_finished) return exit_code::done;
  const int code = run.end.shell_code();
  return code == 0 && was_prevented(run) ? exit_code::environment : code;
}

int refuse_counters(const Error& refusal) {
  print_to_stderr(fmt::format("error: no counters: {}\n", refusal.what()));
  return exit_code_of(refusal.kind());
}

int run_capture(const Request& request) {
  const Arguments& given = request.arguments;
  check_outputs(given, {&capture_out_flag, &capture_json_flag, &capture_trace_flag, &html_flag});
  const CaptureOptions options = capture_options_of(given);
  const std::filesystem::path file = capture_file_of(given);
  OutputPlace(file).expect_writable();
  // Before the program runs: a network that cannot be read must not cost a recording.
  const std::unique_ptr<CapturedModel> model = captured_model(given);
  if (given.has(capture_merge_flag)) return merge_logs(request, file, model.get());
  const std::vector<std::string>& command = given.words();
  if (command.empty())
    fail(ErrorKind::usage, "what is to be run? strata capture [options] -- PROGRAM ARGUMENTS...");
  const std::filesystem::path library = library_to_inject();
  if (given.has(capture_dry_run_flag)) {
    print(fmt::format("would run {} with {} in it, and write {}\n", command.front(),
                      library.string(), file.string()));
    return exit_code::done;
  }
  // On the same disk as the file that the logs become.
  ScratchFolder folder = ScratchFolder::beside(file, "logs");
  CapturedRun run = run_captured(command, library, folder.path(), options);
  if (given.has(capture_keep_flag)) folder.keep();
  const bool has_any = std::any_of(run.logs.begin(), run.logs.end(), has_records);
  tell_capture(what_happened(run, options), has_any ? "" : "warning: ");
  const int code = exit_code_of_run(run, options);
  std::vector<Recording> recordings = recordings_of(run.logs);
  if (recordings.empty()) return code;
  try {
    // Times that were recorded are not lost because counters are refused.
    std::optional<Error> refusal;
    try {
      if (given.has(capture_metrics_flag))
        count_kernels(request, {command, library, file, options}, recordings);
    } catch (const Error& error) {
      refusal = error;
    }
    if (options.range.empty() && (given.has(capture_steps_flag) || given.has(capture_skip_flag))) {
      for (Recording& recording : recordings)
        tell_capture({keep_steps(recording, steps_of(given, capture_skip_flag),
                                 steps_of(given, capture_steps_flag))});
    }
    write_capture(request, file, recordings, model.get());
    if (refusal) return refuse_counters(*refusal);
  } catch (const Error&) {
    folder.keep();
    tell_capture({fmt::format("the logs are kept in {}; `strata capture --merge {}/*` reads them",
                              folder.path().string(), folder.path().string())});
    throw;
  }
  return code;
}

}  // namespace

constexpr Command capture_command{
    .name = "capture",
    .summary = "Watch any CUDA program: kernels, copies, calls, layers",
    .arguments = capture_arguments,
    .flags = capture_flags,
    .run = run_capture,
    .shows_waiting = false};

}  // namespace strata
