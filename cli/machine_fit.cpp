// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "strata/api/calibrate.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

namespace strata {
namespace {

constexpr Flag machine_fit_flags[] = {machine_output_flag};

int run_machine_fit(const Request& request, std::span<const std::string> files) {
  check_outputs(request.arguments, {&machine_output_flag});
  const Waiting waiting(fmt::format("machine fit {}", files.front()));
  // As it will be written: numbers that a file does not hold must not be in the fit.
  Calibration calibration = read_calibration(to_json(load_calibration(files.front())));
  try {
    fit_calibration(calibration);
  } catch (Error& error) {
    error.add_context(files.front());
    throw;
  }
  OutputFiles outputs(request.arguments);
  outputs.write(machine_output_flag, [&] { return to_json(calibration); });
  if (!outputs.took_stdout()) print(fits_text(calibration, request.style));
  return exit_code::done;
}

}  // namespace

std::string fits_text(const Calibration& calibration, const TextStyle& style) {
  Table table({{.title = "class", .least_width = 16},
               {.title = "precision"},
               {.title = "samples", .align = Align::right},
               {.title = "off by", .align = Align::right}});
  for (const CalibratedClass& one : calibration.classes)
    table.add_row({one.kernel_class, one.precision, fmt::format("{}", one.samples.size()),
                   fmt::format("{:.1f} %", 100 * one.sigma)});
  return fmt::format(
      "{} on {}\n\n{}\noff by: standard deviation of a sample from what the others say of it\n",
      calibration.framework, calibration.machine, table.to_text(style));
}

constexpr MachineSubcommand machine_fit{.name = "fit",
                                        .least_machines = 1,
                                        .most_machines = 1,
                                        .flags = machine_fit_flags,
                                        .run = run_machine_fit};

}  // namespace strata
