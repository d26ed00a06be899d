// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/gpu/devices.hpp"
#include "strata/machine/machine.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// What the machine at hand really reaches: bandwidth of each memory level, peak rates, launch
/// latency, links, each with its samples, its spread and the clock seen meanwhile. The result is a
/// Machine like any other. A backend that this build or this computer lacks refuses with a reason.
namespace strata {

struct CeilingOptions {
  int device = 0;  ///< which GPU
  bool is_quick =
      false;  ///< seconds instead of the better part of a minute: fewer samples and sizes
  std::uint32_t seed = 1;  ///< of the random data
};

/// Called before each measurement with what comes next and the share that is done, 0 to 1.
using CeilingProgress = std::function<void(std::string_view what, double share)>;

/// Measures one GPU. What fails for one number of many (a type that the library does not multiply)
/// becomes a warning of the machine; errors are those of cuda_devices, and a device that is not
/// there.
Machine measure_cuda(const CeilingOptions& options, const CeilingProgress& progress = {});

/// What would be measured of the CPU, in lines for people: cores, caches, memory, instructions.
/// Errors (environment) say what cannot be seen.
std::vector<std::string> cpu_facts();

/// Measures the CPU: one thread on each core that this process may use. What fails for one number
/// of many becomes a warning of the machine; errors are those of cpu_facts, and too little memory.
Machine measure_cpu(const CeilingOptions& options, const CeilingProgress& progress = {});

}  // namespace strata
