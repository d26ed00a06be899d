// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/html_output.hpp"
#include "cli/machine_at_hand.hpp"
#include "cli/machine_calibrate.hpp"
#include "cli/machine_collectives.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "strata/base/error.hpp"
#include "strata/base/output_place.hpp"
#include "strata/base/this_run.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings/ceilings.hpp"
#include "strata/report/write_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace strata {
namespace {

constexpr Flag machine_measure_flags[] = {
    machine_device_flag, machine_quick_flag,       machine_dry_run_flag,   machine_json_flag,
    html_flag,           machine_output_flag,      machine_calibrate_flag, machine_framework_flag,
    machine_only_flag,   machine_collectives_flag, machine_nccl_flag};

/// "all" (the CPU and every GPU), "cpu", "cuda" (the first GPU), "cuda:N" or "cuda:all".
struct DeviceChoice {
  bool has_cpu = false;
  bool has_all_gpus = false;
  std::optional<int> gpu = std::nullopt;
};

DeviceChoice device_from(std::string_view text) {
  if (text == "all") return {.has_cpu = true, .has_all_gpus = true};
  if (text == "cpu") return {.has_cpu = true};
  if (text == "cuda") return {.gpu = 0};
  if (text == "cuda:all") return {.has_all_gpus = true};
  constexpr std::string_view numbered = "cuda:";
  constexpr int most_devices = 1024;
  if (!text.starts_with(numbered))
    fail(ErrorKind::usage, "--device expects all, cpu, cuda, cuda:N or cuda:all, got '{}'", text);
  const std::int64_t index =
      parse_whole_number(text.substr(numbered.size()), "--device cuda:N", 0, most_devices);
  return {.gpu = static_cast<int>(index)};
}

/// One of the devices that are measured in turn.
struct Part {
  std::string name;  ///< "cpu", "gpu0"
  std::optional<int> gpu;
};

std::vector<Part> parts_of(const DeviceChoice& choice) {
  std::vector<Part> parts;
  const auto add_gpu = [&](int index) { parts.push_back({fmt::format("gpu{}", index), index}); };
  if (choice.has_cpu) parts.push_back({"cpu", std::nullopt});
  if (choice.gpu) add_gpu(*choice.gpu);
  if (!choice.has_all_gpus) return parts;
  try {
    for (const DeviceInfo& device : cuda_devices()) add_gpu(device.index);
  } catch (const Error& error) {
    // Where the CPU is asked for too, a computer without a GPU is as good as any.
    if (!choice.has_cpu || error.kind() != ErrorKind::environment) throw;
  }
  return parts;
}

/// "node.json" → "node-gpu2.json".
std::string path_for_part(std::string_view path, const Part& part) {
  std::filesystem::path file(path);
  const std::string name =
      fmt::format("{}-{}{}", file.stem().string(), part.name, file.extension().string());
  return file.replace_filename(name).string();
}

Machine measured(const Part& part, bool is_quick) {
  const ProgressPart shown;
  const CeilingProgress progress = [](std::string_view what, double share) {
    show_progress(fmt::format("{:3.0f} % {}", 100 * share, what));
  };
  const CeilingOptions options{.device = part.gpu.value_or(0), .is_quick = is_quick};
  return part.gpu ? measure_cuda(options, progress) : measure_cpu(options, progress);
}

/// Where other commands find it when they are not told a machine; empty: nowhere. Errors
/// (environment), before anything is measured: it cannot be written there.
std::optional<std::filesystem::path> file_for_this_host(const Part& part) {
  const auto folder = measured_machines_folder();
  if (!folder) return std::nullopt;
  std::error_code problem;
  std::filesystem::create_directories(*folder, problem);
  if (problem)
    fail(ErrorKind::environment, "{}: {}; -o FILE writes elsewhere", folder->string(),
         problem.message());
  const auto file = *folder / measured_machine_file(this_host(), part.name);
  OutputPlace(file).expect_writable();
  return file;
}

void keep_for_this_host(const std::optional<std::filesystem::path>& file, const Machine& machine) {
  if (!file) {
    print_to_stderr(
        "note: not kept, for neither XDG_DATA_HOME nor HOME names a folder; -o FILE writes it\n");
    return;
  }
  write_file(*file, to_json(machine));
  print_to_stderr(fmt::format("note: written to {}\n", file->string()));
  if (machine_at_hand() == *file)
    print_to_stderr("note: strata predict and sweep now take it when no --on is given\n");
}

std::string facts_text(const Part& part) {
  if (!part.gpu) return fmt::format("cpu: {}\n", fmt::join(cpu_facts(), "\n  "));
  const std::vector<DeviceInfo> devices = cuda_devices();
  const auto index = static_cast<std::size_t>(*part.gpu);
  if (index >= devices.size()) {
    fail(ErrorKind::environment, "there is no GPU {}; this computer has {}", index, devices.size());
  }
  return fmt::format("{}: {}, {}\n", part.name, devices[index].name,
                     format_capacity(static_cast<double>(devices[index].memory_bytes)));
}

ChosenDevice chosen_part(const Part& part) {
  return {.is_gpu = part.gpu.has_value(), .index = part.gpu.value_or(0)};
}

void check_calibrate_flags(const Arguments& given) {
  if (given.has(machine_calibrate_flag)) return;
  for (const Flag& flag : {machine_framework_flag, machine_only_flag}) {
    if (given.has(flag)) fail(ErrorKind::usage, "--{} goes with --calibrate", flag.name);
  }
}

int run_machine_measure(const Request& request, std::span<const std::string>) {
  const Arguments& given = request.arguments;
  if (given.has(machine_collectives_flag)) return measure_cluster(request);
  if (given.has(machine_nccl_flag)) fail(ErrorKind::usage, "--nccl goes with --collectives");
  const DeviceChoice choice = device_from(given.value(machine_device_flag).value_or("all"));
  const auto json = given.value(machine_json_flag);
  const auto output = given.value(machine_output_flag);
  const auto page = given.value(html_flag);
  check_outputs(given, {&machine_json_flag, &machine_output_flag, &html_flag});
  const std::vector<Part> parts = parts_of(choice);
  const bool has_many = parts.size() > 1 || (choice.has_all_gpus && !choice.has_cpu);
  if (has_many && (json || output == "-")) {
    fail(ErrorKind::usage,
         "{} devices are measured, a file for each: give -o FILE, which becomes FILE-{}.json and "
         "so on, or one --device",
         parts.size(), parts.front().name);
  }
  check_calibrate_flags(given);
  const bool calibrates = given.has(machine_calibrate_flag);
  if (given.has(machine_dry_run_flag)) {
    for (const Part& part : parts) {
      print(facts_text(part));
      if (calibrates) print(calibration_plan(calibrate_command(given, chosen_part(part))));
    }
    return exit_code::done;
  }
  bool is_interrupted = false;
  std::vector<PageSection> pages;
  for (const Part& part : parts) {
    std::optional<std::filesystem::path> kept;
    if (!json && !output) kept = file_for_this_host(part);
    std::optional<CalibrateCommand> calibration;
    if (calibrates) {
      calibration = calibrate_command(given, chosen_part(part));
      check_calibration_can_be_kept();
    }
    const Machine machine = measured(part, given.has(machine_quick_flag));
    const std::string text = to_json(machine);
    if (json) write_output(*json, text);
    if (output) write_output(has_many ? path_for_part(*output, part) : std::string(*output), text);
    pages.push_back({.name = machine.title, .document = text});
    const bool is_text = json != "-" && output != "-" && page != "-";
    if (is_text) print(machine_text(machine, request.style) + (has_many ? "\n" : ""));
    if (!json && !output) keep_for_this_host(kept, machine);
    if (!calibration) continue;
    const CalibrateOutcome outcome = calibrate_machine(*calibration, machine);
    if (is_text) print("\n" + fits_text(outcome.calibration, request.style));
    is_interrupted = outcome.is_interrupted;
    if (is_interrupted) break;
  }
  if (page) write_output(*page, page_text(pages.front().name, pages));
  return is_interrupted ? exit_code::interrupted : exit_code::done;
}

}  // namespace

constexpr MachineSubcommand machine_measure{.name = "measure",
                                            .least_machines = 0,
                                            .most_machines = 0,
                                            .flags = machine_measure_flags,
                                            .run = run_machine_measure};

}  // namespace strata
