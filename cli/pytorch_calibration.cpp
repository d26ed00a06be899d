// SPDX-License-Identifier: Apache-2.0
#include "cli/pytorch_calibration.hpp"

#include "strata/api/calibrate.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/scratch_folder.hpp"
#include "strata/base/this_run.hpp"
#include "strata/capture/launch_program.hpp"
#include "strata/predict/expected/calibrated_rates.hpp"

#include <fmt/format.h>

#include <string>
#include <thread>
#include <vector>

namespace strata {
namespace {

namespace fs = std::filesystem;

/// Standard output is for results: what the program writes there goes where `to` says.
int run_aside(const std::string& to, const std::vector<std::string>& command,
              const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  std::vector<std::string> words = {"sh", "-c", "exec \"$@\" " + to, "sh"};
  words.insert(words.end(), command.begin(), command.end());
  return run_watched(words, environment).shell_code();
}

void run_script(const std::vector<std::string>& command,
                const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  const int code = run_aside(">&2", command, environment);
  if (code != 0)
    fail(ErrorKind::environment, "{} ended with code {}; --framework strata needs no Python",
         command[1], code);
}

fs::path script_named(const char* name) {
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  std::vector<fs::path> folders = {program.parent_path() / "../share/strata/calibration"};
  for (fs::path up = program.parent_path(); up.has_relative_path(); up = up.parent_path())
    folders.push_back(up / "python/calibration");
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name, problem)) return fs::canonical(folder / name, problem);
  }
  fail(ErrorKind::environment, "{} is neither installed nor in a source tree around {}", name,
       program.string());
}

}  // namespace

bool has_pytorch_with_cuda() {
  return run_aside(">/dev/null 2>&1", {"python3", "-c",
                                       "import sys, torch; "
                                       "sys.exit(0 if torch.cuda.is_available() else 1)"}) == 0;
}

fs::path pytorch_cases_script() { return script_named("pytorch_cases.py"); }

Calibration measured_pytorch(const Machine& machine, int device, double seconds) {
  if (!has_pytorch_with_cuda())
    fail(ErrorKind::environment,
         "python3 has no PyTorch with CUDA; --framework strata needs no Python");
  const ScratchFolder folder("calibrate");
  const std::string samples = folder.path() / "samples.json", raw = folder.path() / "raw.json";
  run_script({"python3", pytorch_cases_script().string(), samples, "--seconds",
              fmt::format("{:.0f}", seconds)},
             {{"CUDA_VISIBLE_DEVICES", std::to_string(device)}});
  run_script({"python3", script_named("to_calibration.py").string(), samples, "-o", raw,
              "--machine", machine.name, "--host",
              fmt::format("{}, {} cores", this_host(), std::thread::hardware_concurrency()),
              "--date", this_moment().substr(0, 10)});
  Calibration made = load_calibration(raw);
  made.rates = calibrated_rates(gpu_rates(machine));
  made = read_calibration(to_json(made));
  fit_calibration(made);
  return made;
}

}  // namespace strata
