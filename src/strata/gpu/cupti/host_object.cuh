// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/cupti/functions.cuh"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace strata::cupti {

/// CUPTI's view of a chip's counters: metrics are added, then it says how they are read and, of
/// what was read, what they amount to.
class HostObject {
 public:
  explicit HostObject(const std::string& chip);
  ~HostObject();
  HostObject(const HostObject&) = delete;
  HostObject& operator=(const HostObject&) = delete;

  CUptiResult add(std::span<const std::string> metrics);
  /// How the device is to be set up for what was added.
  std::vector<std::uint8_t> config() const;
  /// Of one range of a counter image.
  std::map<std::string, double, std::less<>> values(std::span<const std::uint8_t> counters,
                                                    std::size_t range,
                                                    std::span<const std::string> metrics) const;

 private:
  CUpti_Profiler_Host_Object* object_ = nullptr;
};

int passes_of(std::span<std::uint8_t> config);

std::vector<const char*> c_names(std::span<const std::string> names);

}  // namespace strata::cupti
