// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/ceilings.hpp"

#include <optional>
#include <string>

namespace strata {

/// What a GPU says of itself, and whether its profiling works, by trying.
struct GpuProbe {
  std::string state_problem;  ///< why clocks are not known
  double sm_hz = 0;
  std::optional<double> most_sm_hz;
  std::string held_back_by;           ///< "power cap"; empty: nothing
  std::optional<bool> is_persistent;  ///< the driver stays loaded while nobody uses the GPU

  std::string trace_problem;    ///< why kernels cannot be timed one by one; empty: they can
  std::string counter_problem;  ///< why counters cannot be read; empty: they can
  std::string chip;             ///< "GH100"
};

/// Takes a good second: it runs a kernel under each.
GpuProbe probe_gpu(const DeviceInfo& device);

}  // namespace strata
