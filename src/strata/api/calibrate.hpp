// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/device.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/machine/machine.hpp"
#include "strata/zoo/calibration/cases.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// A calibration of Strata's own engine on the device at hand: what `strata measure` would take,
/// operator by operator, so that `strata predict` says the same.
namespace strata {

struct CalibrateRequest {
  ChosenDevice device;
  std::string only;      ///< cases whose names contain it; empty: all
  double seconds = 220;  ///< no case begins after that
  std::size_t iterations = 7;
};

/// A case in one data type.
struct TimedCase {
  std::string name;  ///< "linear, bf16"
  CalibrationCase one;
  DType dtype = DType::fp32;
};

/// What would be measured, in order. Errors (usage): no case has such a name.
std::vector<TimedCase> cases_to_time(const Machine& machine, const CalibrateRequest& request);

struct CalibrateHooks {
  std::function<void(std::string_view name, std::size_t done, std::size_t total)> on_case = {};
  /// After each case: what there is so far, without fits.
  std::function<void(const Calibration& so_far)> on_samples = {};
  std::function<bool()> is_interrupted = {};
};

struct CalibrateResult {
  Calibration calibration;                         ///< fitted
  std::size_t measured = 0, found = 0, total = 0;  ///< cases: now, before, of all
  std::vector<std::string> notes;                  ///< cases that did not run, and why
  bool is_interrupted = false;

  bool is_complete() const { return measured + found + notes.size() >= total; }
};

/// A calibration with cases missing is better than none, and worse than a whole one.
bool is_worth_keeping(const CalibrateResult& result, bool is_one_kept);

/// Without samples: of what it will be.
Calibration empty_calibration(const Machine& machine, TrainingDevice& device);

/// Whether two calibrations may share samples: same machine, framework and versions.
bool is_same_subject(const Calibration& a, const Calibration& b);

/// Measures the cases of which `begun` lacks samples (with `only`: all that have the name) and fits
/// everything.
CalibrateResult calibrate(const Machine& machine, const CalibrateRequest& request,
                          Calibration begun, const CalibrateHooks& hooks = {});

/// The fit of every class to the rates that the calibration names, or else to those of its machine.
void fit_calibration(Calibration& calibration);

}  // namespace strata
