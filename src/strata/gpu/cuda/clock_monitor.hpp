// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cuda/nvml.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace strata::cuda {

/// What was seen of clock and power while a measurement ran.
struct ClocksSeen {
  std::vector<DeviceState> states;

  /// Medians; nothing when nothing was seen.
  std::optional<double> sm_hz() const;
  std::optional<double> memory_hz() const;
  std::optional<double> power_w() const;
  /// "power cap in 12 of 20 readings"; empty when the clock was not held back.
  std::string note() const;
};

/// Reads the state of a GPU every few milliseconds, in a thread of its own, from its construction
/// until `stop`. Without NVML it sees nothing.
class ClockMonitor {
 public:
  explicit ClockMonitor(const Nvml* nvml);
  ~ClockMonitor();
  ClockMonitor(const ClockMonitor&) = delete;
  ClockMonitor& operator=(const ClockMonitor&) = delete;

  ClocksSeen stop();

 private:
  void watch();

  const Nvml* nvml_;
  std::atomic<bool> is_stopping_ = false;
  ClocksSeen seen_;
  std::thread thread_;
};

}  // namespace strata::cuda
