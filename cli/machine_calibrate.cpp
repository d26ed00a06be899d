// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_calibrate.hpp"

#include "cli/interrupt.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/pytorch_calibration.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/base/this_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

namespace strata {
namespace {

namespace fs = std::filesystem;

bool uses_pytorch(const CalibrateCommand& command) {
  if (!command.framework.empty()) return command.framework == "pytorch-eager";
  return command.device.is_gpu && has_pytorch_with_cuda();
}

fs::path file_for(std::string_view machine, std::string_view framework) {
  const auto file = calibration_file(machine, framework);
  if (!file)
    fail(ErrorKind::environment,
         "a calibration has nowhere to be kept: neither XDG_DATA_HOME nor HOME names a folder");
  return *file;
}

/// What an earlier run got done: of the same device and versions, or it begins anew.
Calibration begun_in(const fs::path& file, const Calibration& empty) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return empty;
  try {
    Calibration read = load_calibration(file);
    if (!is_same_subject(read, empty)) return empty;
    Calibration begun = empty;
    begun.classes = std::move(read.classes);
    return begun;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    print_to_stderr(fmt::format("note: begun anew: {}\n", error.what()));
    return empty;
  }
}

void say_how_it_went(const CalibrateResult& result, double seconds) {
  for (const std::string& note : result.notes) print_to_stderr(fmt::format("note: {}\n", note));
  if (result.found > 0)
    print_to_stderr(
        fmt::format("note: {} of {} cases were measured before\n", result.found, result.total));
  if (!result.is_complete())
    print_to_stderr(fmt::format(
        "note: {} of {} cases are measured ({}); the same command goes on with the rest\n",
        result.measured + result.found, result.total,
        result.is_interrupted ? "interrupted" : fmt::format("{:.0f} s are over", seconds)));
}

/// Work of others makes kernels slower than they are, and the fit wide. `own` threads are ours.
void say_what_disturbs(const ChosenDevice& device, double own) {
  constexpr double quiet_share = 0.25;
  const auto cores = static_cast<double>(std::max(1U, std::thread::hardware_concurrency()));
  const std::optional<double> load = recent_load();
  if (device.is_gpu || !load || *load <= own * cores + quiet_share * cores) return;
  print_to_stderr(
      fmt::format("note: {:.1f} threads ran during the last minute, on {:.0f} cores: other work "
                  "disturbs; calibrate again when it is over\n",
                  *load, cores));
}

CalibrateOutcome calibrate_engine(const CalibrateCommand& command, const Machine& machine) {
  const CalibrateRequest request{
      .device = command.device, .only = command.only, .seconds = command.seconds};
  const fs::path file = file_for(machine.name, "strata");
  const fs::path unfinished = fs::path(file) += ".partial";
  const Calibration empty = [&] {
    return empty_calibration(machine,
                             *open_training_device(command.device, {.dtype = DType::fp32}));
  }();
  // Some cases are measured again among what is there; all of them go on where a run stopped.
  Calibration begun = begun_in(command.only.empty() ? unfinished : file, empty);
  say_what_disturbs(command.device, 0);
  print_to_stderr(fmt::format("note: calibrating with {} cases, at most {:.0f} s\n",
                              cases_to_time(machine, request).size(), command.seconds));
  const InterruptWatch interrupts;
  const ProgressPart part;
  const CalibrateHooks hooks{.on_case =
                                 [&](std::string_view name, std::size_t done, std::size_t total) {
                                   show_progress(fmt::format("{}: {} of {}", name, done, total));
                                 },
                             .on_samples =
                                 [&](const Calibration& so_far) {
                                   if (command.only.empty()) keep_calibration(so_far, unfinished);
                                 },
                             .is_interrupted = [&] { return interrupts.was_asked(); }};
  CalibrateResult result = calibrate(machine, request, std::move(begun), hooks);
  clear_progress();
  say_how_it_went(result, command.seconds);
  say_what_disturbs(command.device, 1);
  std::error_code ignored;
  if (is_worth_keeping(result, fs::exists(file, ignored))) {
    keep_calibration(result.calibration, file);
    print_to_stderr(fmt::format("note: calibration written to {}\n", file.string()));
  }
  if (result.is_complete() && command.only.empty()) fs::remove(unfinished, ignored);
  return {std::move(result.calibration), result.is_interrupted};
}

CalibrateOutcome calibrate_pytorch(const CalibrateCommand& command, const Machine& machine) {
  const fs::path file = file_for(machine.name, "pytorch-eager");
  print_to_stderr(
      fmt::format("note: calibrating PyTorch by its kernels, at most {:.0f} s\n", command.seconds));
  Calibration made = measured_pytorch(machine, command.device.index, command.seconds);
  keep_calibration(made, file);
  print_to_stderr(fmt::format("note: calibration written to {}\n", file.string()));
  return {std::move(made), false};
}

}  // namespace

CalibrateCommand calibrate_command(const Arguments& given, const ChosenDevice& device) {
  CalibrateCommand command{.device = device};
  command.framework = given.value(machine_framework_flag).value_or("");
  command.only = given.value(machine_only_flag).value_or("");
  if (command.framework == "pytorch-eager" && !device.is_gpu)
    fail(ErrorKind::usage, "--framework pytorch-eager is calibrated on a GPU (--device cuda)");
  if (command.framework == "pytorch-eager" && !command.only.empty())
    fail(ErrorKind::usage, "--only chooses among the cases of --framework strata");
  return command;
}

void check_calibration_can_be_kept() {
  const fs::path file = file_for("any", "strata");
  std::error_code problem;
  fs::create_directories(file.parent_path(), problem);
  if (problem)
    fail(ErrorKind::environment, "{}: {}", file.parent_path().string(), problem.message());
  OutputPlace(file).expect_writable();
}

std::string calibration_plan(const CalibrateCommand& command) {
  if (command.only.empty() && uses_pytorch(command))
    return fmt::format("calibration of pytorch-eager by {}\n", pytorch_cases_script().string());
  const CalibrateRequest request{.device = command.device, .only = command.only};
  const std::vector<TimedCase> cases = cases_to_time(Machine{}, request);
  std::string text = fmt::format("calibration of strata, {} cases:\n", cases.size());
  for (const TimedCase& one : cases) text += fmt::format("  {}\n", one.name);
  return text;
}

CalibrateOutcome calibrate_machine(const CalibrateCommand& command, const Machine& machine) {
  const bool is_pytorch = command.only.empty() && uses_pytorch(command);
  if (command.device.is_gpu && command.framework.empty() && !is_pytorch)
    print_to_stderr(
        "note: python3 has no PyTorch with CUDA: Strata's own engine is calibrated instead\n");
  return is_pytorch ? calibrate_pytorch(command, machine) : calibrate_engine(command, machine);
}

}  // namespace strata
