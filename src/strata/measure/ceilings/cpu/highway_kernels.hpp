// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strata/measure/ceilings/cpu/kernels.hpp"

#include <span>

/// The kernels as Highway compiles them for one kind of vector unit.
namespace strata::cpu {

struct TargetKernels {
  const char* name = "";  ///< Highway's: "AVX3"
  bool has_fma = false;
  int (*bits)() = nullptr;
  std::int64_t (*elements)(DType, LaneUse) = nullptr;
  void (*fma)(DType, LaneUse, std::int64_t, const void*, void*) = nullptr;
  double (*bandwidth_loop)(const BandwidthLoop&, std::int64_t) = nullptr;
};

/// Those that were compiled and that this CPU can run, the best first; never empty.
std::span<const TargetKernels> kernels_for_this_cpu();

}  // namespace strata::cpu
