// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/recorder_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/base/units.hpp"
#include "strata/capture/launch_program.hpp"
#include "strata/report/write_file.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace strata {
namespace {

constexpr std::string_view default_operations_file = "operations.json";

constexpr Argument record_arguments[] = {
    {.name = "PROGRAM",
     .help = "Behind --: Python, the script and its arguments.",
     .offer = Offer::file,
     .is_required = false,
     .repeats = true}};

constexpr Flag record_out_flag{.name = "out",
                               .letter = 'o',
                               .value = "FILE",
                               .help = "The operations. Default: operations.json.",
                               .offer = Offer::output};
constexpr Flag record_step_flag{
    .name = "step", .value = "N", .help = "Which step of the optimizer. Default: 2."};

constexpr Flag record_flags[] = {record_out_flag, record_step_flag};

std::optional<std::string> text_in(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The recorder as Python imports it, and what Python runs before anything else.
std::filesystem::path unpack_recorder(const std::filesystem::path& folder) {
  const std::filesystem::path place = folder / "python";
  std::filesystem::create_directories(place / "strata_recording");
  for (const EmbeddedFile& file : embedded_recorder())
    write_file(file.name == "_start" ? place / "sitecustomize.py"
                                     : place / "strata_recording" / fmt::format("{}.py", file.name),
               file.text);
  return place;
}

std::string python_path(const std::filesystem::path& place) {
  const char* const given = std::getenv("PYTHONPATH");
  if (given == nullptr || *given == '\0') return place.string();
  return fmt::format("{}:{}", place.string(), given);
}

ErrorKind kind_named(std::string_view name) {
  for (const ErrorKind kind : {ErrorKind::input, ErrorKind::unsupported, ErrorKind::environment})
    if (name_of(kind) == name) return kind;
  return ErrorKind::input;
}

/// Why the program left no recording.
[[noreturn]] void fail_without_recording(const std::filesystem::path& folder,
                                         const ProgramEnd& end) {
  if (const auto reason = text_in(folder / "reason")) {  // its kind, and a sentence
    const std::size_t line = reason->find('\n');
    if (line != std::string::npos)
      fail(kind_named(std::string_view(*reason).substr(0, line)), "{}", reason->substr(line + 1));
  }
  if (const auto python = text_in(folder / "no-torch"))
    fail(ErrorKind::environment,
         "{} has no PyTorch; name the Python that has it, as in: strata "
         "record -- venv/bin/python train.py",
         *python);
  if (end.signal != 0)
    fail(ErrorKind::input, "the program was ended by signal {} before its step was recorded",
         end.signal);
  if (end.exit_code != 0)
    fail(ErrorKind::input, "the program ended with exit code {} before it imported PyTorch",
         end.exit_code);
  fail(ErrorKind::input,
       "the program never imported PyTorch; it has to be a Python that reads PYTHONPATH (no -I, no "
       "-E): strata record -- python train.py");
}

int run_record(const Request& request) {
  const Arguments& given = request.arguments;
  const std::vector<std::string>& command = given.words();
  if (command.empty())
    fail(ErrorKind::usage,
         "what is to be run? strata record [options] -- python train.py ARGUMENTS...");
  const std::string file(given.value(record_out_flag).value_or(default_operations_file));
  if (file != "-") OutputPlace(file).expect_writable();
  const std::int64_t step =
      parse_whole_number(given.value(record_step_flag).value_or("2"), "--step", 2, 1'000'000);

  const ScratchFolder folder("record");
  const std::filesystem::path place = unpack_recorder(folder.path());
  const ProgramEnd end = run_watched(
      command, {{"PYTHONPATH", python_path(place)}, {"STRATA_RECORD", std::to_string(step)}});
  const auto document = text_in(folder.path() / "operations.json");
  if (!document) {
    if (end.signal == SIGINT || end.exit_code == exit_code::interrupted)
      return exit_code::interrupted;
    fail_without_recording(folder.path(), end);
  }
  write_output(file, *document);
  std::istringstream said(text_in(folder.path() / "said").value_or(""));
  for (std::string line; std::getline(said, line);)
    print_to_stderr(fmt::format("strata record: {}\n", line));
  if (file != "-")
    print_to_stderr(
        fmt::format("strata record: they are in {}; every command takes that file, as in: strata "
                    "predict {} --on h200\n",
                    file, file));
  return exit_code::done;
}

}  // namespace

constexpr Command record_command{
    .name = "record",
    .summary = "What a PyTorch script runs in one training step, without a GPU",
    .arguments = record_arguments,
    .flags = record_flags,
    .run = run_record,
    .shows_waiting = false};

}  // namespace strata
