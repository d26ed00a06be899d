// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/predict/expected/kernel_list.hpp"
#include "strata/profile/expected_iteration.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// What an iteration really takes in a named framework on a named GPU, with an interval. The limit
/// (predict.hpp) says what perfect kernels would take; the distance between the two is what better
/// software could win. docs/expected-time.md says how it comes about.
namespace strata {

/// Where the times of kernels come from.
enum class CalibrationUse : std::uint8_t {
  calibrated,   ///< measured on this machine
  transferred,  ///< measured on another GPU, scaled by the datasheets of both
  corrected,    ///< the same, corrected by tables and networks of this machine
};
std::string_view name_of(CalibrationUse use);

/// A share of the iteration that is not arithmetic at the peak.
struct LostTime {
  std::string to;
  double time_s = 0;
};

/// A class of kernels that nobody measured: a guess stands in for it.
struct UncoveredClass {
  std::string kernel_class;
  double share = 0;  ///< of the busy time
};

/// Of one step of the program.
struct ExpectedStep {
  double busy_s = 0, kernels_s = 0, host_s = 0;
  std::int64_t launches = 0;  ///< those of all steps add up to those of the iteration
};

/// The same, of a layer in a pass; for rows of a profile.
struct ExpectedLayer {
  std::string layer, pass;
  bool is_gradient_sum = false;  ///< not of the layer itself: adds the gradients of its output
  ExpectedStep step;
};

/// All kernels of one class.
struct ClassTime {
  OperationClass kernel_class = {};
  double busy_s = 0;
  std::int64_t launches = 0;
};

struct ExpectedTime {
  std::string framework;
  std::string calibrated_on;  ///< machine of the calibration
  CalibrationUse calibration = CalibrationUse::calibrated;
  DispatchHost host;
  CheckedRuns checked;
  double time_s = 0, low_s = 0, high_s = 0;  ///< nine of ten iterations lie between the two
  double busy_s = 0;                         ///< while at least one kernel runs
  double kernels_s = 0;                      ///< all kernels added up
  double host_s = 0;                         ///< that the host takes to dispatch everything
  std::int64_t launches = 0;
  std::int64_t memory_bytes = 0;  ///< at its peak, as the framework's allocator counts
  std::vector<UncoveredClass> uncovered;
  std::vector<std::string> unknown_operators;  ///< the framework has no rule: they take no time
  std::vector<LostTime> lost_to;   ///< adds up to time_s with the arithmetic at the peak
  double arithmetic_s = 0;         ///< products at the peak of their data type
  std::vector<ClassTime> classes;  ///< the longest first
  std::vector<ExpectedStep> steps;
  std::vector<ExpectedLayer> layers;  ///< one per step; the update is spread over its weights

  bool is_host_bound() const { return host_s > busy_s; }
};

/// The iteration alone, without its steps and reasons: for many GPUs.
struct ExpectedTotals {
  double time_s = 0, low_s = 0, high_s = 0;
  double busy_s = 0, kernels_s = 0, host_s = 0;
  std::int64_t launches = 0;
};
ExpectedTotals expected_totals(const Framework& framework, const FrameworkOperations& operations,
                               const KernelList& kernels, const FrameworkOptions& options,
                               const Calibration& calibration, const KernelTimes& times);

/// The program must not be unrolled; its steps are those of the result.
ExpectedTime expected_time(const Program& program, const Framework& framework,
                           const FrameworkOperations& operations, const FrameworkOptions& options,
                           const Calibration& calibration, const KernelTimes& times);

/// Names the layers of the result's steps.
void name_layers(ExpectedTime& expected, const Program& program);

}  // namespace strata
