// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/machine/calibration.hpp"
#include "strata/machine/machine.hpp"

#include <filesystem>

/// A calibration of PyTorch, by the scripts of python/calibration.
namespace strata {

/// Whether python3 has PyTorch, and PyTorch a GPU.
bool has_pytorch_with_cuda();

/// Installed with the program, or in the source tree that it was built in. Errors (environment):
/// neither.
std::filesystem::path pytorch_cases_script();

/// Runs the cases and fits them. Errors (environment): PyTorch is not there, or a script failed.
Calibration measured_pytorch(const Machine& machine, int device, double seconds);

}  // namespace strata
