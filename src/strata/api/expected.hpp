// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/api/model.hpp"
#include "strata/machine/machine.hpp"
#include "strata/predict/expected/expected.hpp"

#include <optional>
#include <string>

namespace strata {

/// Which framework trains, and how.
struct ExpectedRequest {
  std::string framework = "pytorch-eager";
  FrameworkOptions options;
};

/// Expected times on one machine: made once, asked for many networks and batches.
class ExpectedTimes {
 public:
  /// Errors (unsupported) say why there is no expected time on the machine: it is no GPU, or lacks
  /// a number.
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request);
  /// With a calibration of one's own. It must outlive this.
  ExpectedTimes(const Machine& machine, const ExpectedRequest& request,
                const Calibration& calibration, const Machine& measured_on);

  /// Why there would be none; nothing: there is one.
  static std::optional<std::string> reason_against(const Machine& machine,
                                                   const ExpectedRequest& request);

  ExpectedTime of(const BoundGraph& bound, const TrainingOptions& training) const;

 private:
  const Framework& framework_;
  FrameworkOptions options_;
  const Calibration& calibration_;
  CalibrationUse use_;
  KernelTimes times_;
};

}  // namespace strata
