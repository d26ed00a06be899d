// SPDX-License-Identifier: Apache-2.0
#include "cli/capture_flags.hpp"
#include "cli/measured_sweep_study.hpp"
#include "cli/output.hpp"
#include "cli/studies.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/capture/capture_run.hpp"
#include "strata/report/write_file.hpp"
#include "strata/reproduce/capture_study.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace strata {
namespace {

/// The programs, unpacked; gone with their logs at the end.
class StudyFolder {
 public:
  StudyFolder() {
    for (const EmbeddedFile& file : embedded_study_programs())
      write_file(path() / fmt::format("{}.py", file.name), file.text);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  ScratchFolder folder_{"study"};
};

std::string study_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be read", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void say_of_study(const std::string& sentence) {
  print_to_stderr(fmt::format("strata reproduce: {}\n", sentence));
}

/// Steps are NVTX ranges; a program without any says when they were.
void add_cases_of_log(const std::filesystem::path& log, const std::filesystem::path& said,
                      CaptureStudy& study) {
  const auto add = [&](std::vector<CaptureCase> cases) {
    std::move(cases.begin(), cases.end(), std::back_inserter(study.cases));
  };
  const auto read = [&] { return read_capture_log(log).recording; };
  add(cases_of_ranges(read));
  std::error_code ignored;
  if (std::filesystem::exists(said, ignored)) add(cases_of_times(study_text(said), read));
}

/// One program of the study; its cases, from the logs it leaves.
void run_program_of_study(const StudyFolder& folder, const std::vector<std::string>& words,
                          CaptureStudy& study) {
  const std::filesystem::path logs = folder.path() / fmt::format("logs-{}", fmt::join(words, "-"));
  std::filesystem::create_directories(logs);
  std::vector<std::string> command = {"python3"};
  command.push_back((folder.path() / words.front()).string());
  command.insert(command.end(), words.begin() + 1, words.end());
  say_of_study(fmt::format("{}", fmt::join(words, " ")));
  const std::filesystem::path said = logs.string() + ".json";
  ::setenv("STRATA_STUDY_CASES", said.c_str(), 1);
  CaptureOptions options;
  options.waits_for_profiler = true;
  const CapturedRun run = run_captured(command, library_to_inject(), logs, options);
  for (const std::string& sentence : what_happened(run, options)) say_of_study(sentence);
  for (const auto& entry : std::filesystem::directory_iterator(logs)) {
    const CaptureLog log = read_capture_log(entry.path());
    for (const RecordedDevice& device : log.recording.process.devices)
      if (study.device.empty()) study.device = device.name;
    study.about = log.recording.process.date;
    add_cases_of_log(entry.path(), said, study);
  }
}

/// Captures the programs of the study on this computer's GPU: PyTorch, and JAX where it is. Says on
/// standard error what it does. Errors (environment): no Python, no PyTorch, nothing recorded.
CaptureStudy captured_study() {
  const StudyFolder folder;
  CaptureStudy study;
  run_program_of_study(folder, {"capture_programs.py", "study"}, study);
  if (study.cases.empty())
    fail(ErrorKind::environment,
         "the study recorded nothing; it needs python3 with PyTorch and an NVIDIA GPU");
  run_program_of_study(folder, {"capture_programs.py", "references"}, study);
  run_program_of_study(folder, {"capture_jax.py", "study"}, study);  // says so where JAX is not
  run_program_of_study(folder, {"capture_jax.py", "references"}, study);
  return study;
}

/// The sweeps over the batch, which the frameworks ran, too.
std::vector<KernelSweep> batch_sweeps() {
  std::vector<KernelSweep> sweeps = kernel_sweeps();
  std::erase_if(sweeps, [](const KernelSweep& sweep) { return sweep.parameter != "batch"; });
  return sweeps;
}

/// Our own engine on the same device: measured now, or what ships; nothing where that is of
/// another.
std::optional<RooflineStudy> own_engine(const StudyRequest& request, const CaptureStudy& study) {
  std::optional<MeasuredSweeps> sweeps;
  if (request.run) {
    const StudyFolder folder;
    const std::filesystem::path kept =
        request.out ? std::filesystem::path(*request.out) : folder.path();
    std::filesystem::create_directories(kept);
    say_of_study("conv2d and lstm in Strata's own engine");
    sweeps = run_sweeps(request, batch_sweeps(), (kept / "sweeps.json").string(), InterruptWatch());
  } else if (const EmbeddedFile* file = shipped_roofline("sweeps")) {
    sweeps = read_measured_sweeps(file->text);
    if (sweeps->device != study.device) return std::nullopt;
  }
  if (!sweeps) return std::nullopt;
  return study_of(*sweeps, machine_of_sweeps(request, *sweeps));
}

/// Of --run, of --from (a study, or a folder of tests/device/capture_run), or as it ships.
CaptureStudy stored_captures(const StudyRequest& request) {
  if (request.run) return captured_study();
  if (request.from) {
    if (std::filesystem::is_directory(*request.from)) return read_study_folder(*request.from);
    return read_capture_study(study_text(*request.from));
  }
  for (const EmbeddedFile& file : embedded_capture_studies()) {
    if (file.name == "study") return read_capture_study(file.text);
  }
  fail(ErrorKind::environment,
       "no results of the study ship with this program; make them on a computer with a GPU and "
       "PyTorch by `strata reproduce capture --run`");
}

}  // namespace

StudyResult run_capture_study(const StudyRequest& request) {
  const CaptureStudy results = stored_captures(request);
  const std::optional<RooflineStudy> own = own_engine(request, results);
  if (request.out) write_file(std::filesystem::path(*request.out) / "study.json", to_json(results));
  return {
      .title =
          "Performance Analysis of various Deep Learning Models on High Performance Computing "
          "Systems",
      .published = "nvprof on PyTorch, K80 and P40",
      .basis = fmt::format("measured on {}: {}",
                           results.device.empty() ? "no device" : results.device, results.about),
      .place = "network",
      .rule = "as the note of each row says",
      .findings = reproduce_capture(results, own ? &*own : nullptr),
      .figures = request.wants_figures ? capture_figures(results, own ? &*own : nullptr)
                                       : std::vector<Figure>{},
      .notes = capture_notes()};
}

}  // namespace strata
