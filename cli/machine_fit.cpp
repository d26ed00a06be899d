// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"
#include "cli/machine_command.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "strata/api/calibrate.hpp"
#include "strata/api/fit_transfer.hpp"
#include "strata/api/kept_files.hpp"
#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/report/table.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace strata {
namespace {

constexpr Flag machine_fit_flags[] = {machine_output_flag, machine_from_flag, machine_source_flag,
                                      machine_measured_on_flag};

std::string networks_text(const FittedTransfer& fitted, const TextStyle& style) {
  Table table({{.title = "networks of", .least_width = 16},
               {.title = "passes"},
               {.title = "products"},
               {.title = "runs", .align = Align::right},
               {.title = "off by", .align = Align::right},
               {.title = "median", .align = Align::right},
               {.title = "bias", .align = Align::right},
               {.title = "interval", .align = Align::right}});
  for (const FittedNetworks& one : fitted.networks)
    table.add_row({one.factors.framework, one.factors.is_inference ? "inference" : "training",
                   one.factors.in_16_bits ? "16 bits" : "fp32", fmt::format("{}", one.factors.runs),
                   fmt::format("{:.1f} %", 100 * one.fit.error),
                   fmt::format("{:.1f} %", 100 * one.fit.median),
                   fmt::format("{:+.1f} %", 100 * one.fit.bias),
                   fmt::format("× {:.2f}", std::exp(one.fit.widening))});
  return fmt::format(
      "\n{}\noff by, median, bias: of each network by a fit to the others; interval: "
      "with it nine of ten of them are inside\n",
      table.to_text(style));
}

int run_fit_transfer(const Request& request, const std::string& name) {
  check_outputs(request.arguments, {&machine_output_flag});
  const Machine machine = load_machine(name);
  FitTransferRequest fit;
  fit.from = request.arguments.values(machine_from_flag);
  fit.source = std::string(request.arguments.value(machine_source_flag).value_or(""));
  std::optional<Machine> measured_on;
  if (const auto card = request.arguments.value(machine_measured_on_flag)) {
    measured_on = load_machine(*card);
    fit.measured_on = &*measured_on;
  }
  FittedTransfer fitted;
  {
    const Waiting waiting(fmt::format("machine fit {}", machine.name));
    fitted = fit_transfer(machine, fit, [](std::size_t done, std::size_t all) {
      show_progress("predicting runs", done, all);
    });
    clear_progress();
  }
  for (const std::string& note : fitted.notes)
    print_to_stderr(fmt::format("machine fit: {}\n", note));
  OutputFiles outputs(request.arguments);
  outputs.write(machine_output_flag, [&] { return to_json(fitted.calibration); });
  if (!outputs.took_stdout()) {
    if (!fitted.calibration.classes.empty()) print(fits_text(fitted.calibration, request.style));
    if (!fitted.networks.empty()) print(networks_text(fitted, request.style));
  }
  return exit_code::done;
}

int run_machine_fit(const Request& request, std::span<const std::string> files) {
  if (request.arguments.has(machine_from_flag)) return run_fit_transfer(request, files.front());
  for (const Flag* flag : {&machine_source_flag, &machine_measured_on_flag}) {
    if (request.arguments.has(*flag))
      fail(ErrorKind::usage, "--{} goes with --from: strata machine fit MACHINE --from FILE",
           flag->name);
  }
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
