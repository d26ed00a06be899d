// SPDX-License-Identifier: Apache-2.0
#include "cli/captured_model.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/trace_output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/read_recording.hpp"
#include "strata/capture/recording_sqlite.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/trace_report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <span>
#include <system_error>

namespace strata {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view trace_views[] = {"kernel", "class", "layer", "api", "copy"};

constexpr Argument trace_arguments[] = {
    {.name = "FILE",
     .help = "A trace of PyTorch, JAX, Nsight or strata capture.",
     .offer = Offer::file,
     .repeats = true}};
constexpr Flag trace_by_flag{.name = "by",
                             .value = "WHAT",
                             .help = "One table: kernel, class, layer, api or copy.",
                             .choices = trace_views,
                             .offer = Offer::choices};
constexpr Flag trace_top_flag{
    .name = "top", .value = "N", .help = "The N longest rows of a table, or all of them: all."};
constexpr Flag trace_on_flag{.name = "on",
                             .value = "MACHINE",
                             .help = "Whose links copies are held against.",
                             .offer = Offer::machine};
constexpr Flag trace_json_flag{.name = "json",
                               .value = "FILE",
                               .help = "Everything as JSON, a profile, too; - is stdout.",
                               .offer = Offer::output};
constexpr Flag trace_csv_flag{.name = "csv",
                              .value = "FILE",
                              .help = "All rows of the table of --by; - is stdout.",
                              .offer = Offer::output};
constexpr Flag trace_timeline_flag{.name = "trace",
                                   .value = "FILE",
                                   .help = "A timeline that Perfetto opens; - is stdout.",
                                   .offer = Offer::output};
constexpr Flag trace_db_flag{.name = "db",
                             .value = "FILE",
                             .help = "Every record as an SQLite database.",
                             .offer = Offer::output};
constexpr auto trace_flags =
    joined_flags(std::array{trace_by_flag, trace_top_flag, trace_on_flag, trace_json_flag,
                            trace_csv_flag, trace_timeline_flag, trace_db_flag, html_flag},
                 captured_model_flags);

TraceTextOptions trace_text_options(const Arguments& given) {
  TraceTextOptions options;
  if (const auto by = given.value(trace_by_flag)) {
    const auto* const at = std::find(std::begin(trace_views), std::end(trace_views), *by);
    options.by = static_cast<TraceView>(1 + (at - std::begin(trace_views)));
  }
  if (const auto top = given.value(trace_top_flag)) {
    options.top = *top == "all"
                      ? ~std::size_t{0}
                      : static_cast<std::size_t>(parse_whole_number(*top, "--top (or all)", 0));
  }
  return options;
}

/// A recording that is counted twice makes two processes of one.
void refuse_files_twice(std::span<const std::string> paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      std::error_code problem;  // what is no file is refused where it is read
      if (paths[i] == paths[k] || fs::equivalent(paths[i], paths[k], problem))
        fail(ErrorKind::usage, "{} and {} are the same file: give each recording once", paths[k],
             paths[i]);
    }
  }
}

int run_trace(const Request& request) {
  const Arguments& given = request.arguments;
  check_outputs(
      given, {&trace_json_flag, &trace_csv_flag, &trace_timeline_flag, &trace_db_flag, &html_flag});
  const TraceTextOptions options = trace_text_options(given);
  std::optional<Machine> machine;
  if (const auto on = given.value(trace_on_flag)) machine = load_machine(*on);
  const std::unique_ptr<CapturedModel> model = captured_model(given);
  const Provenance provenance{.command = request.command_line};

  refuse_files_twice(given.words());
  std::vector<Recording> recordings;
  std::vector<TraceReport> reports;
  for (const std::string& path : given.words()) {
    for (Recording& recording : read_recordings(path)) {
      reports.push_back(captured_report(fs::path(path).filename().string(), recording,
                                        machine ? &*machine : nullptr, model.get()));
      recordings.push_back(std::move(recording));
    }
  }
  OutputFiles outputs(given);
  outputs.write(trace_json_flag, [&] { return to_json(reports, provenance); });
  outputs.write(trace_csv_flag, [&] { return to_csv(reports, options.by); });
  outputs.write(html_flag, [&] { return trace_page(reports, provenance); });
  const auto timeline = given.value(trace_timeline_flag);
  if (timeline) write_trace_timeline(std::string(*timeline), recordings);
  if (const auto db = given.value(trace_db_flag)) write_recordings(std::string(*db), recordings);
  if (outputs.took_stdout() || timeline == "-") return exit_code::done;
  for (const TraceReport& report : reports) print(to_text(report, options, request.style));
  return exit_code::done;
}

}  // namespace

constexpr Command trace_command{.name = "trace",
                                .summary = "What a recorded trace shows: kernels, copies, waits",
                                .arguments = trace_arguments,
                                .flags = trace_flags,
                                .run = run_trace};

}  // namespace strata
