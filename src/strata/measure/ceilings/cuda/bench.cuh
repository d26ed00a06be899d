// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/api.cuh"
#include "strata/gpu/cuda/clock_monitor.hpp"
#include "strata/machine/sourced.hpp"
#include "strata/measure/ceilings/ceilings.hpp"

#include <functional>
#include <string>
#include <vector>

/// How everything on the GPU is timed: warm up until the time stands still, then take samples of at
/// least some milliseconds, and watch the clocks meanwhile.
namespace strata::cuda {

struct Timing {
  std::vector<double> samples_s;  ///< of one launch: the mean over a batch of them
  ClocksSeen clocks;

  double median_s() const { return median_of(samples_s); }
};

/// How much time a number is worth.
struct Effort {
  int samples = 20;
  double sample_s = 5e-3;         ///< a batch lasts at least this
  double least_warm_up_s = 0.05;  ///< an idle GPU needs some time to raise its clock
  double most_warm_up_s = 0.4;
  double rest_s = 0;  ///< before each sample, for a chip that a long load would slow down
};

class Bench {
 public:
  Bench(const CeilingOptions& options, const DeviceInfo& device, const Nvml* nvml)
      : options_(options), device_(device), nvml_(nvml) {}

  using Enqueue = std::function<void(cudaStream_t)>;
  Timing time(const Enqueue& enqueue) const { return time(enqueue, effort()); }
  Timing time(const Enqueue& enqueue, const Effort& effort) const;
  /// Seconds of one launch from one short batch; to compare candidates.
  double glance(const Enqueue& enqueue) const;

  Effort effort() const;
  const CeilingOptions& options() const { return options_; }
  const DeviceInfo& device() const { return device_; }
  const Nvml* nvml() const { return nvml_; }
  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }

 private:
  double batch_s(const Enqueue& enqueue, int launches) const;

  CeilingOptions options_;
  DeviceInfo device_;
  const Nvml* nvml_;
  Stream stream_;
};

/// A measured number: `amount` per launch over the median time of one.
Sourced rate_of(double amount, const Timing& timing, std::string method);
/// Measurement with clocks, power and what held the clock back.
Measurement evidence_of(const Timing& timing, std::string method);

inline constexpr const char* measured_source = "measured";

}  // namespace strata::cuda
