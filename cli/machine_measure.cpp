// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "strata/base/error.hpp"
#include "strata/base/units.hpp"
#include "strata/measure/ceilings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace strata {
namespace {

constexpr Flag flags[] = {machine_device_flag, machine_quick_flag, machine_json_flag,
                          machine_output_flag};

/// "cpu", "cuda" (the first GPU), "cuda:N" or "cuda:all".
struct DeviceChoice {
  bool is_gpu = false;
  bool is_all = false;
  int index = 0;
};

DeviceChoice device_from(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {.is_gpu = true};
  if (text == "cuda:all") return {.is_gpu = true, .is_all = true};
  constexpr std::string_view numbered = "cuda:";
  constexpr int most_devices = 1024;
  if (!text.starts_with(numbered))
    fail(ErrorKind::usage, "--device expects cpu, cuda, cuda:N or cuda:all, got '{}'", text);
  const std::int64_t index =
      parse_whole_number(text.substr(numbered.size()), "--device cuda:N", 0, most_devices);
  return {.is_gpu = true, .index = static_cast<int>(index)};
}

/// One line on a terminal that is written over and over; nothing elsewhere.
class ProgressLine {
 public:
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (is_shown_) print_to_stderr("\r\033[K");
  }
  void show(std::string_view what, double share) const {
    if (is_shown_) print_to_stderr(fmt::format("\r\033[K{:3.0f} % {}", 100 * share, what));
  }

 private:
  bool is_shown_ = isatty(STDERR_FILENO) == 1;
};

/// "node.json" → "node-gpu2.json".
std::string path_for_device(std::string_view path, int index) {
  std::filesystem::path file(path);
  const std::string name =
      fmt::format("{}-gpu{}{}", file.stem().string(), index, file.extension().string());
  return file.replace_filename(name).string();
}

Machine measured(const DeviceChoice& device, bool is_quick) {
  const ProgressLine line;
  const CeilingProgress progress = [&](std::string_view what, double share) {
    line.show(what, share);
  };
  const CeilingOptions options{.device = device.index, .is_quick = is_quick};
  return device.is_gpu ? measure_cuda(options, progress) : measure_cpu(options, progress);
}

int measure_all_gpus(const Request& request) {
  const Arguments& given = request.arguments;
  const auto output = given.value(machine_output_flag);
  if (given.has(machine_json_flag) || output == "-") {
    fail(ErrorKind::usage,
         "--device cuda:all writes a file for each GPU: give it -o FILE, which becomes "
         "FILE-gpu0.json and so on");
  }
  for (const DeviceInfo& device : cuda_devices()) {
    const Machine machine =
        measured({.is_gpu = true, .index = device.index}, given.has(machine_quick_flag));
    if (output) write_output(path_for_device(*output, device.index), to_json(machine));
    print(machine_text(machine, request.style) + '\n');
  }
  return exit_code::done;
}

int run(const Request& request, std::span<const std::string>) {
  const Arguments& given = request.arguments;
  const DeviceChoice device = device_from(given.value(machine_device_flag).value_or("cpu"));
  if (device.is_all) return measure_all_gpus(request);
  const auto json = given.value(machine_json_flag);
  const auto output = given.value(machine_output_flag);
  if (json && json == output) {
    fail(ErrorKind::usage, "--json and --output both write to {}",
         *json == "-" ? "standard output" : *json);
  }
  const Machine machine = measured(device, given.has(machine_quick_flag));
  for (const auto& path : {output, json}) {
    if (path) write_output(*path, to_json(machine));
  }
  if (json != "-" && output != "-") print(machine_text(machine, request.style));
  return exit_code::done;
}

}  // namespace

constexpr MachineSubcommand machine_measure{
    .name = "measure", .least_machines = 0, .most_machines = 0, .flags = flags, .run = run};

}  // namespace strata
