// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/framework/operations.hpp"
#include "strata/machine/calibration.hpp"
#include "strata/predict/expected/kernel_times.hpp"

#include <vector>

namespace strata {

struct PipelineTime {
  double time_s = 0;  ///< of the iteration, until host and device are done
  double host_s = 0;  ///< that the host dispatches
};

/// Host and device as a pipeline: the host dispatches call after call, the device runs what was
/// dispatched, each when both are ready. An iteration is not the longer of the two: a long kernel
/// hides many dispatches behind it only once.
class HostPipeline {
 public:
  HostPipeline(const FrameworkOperations& operations, const std::vector<KernelTime>& times,
               bool is_autocast, std::int64_t iteration_calls, const Calibration& calibration);

  /// With a host that takes `slower` times as long.
  PipelineTime run(double slower) const;
  double host_s(std::size_t call) const { return calls_[call].host_s; }
  double busy_s(std::size_t call) const { return calls_[call].busy_s; }  ///< with gaps
  double start_s() const { return start_s_; }  ///< of the host, before the first call

 private:
  struct Call {
    double host_s = 0, busy_s = 0;
  };
  double start_s_ = 0;
  std::vector<Call> calls_;
};

}  // namespace strata
