// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/machine_command.hpp"
#include "strata/api/calibrate.hpp"

#include <optional>
#include <string>

/// `strata machine measure --calibrate`: what kernels take on the machine that was measured.
namespace strata {

struct CalibrateCommand {
  ChosenDevice device;
  std::string framework;  ///< empty: PyTorch on a GPU where it is there, else Strata's engine
  std::string only;       ///< of the cases of Strata's engine
  double seconds = 220;
};

/// From the flags. Errors (usage) say what does not go together.
CalibrateCommand calibrate_command(const Arguments& given, const ChosenDevice& device);

/// Errors (environment): there is no place for it. To be asked before minutes of measuring.
void check_calibration_can_be_kept();

/// What it would measure, for --dry-run.
std::string calibration_plan(const CalibrateCommand& command);

struct CalibrateOutcome {
  Calibration calibration;
  bool is_interrupted = false;
};

/// Measures, fits and keeps the calibration beside the machine. Every case that is done is kept, so
/// that the same command goes on where one was stopped.
CalibrateOutcome calibrate_machine(const CalibrateCommand& command, const Machine& machine);

}  // namespace strata
