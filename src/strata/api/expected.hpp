// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/host.hpp"
#include "strata/api/model.hpp"
#include "strata/machine/machine.hpp"
#include "strata/predict/expected/evidence.hpp"
#include "strata/predict/expected/expected.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace strata {

/// Which framework trains, and how.
struct ExpectedRequest {
  std::string framework = "pytorch-eager";
  FrameworkOptions options;
  HostChoice host = {};
};

/// Whose expected time is meant where nobody says: PyTorch's on GPUs, on CPUs that of Strata's own
/// engine, which is what `strata measure` runs.
std::string default_framework(const Machine& machine);

/// A training iteration as a framework runs it, whatever the machine: made once, asked for many.
class ExpectedProgram {
 public:
  /// The program must not be unrolled; it is needed only here.
  ExpectedProgram(const Program& program, const ExpectedRequest& request, Optimizer optimizer);

  const Framework& framework() const { return framework_; }
  const FrameworkOptions& options() const { return options_; }
  const FrameworkOperations& operations() const { return operations_; }
  /// Its kernels by a calibration; made by whoever asks first, for all threads.
  const KernelList& kernels(const Calibration& calibration, const KernelTimes& times) const {
    return by(calibration, times).kernels;
  }
  /// As ExpectedTime has it.
  std::int64_t memory_bytes(const Calibration& calibration, const KernelTimes& times) const {
    return by(calibration, times).memory_bytes;
  }

 private:
  const Framework& framework_;
  FrameworkOptions options_;
  FrameworkOperations operations_;
  struct ByCalibration {
    KernelList kernels;
    std::int64_t memory_bytes = 0;
  };
  const ByCalibration& by(const Calibration& calibration, const KernelTimes& times) const;

  std::vector<std::int64_t> allocated_bytes_;  // at steps, without scratch memory
  mutable std::mutex mutex_;
  /// By calibration and corrections: machines differ in what is known of them.
  using KernelsOf = std::pair<const Calibration*, const void*>;
  mutable std::map<KernelsOf, std::unique_ptr<const ByCalibration>> by_calibration_;
};

/// What kernel times of a machine are made of.
struct CalibrationSources {
  const Calibration* calibration = nullptr;  ///< of the machine itself, or of another GPU
  const Calibration* transfer = nullptr;     ///< what is known of the machine beside; null: nothing
};

/// Expected times on one machine: made once, asked for many networks and batches.
class ExpectedTimes {
 public:
  /// Errors (unsupported) say why there is no expected time on the machine: it was not
  /// calibrated, or lacks a number. Errors (input) name a calibration that is broken.
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request);
  /// With a calibration of one's own. It must outlive this.
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                const Calibration& calibration, const Machine& measured_on);

  ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                const Calibration& calibration);

  /// Why there would be none; nothing: there is one.
  static std::optional<std::string> reason_against(const Machine& machine,
                                                   const ExpectedRequest& request);

  ExpectedTime of(const BoundGraph& bound, const TrainingOptions& training) const;
  /// With the interval that the calibration alone makes, as if it were of this machine.
  ExpectedTime without_widening(const BoundGraph& bound, const TrainingOptions& training) const;
  /// The same iteration and interval without its parts, in a fraction of the time.
  ExpectedTotals totals(const ExpectedProgram& program) const;
  std::int64_t memory_bytes(const ExpectedProgram& program) const {
    return program.memory_bytes(calibration_, times_);
  }

  /// That expected times of the machine were held against.
  const CheckedRuns& checked(CheckedPass pass) const {
    return checked_[static_cast<std::size_t>(pass)];
  }
  const Framework& framework() const { return framework_; }
  const FrameworkOptions& options() const { return options_; }
  const Calibration& calibration() const { return *numbers_; }  ///< without samples
  const KernelTimes& kernel_times() const { return times_; }
  CalibrationUse use() const { return use_; }
  /// How much wider the interval of such a run is than the calibration alone makes it, in
  /// logarithms.
  double widening(RunKind run) const;

  /// The same machine with other numbers: shares what was made of the calibration.
  ExpectedTimes on(const Machine& changed) const;
  /// The same kernels, dispatched by another host. Errors as with_host has them.
  ExpectedTimes by(const HostChoice& host) const;

 private:
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                const CalibrationSources& sources);
  ExpectedTime expected_of(const BoundGraph& bound, const TrainingOptions& training,
                           bool is_widened) const;
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                const Calibration& calibration, const GpuRates& measured_on);

  const Framework& framework_;
  FrameworkOptions options_;
  const Calibration& calibration_;
  std::shared_ptr<const Calibration> numbers_;  // without samples, with the times of the host
  double host_slower_ = 1;
  const Calibration* transfer_ = nullptr;  // what is known of the machine beside the calibration
  CalibrationUse use_;
  KernelTimes times_;
  std::array<CheckedRuns, 3> checked_;  // by CheckedPass
};

}  // namespace strata
