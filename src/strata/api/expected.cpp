// SPDX-License-Identifier: Apache-2.0
#include "strata/api/expected.hpp"

#include "strata/base/error.hpp"
#include "strata/machine/load_machine.hpp"
#include "strata/predict/expected/allocated_memory.hpp"

#include <fmt/format.h>

#include <cmath>

namespace strata {
namespace {

/// Of the machine itself, or of another GPU in the same framework.
const Calibration* nearest_calibration(const Machine& machine, const std::string& framework) {
  if (const Calibration* own = find_calibration(machine.name, framework)) return own;
  for (const Calibration& one : shipped_calibrations()) {
    if (one.framework == framework) return &one;
  }
  return nullptr;
}

const Calibration& usable_calibration(const Machine& machine, const ExpectedRequest& request) {
  if (const auto reason = ExpectedTimes::reason_against(machine, request))
    fail(ErrorKind::unsupported, "{}", *reason);
  return *nearest_calibration(machine, request.framework);
}

/// Kernels of another GPU are other kernels: nine of ten are within a third of what is transferred.
void widen(ExpectedTime& time) {
  constexpr double transferred = 0.29;
  const double low = std::log(time.time_s / time.low_s), high = std::log(time.high_s / time.time_s);
  time.low_s = time.time_s * std::exp(-std::hypot(low, transferred));
  time.high_s = time.time_s * std::exp(std::hypot(high, transferred));
}

}  // namespace

std::optional<std::string> ExpectedTimes::reason_against(const Machine& machine,
                                                         const ExpectedRequest& request) {
  if (machine.kind != "gpu")
    return fmt::format("expected times are of GPUs, and {} is a {}", machine.name, machine.kind);
  framework_named(request.framework);
  if (nearest_calibration(machine, request.framework) == nullptr)
    return fmt::format("no calibration of {} ships", request.framework);
  try {
    gpu_rates(machine);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request)
    : ExpectedTimes(machine, request, usable_calibration(machine, request),
                    load_machine(usable_calibration(machine, request).machine)) {}

ExpectedTimes::ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                             const Calibration& calibration, const Machine& measured_on)
    : framework_(framework_named(request.framework)),
      options_(request.options),
      calibration_(calibration),
      use_(calibration.machine == machine.name ? CalibrationUse::calibrated
                                               : CalibrationUse::transferred),
      times_(calibration, gpu_rates(measured_on), gpu_rates(machine)) {}

ExpectedTime ExpectedTimes::of(const BoundGraph& bound, const TrainingOptions& training) const {
  TrainingOptions whole = training;
  whole.unroll_recurrent = false;
  const Program program = make_program(bound, whole);
  const FrameworkOperations operations =
      operations_of(program, framework_, options_, whole.optimizer);
  ExpectedTime time =
      expected_time(program, framework_, operations, options_, calibration_, times_);
  name_layers(time, program);
  time.calibration = use_;
  if (use_ == CalibrationUse::transferred) widen(time);
  time.memory_bytes = allocated_memory_bytes(program, framework_, options_);
  return time;
}

}  // namespace strata
