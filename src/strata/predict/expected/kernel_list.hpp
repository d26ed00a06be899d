// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/predict/expected/kernel_times.hpp"

#include <cstdint>
#include <vector>

namespace strata {

/// The operations of one program, each kind once: networks repeat their layers, and what the
/// samples of a calibration say of a kind is the same on every GPU.
class KernelList {
 public:
  KernelList(const FrameworkOperations& operations, const KernelTimes& times);

  /// What every operation takes, as KernelTimes::time says it. `times` is of the same calibration.
  std::vector<KernelTime> times_on(const KernelTimes& times) const;

 private:
  struct Kind {
    FrameworkOperation operation;
    NearbyKernels nearby;
  };
  KernelTimes times_;  // keeps the classes
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> kind_of_;  // of each operation
};

}  // namespace strata
