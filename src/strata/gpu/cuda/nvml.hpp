// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What the driver's management library says of a GPU while it works. The library comes with the
/// driver and is loaded when it is first needed; without it clocks stay unknown.
namespace strata::cuda {

struct DeviceState {
  double sm_hz = 0;
  double memory_hz = 0;
  double power_w = 0;         ///< 0: the device does not say
  std::uint64_t reasons = 0;  ///< bits: why the clock is not higher
};

class Nvml {
 public:
  /// Nothing, and the reason in `problem`, when the library or the device is not to be had.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id, std::string& problem);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<DeviceState> state() const;
  std::optional<double> most_sm_hz() const;
  std::optional<double> power_limit_w() const;
  std::string driver_version() const;  ///< empty: unknown
  /// Whether the driver stays loaded while nobody uses the GPU; nothing: it does not say.
  std::optional<bool> is_persistent() const;

 private:
  Nvml() = default;
  struct Library;
  std::unique_ptr<Library> library_;
};

/// "power cap, thermal slowdown"; empty when nothing but idling held the clock back.
std::string reasons_text(std::uint64_t reasons);

}  // namespace strata::cuda
