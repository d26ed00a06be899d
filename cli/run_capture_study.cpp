// SPDX-License-Identifier: Apache-2.0
#include "cli/run_capture_study.hpp"

#include "cli/capture_flags.hpp"
#include "cli/output.hpp"
#include "strata/base/embedded.hpp"
#include "strata/base/error.hpp"
#include "strata/capture/capture_run.hpp"
#include "strata/report/write_file.hpp"

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
    std::string pattern = (std::filesystem::temp_directory_path() / "strata_study_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      fail(ErrorKind::environment, "{}: cannot be made", pattern);
    path_ = pattern;
    for (const EmbeddedFile& file : embedded_study_programs())
      write_file(path_ / fmt::format("{}.py", file.name), file.text);
  }
  ~StudyFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StudyFolder(const StudyFolder&) = delete;
  StudyFolder& operator=(const StudyFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One program of the study; its cases, from the logs it leaves.
void run_program_of_study(const StudyFolder& folder, const std::vector<std::string>& words,
                          CaptureStudy& study) {
  const std::filesystem::path logs = folder.path() / fmt::format("logs-{}", fmt::join(words, "-"));
  std::filesystem::create_directories(logs);
  std::vector<std::string> command = {"python3"};
  command.push_back((folder.path() / words.front()).string());
  command.insert(command.end(), words.begin() + 1, words.end());
  print_to_stderr(fmt::format("strata reproduce: {}\n", fmt::join(words, " ")));
  const std::filesystem::path said = logs.string() + ".json";
  ::setenv("STRATA_STUDY_CASES", said.c_str(), 1);
  CaptureSettings settings;
  settings.waits_for_profiler = true;
  const CapturedRun run = run_captured(command, library_to_inject(), logs, settings);
  for (const std::string& sentence : what_happened(run, settings))
    print_to_stderr(fmt::format("strata reproduce: {}\n", sentence));
  for (const auto& entry : std::filesystem::directory_iterator(logs)) {
    const CaptureLog log = read_capture_log(entry.path());
    for (const RecordedDevice& device : log.recording.process.devices)
      if (study.device.empty()) study.device = device.name;
    study.about = log.recording.process.date;
    for (CaptureCase& one :
         cases_of_ranges([&] { return read_capture_log(entry.path()).recording; }))
      study.cases.push_back(std::move(one));
  }
}

}  // namespace

CaptureStudy run_capture_study() {
  const StudyFolder folder;
  CaptureStudy study;
  run_program_of_study(folder, {"capture_programs.py", "study"}, study);
  run_program_of_study(folder, {"capture_programs.py", "references"}, study);
  if (study.cases.empty())
    fail(ErrorKind::environment,
         "the study recorded nothing; it needs python3 with PyTorch and an NVIDIA GPU");
  run_program_of_study(folder, {"capture_jax.py", "study"}, study);  // says so where JAX is not
  return study;
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorKind::input, "{}: cannot be read", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace strata
