// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/occupancy.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace strata {

/// A GPU that could be measured.
struct DeviceInfo {
  int index = 0;
  std::string name;        ///< as the driver calls it
  std::string pci_bus_id;  ///< "0000:01:00.0"
  int major = 0;           ///< of its compute capability
  int minor = 0;
  int sm_count = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  MultiprocessorLimits multiprocessor = {};
};

/// The GPUs of this computer. Errors (environment) say what is in the way: no CUDA in this build,
/// no driver, one that is older than the toolkit, no permission, no GPU.
std::vector<DeviceInfo> cuda_devices();

}  // namespace strata
